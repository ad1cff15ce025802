package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"

	"github.com/repertoire-skills/repertoire/store"
)

var _ store.Bases = (*DB)(nil)

// chunkSize is how many bytes of a base are sent at once.
const chunkSize = 1 << 20

// A published is a base with the number of its chunks.
type published struct {
	store.Base
	upload int64
}

// Base implements store.Bases.
func (db *DB) Base(ctx context.Context, key string) (store.Base, bool, error) {
	p, ok, err := db.base(ctx, key)
	return p.Base, ok, err
}

func (db *DB) base(ctx context.Context, key string) (published, bool, error) {
	return one(query(ctx, db.reader, "base", pgx.NamedArgs{"key": []byte(key)}, func(row pgx.Rows) (p published, err error) {
		var sum []byte
		p.Key = key
		err = row.Scan(&p.Generation.Number, &p.Generation.Token, &p.Size, &sum, &p.upload)
		p.SHA256 = hex.EncodeToString(sum)
		return p, err
	}))
}

// GetBase implements store.Bases. Each chunk is one call, so a lost connection costs only
// the chunk.
func (db *DB) GetBase(ctx context.Context, b store.Base, w io.Writer) error {
	p, ok, err := db.base(ctx, b.Key)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s: base of generation %d", db.name, b.Generation.Number)
	if !ok || p.Base != b {
		return fmt.Errorf("%s: %w", what, store.ErrStale)
	}
	sum, size := sha256.New(), int64(0)
	for ordinal := 0; size < b.Size; ordinal++ {
		args := pgx.NamedArgs{"upload": p.upload, "ordinal": ordinal}
		data, ok, err := one(query(ctx, db.reader, "chunk", args, scanData))
		if err != nil {
			return err
		}
		if !ok || len(data) == 0 {
			return noChunk(ctx, db, p, what)
		}
		sum.Write(data)
		size += int64(len(data))
		if _, err := w.Write(data); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if size != b.Size || hex.EncodeToString(sum.Sum(nil)) != b.SHA256 {
		return fmt.Errorf("%s: its checksum is another one: %w", what, store.ErrDamaged)
	}
	return nil
}

// noChunk says why a chunk is not there.
func noChunk(ctx context.Context, db *DB, p published, what string) error {
	now, ok, err := db.base(ctx, p.Key)
	switch {
	case err != nil:
		return err
	case ok && now == p:
		return fmt.Errorf("%s: a part is missing: %w", what, store.ErrDamaged)
	}
	return fmt.Errorf("%s: %w", what, store.ErrStale)
}

// errNewer means that a newer base is there.
var errNewer = errors.New("a newer base is there")

// PutBase implements store.Bases. Everything is one transaction, so an interrupted call
// leaves nothing.
func (db *DB) PutBase(ctx context.Context, b store.Base, r io.Reader) error {
	sum, ok := unhex(b.SHA256)
	if !ok {
		return fmt.Errorf("base of generation %d: %q is not a digest", b.Generation.Number, b.SHA256)
	}
	err := db.change(ctx, func(tx pgx.Tx, catalog int64) error {
		args := pgx.NamedArgs{
			"catalog": catalog, "key": []byte(b.Key), "generation": b.Generation.Number, "token": b.Generation.Token,
			"size": b.Size, "sum": sum, "upload": rand.Int64(),
		}
		var known bool
		if err := tx.QueryRow(ctx, statement("known_generation"), args).Scan(&known); err != nil {
			return err
		}
		if !known {
			return fmt.Errorf("the catalog does not know this generation: %w", store.ErrStale)
		}
		if err := putChunks(ctx, tx, args, b, r); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, statement("put_base"), args)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return errNewer
		}
		_, err = tx.Exec(ctx, statement("delete_chunks"), with(nil, catalog))
		return err
	})
	switch {
	case err == nil || errors.Is(err, errNewer):
		return nil
	case ctx.Err() != nil || errors.Is(err, store.ErrReadOnly):
		return err
	}
	return fmt.Errorf("base of generation %d: %w", b.Generation.Number, err)
}

// putChunks writes the bytes of a base, and fails if they are not those of b.
func putChunks(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs, b store.Base, r io.Reader) error {
	sum, size := sha256.New(), int64(0)
	in := io.TeeReader(io.LimitReader(r, b.Size+1), sum)
	buf := make([]byte, chunkSize)
	for ordinal := 0; ; ordinal++ {
		n, err := io.ReadFull(in, buf)
		size += int64(n)
		if n > 0 {
			chunk := pgx.NamedArgs{"catalog": args["catalog"], "upload": args["upload"], "ordinal": ordinal, "data": buf[:n]}
			if _, err := tx.Exec(ctx, statement("put_chunk"), chunk); err != nil {
				return err
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if size != b.Size || !bytes.Equal(sum.Sum(nil), args["sum"].([]byte)) {
		return fmt.Errorf("its bytes are not %d with the digest %s", b.Size, b.SHA256)
	}
	return nil
}

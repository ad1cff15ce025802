package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

var (
	_ store.Files  = (*DB)(nil)
	_ store.FileTx = (*Tx)(nil)
)

// SkillFiles implements store.Files.
func (db *DB) SkillFiles(ctx context.Context, source, dir string) ([]skill.File, error) {
	var paths [][]byte
	for _, name := range skill.FileNames {
		sum := sha256.Sum256([]byte(path.Join(dir, name)))
		paths = append(paths, sum[:])
	}
	args := pgx.NamedArgs{"label": []byte(source), "paths": paths}
	list, err := query(ctx, db.reader, "skill_files", args, func(row pgx.Rows) (f skill.File, err error) {
		var name, sum []byte
		var size *int64
		if err := row.Scan(&name, &size, &sum); err != nil || size == nil {
			return f, err
		}
		return skill.File{Path: string(name), Size: *size, SHA256: hex.EncodeToString(sum)}, nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, fmt.Errorf("%s: skill %s/%s: %w", db.name, source, dir, fs.ErrNotExist)
	case list[0].SHA256 == "":
		return nil, nil // it has no files
	}
	return list, nil
}

// Content implements store.Files.
func (db *DB) Content(ctx context.Context, digest string) ([]byte, error) {
	var data []byte
	sum, ok := unhex(digest)
	if ok {
		var err error
		data, ok, err = one(query(ctx, db.reader, "content", pgx.NamedArgs{"sum": sum}, scanData))
		if err != nil {
			return nil, err
		}
	}
	if !ok {
		return nil, fmt.Errorf("%s: content %s: %w", db.name, digest, fs.ErrNotExist)
	}
	if got := sha256.Sum256(data); !bytes.Equal(got[:], sum) {
		return nil, fmt.Errorf("%s: content %s: its digest is %x; \"skills push --full\" replaces it: %w", db.name, digest, got, store.ErrDamaged)
	}
	return data, nil
}

// scanData scans the only column of a row. An empty value is not nil.
func scanData(row pgx.Rows) ([]byte, error) {
	var raw pgtype.DriverBytes
	err := row.Scan(&raw)
	return append(make([]byte, 0, len(raw)), raw...), err
}

// unhex returns the bytes of a digest; ok is false if it is none as this package writes it.
func unhex(digest string) (sum []byte, ok bool) {
	sum, err := hex.DecodeString(digest)
	return sum, err == nil && len(sum) == sha256.Size && digest == strings.ToLower(digest)
}

// filePuts are files to be written.
type filePuts struct {
	lists    map[int64][]skill.File // by row of the skill
	count    int                    // of files in lists
	contents map[string][]byte      // by digest, as bytes
	size     int                    // bytes in contents
}

// fullFiles is the number of files at which lists are sent.
const fullFiles = 5000

func newFilePuts() filePuts {
	return filePuts{lists: make(map[int64][]skill.File), contents: make(map[string][]byte)}
}

func (p *filePuts) empty() bool { return len(p.lists)+len(p.contents) == 0 }

// PutFiles implements store.FileTx. That there is such a skill is checked later.
func (t *Tx) PutFiles(row int64, files []skill.File) error {
	for _, f := range files {
		if _, ok := unhex(f.SHA256); !ok {
			return fmt.Errorf("file %s: %q is not a digest", f.Path, f.SHA256)
		}
	}
	files = slices.SortedFunc(slices.Values(files), func(a, b skill.File) int { return strings.Compare(a.Path, b.Path) })
	p := &t.files
	p.count += len(files)
	p.lists[row], t.changed = files, true
	return t.sendFull()
}

// Missing implements store.FileTx.
func (t *Tx) Missing(digests []string) ([]string, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	var missing []string
	var sums [][]byte
	for _, digest := range digests {
		if sum, ok := unhex(digest); ok {
			sums = append(sums, sum)
		} else if !slices.Contains(missing, digest) {
			missing = append(missing, digest)
		}
	}
	list, err := query(t.ctx, t.w.reader, "missing_contents", pgx.NamedArgs{"sums": sums}, scanData)
	for _, sum := range list {
		missing = append(missing, hex.EncodeToString(sum))
	}
	return missing, err
}

// PutContent implements store.FileTx.
func (t *Tx) PutContent(digest string, data []byte) error {
	sum := sha256.Sum256(data)
	if hex.EncodeToString(sum[:]) != digest {
		return fmt.Errorf("content %s: its digest is %x", digest, sum)
	}
	p := &t.files
	p.contents[string(sum[:])] = bytes.Clone(data)
	p.size += len(data)
	return t.sendFull()
}

// sendFull sends what has been gathered if that is much.
func (t *Tx) sendFull() error {
	if t.files.count < fullFiles && t.files.size < full {
		return nil
	}
	return t.flush()
}

// queueFiles writes the files that were put.
func (t *Tx) queueFiles(batch *pgx.Batch) {
	p := t.files
	t.files = newFilePuts()
	if len(p.lists) > 0 {
		rows := slices.Sorted(maps.Keys(p.lists))
		t.queueContentsOf(batch, rows)
		t.queue(batch, "delete_files", pgx.NamedArgs{"rows": rows})
		columns := fileColumns(rows, p.lists)
		t.w.files.needed.add(columns["sums"].([][]byte))
		t.queue(batch, "put_files", columns)
	}
	if len(p.contents) > 0 {
		var sums, data [][]byte
		for _, sum := range slices.Sorted(maps.Keys(p.contents)) {
			sums, data = append(sums, []byte(sum)), append(data, p.contents[sum])
		}
		t.w.files.loose.add(sums)
		t.queue(batch, "put_contents", pgx.NamedArgs{"sums": sums, "data": data})
	}
}

// queueContentsOf notes which contents the files of these skills have, because the files go.
func (t *Tx) queueContentsOf(batch *pgx.Batch, rows []int64) {
	t.queue(batch, "contents_of", pgx.NamedArgs{"rows": rows}).Query(func(list pgx.Rows) error {
		sums, err := pgx.CollectRows(list, pgx.RowTo[[]byte])
		t.w.files.loose.add(sums)
		return err
	})
}

func fileColumns(rows []int64, lists map[int64][]skill.File) pgx.NamedArgs {
	var skills, sizes []int64
	var ordinals []int32
	var paths, sums [][]byte
	for _, row := range rows {
		for i, f := range lists[row] {
			sum, _ := unhex(f.SHA256)
			skills, sizes, ordinals = append(skills, row), append(sizes, f.Size), append(ordinals, int32(i))
			paths, sums = append(paths, []byte(f.Path)), append(sums, sum)
		}
	}
	return pgx.NamedArgs{"rows": skills, "ordinals": ordinals, "paths": paths, "sizes": sizes, "sums": sums}
}

// fileChanges is what a transaction must look at in the end. It may be more than necessary:
// an Update inside of a Join may have been undone.
type fileChanges struct {
	needed digests // files that have these contents were put
	loose  digests // contents that were put, or that a file had which is gone
}

// digests is a set of digests, as bytes.
type digests map[string]bool

func (d *digests) add(sums [][]byte) {
	if *d == nil {
		*d = make(digests)
	}
	for _, sum := range sums {
		(*d)[string(sum)] = true
	}
}

func (d digests) sorted() [][]byte { return allBytes(slices.Sorted(maps.Keys(d))) }

// settleFiles fails if a file has no content, and removes content that no file has.
func (w *writer) settleFiles(ctx context.Context) error {
	if len(w.files.needed) > 0 {
		args := pgx.NamedArgs{"sums": w.files.needed.sorted()}
		lost, ok, err := one(query(ctx, w.reader, "lost_files", args, func(row pgx.Rows) (what string, err error) {
			var skill, name, sum []byte
			err = row.Scan(&skill, &name, &sum)
			return fmt.Sprintf("skill %s: file %s: content %x", skill, name, sum), err
		}))
		if err != nil {
			return err
		}
		if ok {
			return fmt.Errorf("%s: %w", lost, fs.ErrNotExist)
		}
	}
	if len(w.files.loose) == 0 {
		return nil
	}
	return w.run(ctx, func(conn *pgx.Conn, catalog int64) error {
		_, err := conn.Exec(ctx, statement("delete_contents"), with(pgx.NamedArgs{"sums": w.files.loose.sorted()}, catalog))
		return err
	})
}

package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// start makes the catalog at path: a copy of a seed if one is of use, else an empty one.
func start(ctx context.Context, path string, o Options) error {
	made, err := copySeed(ctx, path, o)
	if !made && err == nil {
		err = create(ctx, path, o)
	}
	return err
}

// create makes an empty catalog at path. It makes it under another name and then renames
// it, so that whoever is stopped here leaves nothing that looks like a catalog. With large
// pages, long bodies waste half as much space. auto_vacuum lets a catalog return the pages
// that are free after a source was removed. The journal mode comes last: only with a
// rollback journal is all content in one file.
func create(ctx context.Context, path string, o Options) error {
	young := path + youngSuffix
	if err := RemoveBeside(young, "", journalSuffix, walSuffix, shmSuffix); err != nil {
		return err
	}
	if err := CreatePrivate(young); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", URI(young))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1) // pragmas are those of a connection
	_, err = db.ExecContext(ctx, "PRAGMA page_size = 32768; PRAGMA auto_vacuum = incremental; PRAGMA synchronous = off")
	if err == nil {
		err = makeTables(ctx, o, db)
	}
	if err == nil {
		_, err = db.ExecContext(ctx, "PRAGMA journal_mode = wal")
	}
	if err = errors.Join(err, db.Close()); err == nil {
		err = syncFile(young)
	}
	if err == nil {
		err = moveInto(path, young)
	}
	return err
}

// youngSuffix ends the name of a catalog that is being made.
const youngSuffix = ".new"

// moveInto gives a complete catalog its name.
func moveInto(path, young string) error {
	err := RemoveBeside(path, journalSuffix, walSuffix, shmSuffix) // they are of another file
	if err == nil {
		err = os.Rename(young, path)
	}
	return err
}

// CreatePrivate creates an empty file that only its owner can read, because SQLite would
// create one that everybody can read.
func CreatePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// RemoveBeside removes the files whose names are the path with one of the suffixes.
func RemoveBeside(path string, suffixes ...string) error {
	for _, suffix := range suffixes {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// isUnborn reports whether there is nothing at path that is worth keeping: no file, an
// empty one, or a database without content. Earlier versions made catalogs in place, so
// whoever stopped them left such a file, perhaps with a rollback journal that empties it.
// isUnborn fails if the file is another program's database. It reads the file only, because
// setting the journal mode alone would rewrite its header.
func isUnborn(ctx context.Context, path string, o Options) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if info.Size() > 0 {
		if id, err := readID(ctx, path, o); err != nil || id == applicationID {
			return false, err
		}
	}
	if pages, hot, err := journaled(path); hot || err != nil {
		if pages > 0 {
			err = fmt.Errorf("%s%s belongs to a change that another program did not finish; finish it with that program, or name another file", path, journalSuffix)
		}
		return err == nil, err
	}
	if info.Size() == 0 {
		return true, nil
	}
	db, err := connect(path, o, "mode=ro")
	if err != nil {
		return false, err
	}
	done, err := version(ctx, db.read)
	err = errors.Join(err, db.Close())
	return done == 0 && err == nil, err
}

// readID returns the application ID in the header of a database file, 0 if it has none or
// is no database. SQLite must read it: if this process opened and closed the file itself,
// the system would release all locks that other connections of the process have on it.
func readID(ctx context.Context, path string, o Options) (id int, err error) {
	db, err := connect(path, o, immutable)
	if err != nil {
		return 0, err
	}
	err = db.read.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id)
	if isCorrupt(err) {
		id, err = 0, nil // whoever reads more of it says what is wrong
	}
	return id, errors.Join(err, db.Close())
}

// journaled reports whether there is a rollback journal beside the database at path, and
// to how many pages it takes the database back.
func journaled(path string) (pages uint32, hot bool, err error) {
	const magic, pagesAt = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 16
	head, err := readHead(path+journalSuffix, 28)
	if err != nil || len(head) < 28 || string(head[:len(magic)]) != magic {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return 0, false, err // SQLite ignores such a journal
	}
	return binary.BigEndian.Uint32(head[pagesAt:]), true, nil
}

// readHead returns the first n bytes of a file, or all if it is shorter. The file must not
// be one that SQLite locks, see readID.
func readHead(name string, n int64) ([]byte, error) {
	f, err := regular.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

// The files that SQLite keeps beside a database.
const (
	walSuffix     = "-wal"
	shmSuffix     = "-shm"
	journalSuffix = "-journal"
)

// files are the files of an open catalog: the database, -wal and -shm. nil means that a
// file was not there.
type files [3]fs.FileInfo

var fileSuffixes = [...]string{"", walSuffix, shmSuffix}

func filesAt(path string) (list files) {
	for i, suffix := range fileSuffixes {
		if info, err := os.Stat(path + suffix); err == nil {
			list[i] = info
		}
	}
	return list
}

// target returns the file to which path leads if path is a link: SQLite keeps the other
// files beside that one. It fails if the link leads nowhere: a disk may be missing.
func target(path string) (string, error) {
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("%s is a link that leads nowhere: mount the disk or remove the link: %w", path, err)
	}
	return to, nil
}

// checkFiles fails with store.ErrStale if a file that is open is no longer at its path, or
// if somebody has written a file that is open read-only. SQLite does not notice: it would
// go on with what nobody else sees.
func (db *DB) checkFiles() error {
	path, err := target(db.path)
	if err != nil {
		return err
	}
	for i, suffix := range fileSuffixes {
		if db.files[i] == nil {
			continue
		}
		now, err := os.Stat(path + suffix)
		if err == nil && os.SameFile(now, db.files[i]) {
			continue
		}
		if err := regular.Check(path + suffix); err != nil {
			return fmt.Errorf("reading the catalog: %w", err)
		}
		return fmt.Errorf("%s%s was replaced or removed: %w", path, suffix, store.ErrStale)
	}
	if db.readOnly && db.Look() != db.look {
		return fmt.Errorf("%s was changed: %w", path, store.ErrStale)
	}
	return nil
}

// checkWAL fails if the -wal file ends before the place that SQLite's index of it says:
// somebody has cut or removed the file, and another process, which keeps the index as it
// is, has not noticed yet. It must not open the file, because closing it would release
// SQLite's locks.
func (db *DB) checkWAL(ctx context.Context) error {
	for range 3 { // another process may empty the file between the two questions
		var busy, frames, moved, page int64
		err := db.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(noop)").Scan(&busy, &frames, &moved)
		if err == nil {
			err = db.write.QueryRowContext(ctx, "PRAGMA page_size").Scan(&page)
		}
		if err != nil || frames <= 0 {
			return err
		}
		const header, frameHeader = 32, 24
		if sizeOfWAL(db.path) >= header+frames*(frameHeader+page) {
			return nil
		}
	}
	return fmt.Errorf("%s%s was cut or removed while a process used it: %w", db.path, walSuffix, store.ErrDamaged)
}

// sizeOfWAL returns the size of the -wal file of the database at path, 0 if there is none.
// Then the database alone holds the whole catalog; otherwise the file holds newer pages,
// without which the older ones may not fit together.
func sizeOfWAL(path string) int64 {
	path, err := target(path)
	if err != nil {
		return 0
	}
	info, err := os.Stat(path + walSuffix)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Look implements store.Store. An empty -wal file is as good as none, which Close leaves.
func (db *DB) Look() string {
	path, err := target(db.path)
	if err != nil {
		return ""
	}
	look := regular.Look(path)
	if look == "" {
		return ""
	}
	return look + " " + regular.Look(path+walSuffix)
}

// Settle implements store.Store: it moves the content of the -wal file into the database,
// as Close does if no other process has the file open.
func (db *DB) Settle(ctx context.Context) (s store.State, look string, err error) {
	if !db.isOpen() || db.readOnly {
		return s, "", nil
	}
	if err := db.Ready(ctx); err != nil {
		return s, "", err
	}
	if err := db.checkpoint(ctx); err != nil {
		return s, "", err
	}
	look = db.Look()
	if s, err = db.State(ctx); err != nil || db.Look() != look {
		look = ""
	}
	return s, look, err
}

// checkpoint empties the -wal file, or moves as much as other readers allow.
func (db *DB) checkpoint(ctx context.Context) error {
	if sizeOfWAL(db.path) == 0 {
		return nil
	}
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return db.note(ctx, err)
	}
	defer conn.Close()
	wait := fmt.Sprintf("PRAGMA busy_timeout = %d", db.opts.BusyTimeout.Milliseconds())
	_, err = conn.ExecContext(ctx, "PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(truncate)")
	_, resetErr := conn.ExecContext(ctx, wait)
	return db.note(ctx, errors.Join(err, resetErr))
}

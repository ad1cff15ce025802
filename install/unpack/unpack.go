// Package unpack writes the skills of a folder or an archive into an empty folder.
//
// The one rule: nothing but regular files is written.
package unpack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Limits bound what is written.
type Limits struct{}

// Folder copies a folder.
func Folder(ctx context.Context, from, to string, l *Limits) error {
	err := fs.WalkDir(os.DirFS(from), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = fmt.Errorf("%s is no regular file", name)
		}
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	return os.CopyFS(to, os.DirFS(from))
}

// Archive unpacks an archive.
func Archive(ctx context.Context, file, to string, l *Limits) error {
	return errors.New("no archives")
}

// An Error says why a tree was refused.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

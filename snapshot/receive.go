package snapshot

import (
	"errors"
	"fmt"
	"io"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

// Receive adds a base of a catalog that another machine has compiled: get writes its bytes.
// A base that cannot be used is removed, and the error wraps ErrDamaged.
func (d *Directory) Receive(catalog string, g store.Generation, get func(io.Writer) error) error {
	path := d.BasePath(catalog, g)
	if err := regular.Check(path); err != nil {
		return err
	}
	f, err := createTemp(d.Disk, path)
	if err != nil {
		return err
	}
	if err := get(io.NewOffsetWriter(f, 0)); err != nil {
		return errors.Join(err, f.Discard())
	}
	if err := f.MoveTo(path); err != nil {
		return err
	}
	s, err := d.OpenFile(path, nil)
	if err == nil && s == nil {
		err = fmt.Errorf("the base of generation %d is not one that this program can use: %w", g.Number, ErrDamaged)
	}
	if err != nil {
		return err
	}
	return s.Close()
}

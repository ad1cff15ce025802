package unpack

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// write writes the planned files of a tree into the folder to.
func write(ctx context.Context, t tree, p plan, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := checkEmpty(root); err != nil {
		return err
	}
	w := writer{root: root, plan: p, done: make(map[string]bool)}
	err = t.walk(ctx, func(e entry) error { return w.add(ctx, e) })
	if s, ok := t.(space); ok && err == nil {
		err = w.rest(ctx, s)
	}
	if err == nil && len(w.done) != len(p) {
		err = refuse("", "changed", "files vanished while it was read")
	}
	if err != nil {
		return errors.Join(err, empty(root))
	}
	return nil
}

func checkEmpty(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("folder %s is not empty", root.Name())
	}
	return err
}

// empty removes what was written.
func empty(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		err = errors.Join(err, root.RemoveAll(e.Name()))
	}
	return err
}

// A writer writes entries that are still as the gate saw them.
type writer struct {
	root *os.Root
	plan plan
	done map[string]bool
}

func (w *writer) add(ctx context.Context, e entry) error {
	key := e.key()
	wants := w.plan[key]
	if len(wants) == 0 {
		return nil
	}
	if e.bad != nil || wants[0].mode != e.mode || wants[0].size != e.size || w.done[key] {
		return refuse(e.path, "changed", "it changed while it was read")
	}
	w.done[key] = true
	r, err := e.open()
	if err != nil {
		return asError(e.path, err)
	}
	defer r.Close()
	if len(wants) == 1 {
		return w.file(ctx, wants[0], r)
	}
	data, err := io.ReadAll(io.LimitReader(contextReader{ctx, r}, e.size+1)) // no file of a skill is larger than Limits.Bytes
	for _, want := range wants {
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			err = w.file(ctx, want, bytes.NewReader(data))
		}
	}
	return asError(e.path, err)
}

// rest adds the files to which links out of the folder of the walk lead.
func (w *writer) rest(ctx context.Context, s space) error {
	for name := range w.plan {
		if w.done[name] {
			continue
		}
		e, err := s.at(name)
		if err == nil {
			err = w.add(ctx, e)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// file writes one file. The file keeps the permission to run only if it is a script or
// where scripts are.
func (w *writer) file(ctx context.Context, e checked, r io.Reader) (err error) {
	if err := w.root.MkdirAll(filepath.FromSlash(path.Dir(e.clean)), 0o700); err != nil {
		return err
	}
	f, err := w.root.OpenFile(filepath.FromSlash(e.clean), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var head [2]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return asError(e.path, err)
	}
	if err := copyExactly(ctx, f, io.MultiReader(strings.NewReader(string(head[:n])), r), e); err != nil {
		return err
	}
	isScript := string(head[:n]) == "#!" || strings.Contains("/"+e.rel, "/scripts/")
	if e.mode&0o111 != 0 && isScript {
		return f.Chmod(0o700)
	}
	return nil
}

// copyExactly copies a file that must have the size that was promised.
func copyExactly(ctx context.Context, to io.Writer, r io.Reader, e checked) error {
	n, err := io.Copy(to, io.LimitReader(contextReader{ctx, r}, e.size+1))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, zip.ErrFormat) || err == nil && n != e.size:
		return refuse(e.path, "lying-size", "it does not have the %d bytes that the archive states", e.size)
	}
	return asError(e.path, err)
}

// A contextReader stops to read when a context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

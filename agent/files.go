package agent

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
)

// filesOf returns the files of a skill that has no folder of its own on disk. Each is read
// from the catalog when it is opened, within the scope of the agent. The file system is for
// one run: it ends with ctx.
func filesOf(ctx context.Context, cfg *Config, b *contextprovider.Body) fs.FS {
	return &files{ctx: ctx, cfg: cfg, body: b}
}

type files struct {
	ctx  context.Context // of the run; fs.FS has no place for it
	cfg  *Config
	body *contextprovider.Body
}

// Open implements fs.FS.
func (f *files) Open(name string) (fs.File, error) {
	data, err := f.ReadFile(name)
	if err == nil {
		return &file{Reader: bytes.NewReader(data), info: f.info(name, int64(len(data)), false)}, nil
	}
	list, derr := f.ReadDir(name)
	if derr != nil {
		return nil, err
	}
	return &dir{info: f.info(name, 0, true), rest: list}, nil
}

// ReadFile implements fs.ReadFileFS.
func (f *files) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if name == "SKILL.md" {
		return []byte(f.body.Text), nil
	}
	if !slices.ContainsFunc(f.body.Resources, func(r contextprovider.Resource) bool { return r.Path == name }) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	c, err := f.cfg.Catalog.File(f.ctx, f.body.ID, name, f.cfg.Agent)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return c.Data, nil
}

// ReadDir implements fs.ReadDirFS.
func (f *files) ReadDir(name string) ([]fs.DirEntry, error) {
	prefix := name + "/"
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	case name == ".":
		prefix = ""
	}
	var list []fs.DirEntry
	add := func(file string, size int64) {
		rest, ok := strings.CutPrefix(file, prefix)
		first, _, deep := strings.Cut(rest, "/")
		if ok && !slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == first }) {
			list = append(list, f.info(prefix+first, size, deep))
		}
	}
	add("SKILL.md", int64(len(f.body.Text)))
	for _, r := range f.body.Resources {
		add(r.Path, r.Size)
	}
	if len(list) == 0 {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// info describes a file or folder. Scripts may be run.
func (f *files) info(name string, size int64, folder bool) info {
	i := info{name: path.Base(name), size: size, mode: 0o444}
	if folder {
		i.mode, i.size = fs.ModeDir|0o555, 0
	} else if strings.HasPrefix(name, "scripts/") {
		i.mode = 0o555
	}
	return i
}

// info is an fs.FileInfo and an fs.DirEntry.
type info struct {
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.size }
func (i info) Mode() fs.FileMode          { return i.mode }
func (i info) Type() fs.FileMode          { return i.mode.Type() }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.mode.IsDir() }
func (i info) Sys() any                   { return nil }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

// file is an open file.
type file struct {
	*bytes.Reader
	info info
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

// dir is an open folder.
type dir struct {
	info info
	rest []fs.DirEntry // not read yet
}

func (d *dir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *dir) Close() error               { return nil }
func (d *dir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *dir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.rest) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.rest) {
		n = len(d.rest)
	}
	list := d.rest[:n]
	d.rest = d.rest[n:]
	return list, nil
}

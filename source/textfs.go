package source

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"time"
)

// textFS is a file system that holds one folder with one file, whose bytes
// have been read already.
type textFS struct {
	dir  string
	base string
	data []byte
}

// Open opens the file or the folder.
func (t textFS) Open(name string) (fs.File, error) {
	switch name {
	case path.Join(t.dir, t.base):
		return textFile{t, bytes.NewReader(t.data)}, nil
	case t.dir:
		return &textDir{textFS: t}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

type textFile struct {
	textFS
	io.Reader
}

func (f textFile) Stat() (fs.FileInfo, error) {
	return textInfo{f.base, int64(len(f.data)), 0o444}, nil
}
func (f textFile) Close() error { return nil }

type textDir struct {
	textFS
	listed bool
}

func (d *textDir) Stat() (fs.FileInfo, error) {
	return textInfo{path.Base(d.dir), 0, fs.ModeDir | 0o555}, nil
}

func (d *textDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.dir, Err: fs.ErrInvalid}
}

func (d *textDir) Close() error { return nil }

// ReadDir lists the one file, whatever n, and then the end.
func (d *textDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.listed {
		d.listed = true
		return []fs.DirEntry{fs.FileInfoToDirEntry(textInfo{d.base, int64(len(d.data)), 0o444})}, nil
	}
	if n > 0 {
		return nil, io.EOF
	}
	return nil, nil
}

type textInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i textInfo) Name() string       { return i.name }
func (i textInfo) Size() int64        { return i.size }
func (i textInfo) Mode() fs.FileMode  { return i.mode }
func (i textInfo) ModTime() time.Time { return time.Time{} }
func (i textInfo) IsDir() bool        { return i.mode.IsDir() }
func (i textInfo) Sys() any           { return nil }

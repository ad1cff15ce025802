package source

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Files returns a source of skills in memory. The keys of files are paths such as
// "pdf/SKILL.md". Later changes to the map have no effect.
func Files(files map[string]string, opts *Options) (*FS, error) {
	m := memory{files: maps.Clone(files), folders: map[string][]fs.DirEntry{".": nil}}
	for name, text := range files {
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("%q is not the path of a file", name)
		}
		m.add(name, memoryFile{strings.NewReader(text), path.Base(name), 0o444})
	}
	for dir, entries := range m.folders {
		if _, ok := files[dir]; ok {
			return nil, fmt.Errorf("%q is the path of a file and of a folder", dir)
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return New(m, opts)
}

// memory is a file system that never changes.
type memory struct {
	files   map[string]string
	folders map[string][]fs.DirEntry
}

// add adds an entry to its folder, creating the folders above it.
func (m memory) add(name string, f memoryFile) {
	dir := path.Dir(name)
	if _, ok := m.folders[dir]; !ok {
		m.add(dir, memoryFile{strings.NewReader(""), path.Base(dir), fs.ModeDir | 0o555})
	}
	m.folders[dir] = append(m.folders[dir], fs.FileInfoToDirEntry(f))
	if f.IsDir() {
		m.folders[name] = nil
	}
}

// Open opens a file, or a folder whose Stat is all that works.
func (m memory) Open(name string) (fs.File, error) {
	if text, ok := m.files[name]; ok {
		return memoryFile{strings.NewReader(text), path.Base(name), 0o444}, nil
	}
	if _, ok := m.folders[name]; ok {
		return memoryFile{strings.NewReader(""), path.Base(name), fs.ModeDir | 0o555}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists a folder.
func (m memory) ReadDir(dir string) ([]fs.DirEntry, error) {
	if entries, ok := m.folders[dir]; ok {
		return slices.Clone(entries), nil
	}
	return nil, &fs.PathError{Op: "readdir", Path: dir, Err: fs.ErrNotExist}
}

// A memoryFile is an open file and its fs.FileInfo.
type memoryFile struct {
	*strings.Reader
	name string
	mode fs.FileMode
}

func (f memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f memoryFile) Close() error               { return nil }
func (f memoryFile) Name() string               { return f.name }
func (f memoryFile) Mode() fs.FileMode          { return f.mode }
func (f memoryFile) ModTime() time.Time         { return time.Time{} }
func (f memoryFile) IsDir() bool                { return f.mode.IsDir() }
func (f memoryFile) Sys() any                   { return nil }

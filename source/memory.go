package source

import (
	"fmt"
	"io"
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
		m.add(name, memoryInfo{path.Base(name), int64(len(text)), 0o444})
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
func (m memory) add(name string, info memoryInfo) {
	dir := path.Dir(name)
	if _, ok := m.folders[dir]; !ok {
		m.add(dir, memoryInfo{path.Base(dir), 0, fs.ModeDir | 0o555})
	}
	m.folders[dir] = append(m.folders[dir], fs.FileInfoToDirEntry(info))
	if info.IsDir() {
		m.folders[name] = nil
	}
}

// Open opens a file, or a folder whose Stat is all that works.
func (m memory) Open(name string) (fs.File, error) {
	info := memoryInfo{name: path.Base(name), mode: 0o444}
	text, ok := m.files[name]
	if !ok {
		if _, ok = m.folders[name]; !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		info.mode = fs.ModeDir | 0o555
	}
	info.size = int64(len(text))
	return memoryFile{strings.NewReader(text), info}, nil
}

// ReadDir lists a folder.
func (m memory) ReadDir(dir string) ([]fs.DirEntry, error) {
	if entries, ok := m.folders[dir]; ok {
		return slices.Clone(entries), nil
	}
	return nil, &fs.PathError{Op: "readdir", Path: dir, Err: fs.ErrNotExist}
}

type memoryFile struct {
	io.Reader
	info fs.FileInfo
}

func (f memoryFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f memoryFile) Close() error               { return nil }

type memoryInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i memoryInfo) Name() string       { return i.name }
func (i memoryInfo) Size() int64        { return i.size }
func (i memoryInfo) Mode() fs.FileMode  { return i.mode }
func (i memoryInfo) ModTime() time.Time { return time.Time{} }
func (i memoryInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memoryInfo) Sys() any           { return nil }

package virtual

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds of names and of the depth of folders, as Linux has them.
const (
	maxName  = 255
	maxPath  = 4096
	maxDepth = 64
)

// A node is a file or a folder. There are no links and no devices, so that a path names one
// node and nothing leads out.
type node struct {
	mode    fs.FileMode // with fs.ModeDir for folders
	changed int64       // what the clock of the tree said at the last change

	// data is only appended to or replaced, never changed in place: a reader keeps what it
	// has got.
	data []byte

	entries  map[string]*node // of a folder
	readOnly bool             // the node and all below it cannot be changed
}

func (n *node) isDir() bool { return n.mode.IsDir() }

// nodeSize is about how many bytes a node takes beside its data, with its name.
const nodeSize = 512

// clone returns a copy of a node and all below it, which share their data.
func (n *node) clone() *node {
	c := *n
	c.data = slices.Clip(n.data) // what one of them appends, the other does not have
	if n.entries != nil {
		c.entries = make(map[string]*node, len(n.entries))
		for name, below := range n.entries {
			c.entries[name] = below.clone()
		}
	}
	return &c
}

// A tree is a file system in memory. It counts the bytes and files that it holds. It is
// not safe for use by several goroutines; one run at a time uses it.
type tree struct {
	root     *node
	size     int64
	files    int
	maxSize  int64
	maxFiles int
	clock    int64 // counts changes, so that times are the same in each run
}

func newTree(maxSize int64, maxFiles int) *tree {
	return &tree{
		root:    &node{mode: fs.ModeDir | 0o755, entries: map[string]*node{}},
		maxSize: maxSize, maxFiles: maxFiles,
	}
}

// epoch is when all files were made; each change is a second later.
func epoch() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

func (t *tree) tick() int64 { t.clock++; return t.clock }

var errFull = errors.New("no space left: the files of the sandbox are too large or too many")

func pathError(op, name string, errno syscall.Errno) *fs.PathError {
	return &fs.PathError{Op: op, Path: name, Err: errno}
}

// absolute returns name as a clean absolute path, seen from dir.
func absolute(dir, name string) string {
	if !strings.HasPrefix(name, "/") {
		name = dir + "/" + name
	}
	return path.Clean(name)
}

// lookup returns the node at the absolute path name, and whether a folder above it, or the
// node, is read-only.
func (t *tree) lookup(op, name string) (n *node, readOnly bool, err error) {
	if len(name) > maxPath {
		return nil, false, pathError(op, name[:60]+"…", syscall.ENAMETOOLONG)
	}
	n = t.root
	for part := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if part == "" {
			continue
		}
		if !n.isDir() {
			return nil, false, pathError(op, name, syscall.ENOTDIR)
		}
		readOnly = readOnly || n.readOnly
		next := n.entries[part]
		if next == nil {
			return nil, readOnly, pathError(op, name, syscall.ENOENT)
		}
		n = next
	}
	return n, readOnly || n.readOnly, nil
}

// parent returns the folder that holds, or is to hold, name; it must be writable.
func (t *tree) parent(op, name string) (dir *node, base string, err error) {
	if name == "/" {
		return nil, "", pathError(op, name, syscall.EINVAL)
	}
	above, base := path.Split(name)
	switch {
	case len(base) > maxName || len(name) > maxPath || strings.Count(name, "/") > maxDepth:
		return nil, "", pathError(op, name[:min(len(name), 60)]+"…", syscall.ENAMETOOLONG)
	case strings.ContainsRune(name, 0):
		return nil, "", pathError(op, strings.ReplaceAll(name, "\x00", "?"), syscall.EINVAL)
	}
	dir, readOnly, err := t.lookup(op, above)
	switch {
	case err != nil:
		err.(*fs.PathError).Path = name
		return nil, "", err
	case !dir.isDir():
		return nil, "", pathError(op, name, syscall.ENOTDIR)
	case readOnly:
		return nil, "", pathError(op, name, syscall.EROFS)
	}
	return dir, base, nil
}

// add puts a new node into dir.
func (t *tree) add(op, name string, dir *node, base string, n *node) error {
	if t.files >= t.maxFiles {
		return &fs.PathError{Op: op, Path: name, Err: errFull}
	}
	t.files++
	n.changed = t.tick()
	dir.entries[base], dir.changed = n, n.changed
	return nil
}

// mkdir makes one folder.
func (t *tree) mkdir(name string, mode fs.FileMode) error {
	dir, base, err := t.parent("mkdir", name)
	if err != nil {
		return err
	}
	if dir.entries[base] != nil {
		return pathError("mkdir", name, syscall.EEXIST)
	}
	return t.add("mkdir", name, dir, base, &node{mode: fs.ModeDir | mode.Perm(), entries: map[string]*node{}})
}

// mkdirAll makes a folder and those above it that do not exist.
func (t *tree) mkdirAll(name string) error {
	if n, _, err := t.lookup("mkdir", name); err == nil {
		if !n.isDir() {
			return pathError("mkdir", name, syscall.EEXIST)
		}
		return nil
	}
	if strings.Count(name, "/") > maxDepth || len(name) > maxPath {
		return pathError("mkdir", name[:min(len(name), 60)]+"…", syscall.ENAMETOOLONG)
	}
	if err := t.mkdirAll(path.Dir(name)); err != nil {
		return err
	}
	return t.mkdir(name, 0o755)
}

// create returns the file at name, made with mode if it does not exist, emptied if truncate.
func (t *tree) create(name string, mode fs.FileMode, truncate bool) (*node, error) {
	if n, readOnly, err := t.lookup("open", name); err == nil {
		switch {
		case n.isDir():
			return nil, pathError("open", name, syscall.EISDIR)
		case readOnly:
			return nil, pathError("open", name, syscall.EROFS)
		case truncate:
			t.size -= int64(len(n.data))
			n.data, n.changed = nil, t.tick()
		}
		return n, nil
	}
	dir, base, err := t.parent("open", name)
	if err != nil {
		return nil, err
	}
	n := &node{mode: mode.Perm()}
	return n, t.add("open", name, dir, base, n)
}

// write appends to a file.
func (t *tree) write(name string, n *node, p []byte) (int, error) {
	if t.size+int64(len(p)) > t.maxSize {
		return 0, &fs.PathError{Op: "write", Path: name, Err: errFull}
	}
	t.size += int64(len(p))
	n.data, n.changed = append(n.data, p...), t.tick()
	return len(p), nil
}

// put makes or replaces a file.
func (t *tree) put(name string, data []byte, mode fs.FileMode) error {
	n, err := t.create(name, mode, true)
	if err != nil {
		return err
	}
	n.mode = mode.Perm()
	_, err = t.write(name, n, data)
	return err
}

// remove takes a node away, with all below it.
func (t *tree) remove(name string) error {
	dir, base, err := t.parent("remove", name)
	if err != nil {
		return err
	}
	n := dir.entries[base]
	switch {
	case n == nil:
		return pathError("remove", name, syscall.ENOENT)
	case n.readOnly:
		return pathError("remove", name, syscall.EROFS)
	}
	t.forget(n)
	delete(dir.entries, base)
	dir.changed = t.tick()
	return nil
}

// forget no longer counts a node and all below it.
func (t *tree) forget(n *node) {
	t.files--
	t.size -= int64(len(n.data))
	for _, below := range n.entries {
		t.forget(below)
	}
}

// rename moves a node; it replaces a file at to.
func (t *tree) rename(from, to string) error {
	if to == from {
		return nil
	}
	if strings.HasPrefix(to, from+"/") {
		return pathError("rename", to, syscall.EINVAL)
	}
	dir, base, err := t.parent("rename", from)
	if err != nil {
		return err
	}
	n := dir.entries[base]
	if n == nil {
		return pathError("rename", from, syscall.ENOENT)
	}
	toDir, toBase, err := t.parent("rename", to)
	if err != nil {
		return err
	}
	if strings.Count(to, "/")+n.height() > maxDepth {
		return pathError("rename", from, syscall.ENAMETOOLONG)
	}
	if old := toDir.entries[toBase]; old != nil {
		if old.isDir() {
			return pathError("rename", to, syscall.EEXIST)
		}
		t.forget(old)
	}
	delete(dir.entries, base)
	toDir.entries[toBase] = n
	dir.changed = t.tick()
	toDir.changed = dir.changed
	return nil
}

// height returns how many folders are in each other below a node.
func (n *node) height() int {
	most := 0
	for _, below := range n.entries {
		most = max(most, 1+below.height())
	}
	return most
}

// info describes a node as package fs does.
type info struct {
	name string
	n    *node
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return int64(len(i.n.data)) }
func (i info) Mode() fs.FileMode          { return i.n.mode }
func (i info) ModTime() time.Time         { return epoch().Add(time.Duration(i.n.changed) * time.Second) }
func (i info) IsDir() bool                { return i.n.isDir() }
func (i info) Sys() any                   { return nil }
func (i info) Type() fs.FileMode          { return i.n.mode.Type() }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

// list returns the entries of a folder, sorted by name.
func (n *node) list() []info {
	infos := make([]info, 0, len(n.entries))
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		infos = append(infos, info{name, n.entries[name]})
	}
	return infos
}

// An appender writes to the end of a file of the tree.
type appender struct {
	t    *tree
	name string
	n    *node
}

func (a *appender) Write(p []byte) (int, error) { return a.t.write(a.name, a.n, p) }

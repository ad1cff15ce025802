package virtual

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// A workspace remembers what was copied in, so that only changes are written back.
type workspace struct {
	from  sandbox.Workspace
	files map[string]original // by path in the workspace
	all   map[string]bool     // files and folders
}

// An original is a file of the user as it was when the run began.
type original struct {
	data []byte
	mode fs.FileMode
	size int64
	time time.Time
}

// bringWorkspace copies the folder of the user into the sandbox.
func (s *Sandbox) bringWorkspace(from sandbox.Workspace) (*workspace, error) {
	s.dropWorkspace()
	w := &workspace{from: from, files: map[string]original{}, all: map[string]bool{}}
	if from.Dir == "" {
		return w, nil
	}
	root, err := os.OpenRoot(from.Dir)
	if err == nil {
		defer root.Close()
		err = s.tree.mkdirAll(s.workspaceDir())
	}
	if err == nil {
		err = s.copyIn(s.workspaceDir(), root.FS(), nil, func(name string, n *node, info fs.FileInfo) {
			w.files[name] = original{n.data, n.mode, info.Size(), info.ModTime()}
		})
	}
	if err != nil {
		s.dropWorkspace()
		return nil, &sandbox.Error{Reason: sandbox.NotFound, Fact: "the workspace " + tidy.Line(from.Dir) + " cannot be used: " + err.Error(),
			Hint: "name an existing folder that fits into the sandbox", Err: err}
	}
	n, _, err := s.tree.lookup("open", s.workspaceDir())
	if err != nil {
		return nil, err
	}
	n.readOnly = !from.Write
	for name := range below(n, "") {
		w.all[name] = true
	}
	return w, nil
}

// dropWorkspace takes the folder of the user out of the sandbox.
func (s *Sandbox) dropWorkspace() {
	if n, _, err := s.tree.lookup("open", s.workspaceDir()); err == nil {
		n.readOnly = false
		_ = s.tree.remove(s.workspaceDir()) // it is there and can be removed
	}
}

// below returns all that is in a folder, by path.
func below(n *node, prefix string) map[string]*node {
	all := map[string]*node{}
	for name, child := range n.entries {
		all[path.Join(prefix, name)] = child
		maps.Copy(all, below(child, path.Join(prefix, name)))
	}
	return all
}

// writeBack makes the folder of the user as the run left it. Only what the run changed is
// written, and nothing that changed on disk in the meantime.
func (w *workspace) writeBack(s *Sandbox) error {
	if !w.from.Write || w.from.Dir == "" {
		return nil
	}
	n, _, err := s.tree.lookup("open", s.workspaceDir())
	if err != nil {
		return fmt.Errorf("writing the workspace back: %w; it is as it was", err)
	}
	root, err := os.OpenRoot(w.from.Dir)
	if err != nil {
		return fmt.Errorf("writing the workspace back: %w", err)
	}
	defer root.Close()
	now := below(n, "")
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(now)) { // folders before what is in them
		errs = append(errs, w.store(root, name, now[name]))
	}
	gone := slices.Collect(maps.Keys(w.all))
	slices.SortFunc(gone, func(a, b string) int { return strings.Compare(b, a) }) // folders after what is in them
	for _, name := range gone {
		if now[name] == nil {
			errs = append(errs, w.erase(root, name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("writing the workspace %s back: %w", tidy.Line(w.from.Dir), err)
	}
	return nil
}

// store writes one file or folder, if the run changed it.
func (w *workspace) store(root *os.Root, name string, n *node) error {
	old, known := w.files[name]
	switch {
	case n.isDir() && w.all[name] && !known: // it was a folder
		return nil
	case known && !n.isDir() && old.mode == n.mode && bytes.Equal(old.data, n.data):
		return nil
	}
	if err := w.unchanged(root, name, known); err != nil {
		return err
	}
	if n.isDir() {
		if known {
			if err := root.Remove(name); err != nil {
				return err
			}
		}
		return root.Mkdir(name, 0o755)
	}
	// A new file that takes the place of the old one: a link that appears in between is
	// replaced, never written through.
	temp := path.Join(path.Dir(name), ".sandbox-"+path.Base(name))
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, n.mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(n.data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// unchanged returns an error if the file on disk is not the one that was copied in, or if
// a link is on the way to it.
func (w *workspace) unchanged(root *os.Root, name string, known bool) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: the folder %s is a link, or is gone; it was not written", name, dir)
		}
	}
	info, err := root.Lstat(name)
	old := w.files[name]
	switch {
	case !known && errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && known && info.Mode().IsRegular() && info.Size() == old.size && info.ModTime().Equal(old.time):
		return nil
	}
	return fmt.Errorf("%s changed on disk during the run; it was not written", name)
}

// erase removes one file or folder that the run removed.
func (w *workspace) erase(root *os.Root, name string) error {
	if _, known := w.files[name]; known {
		if err := w.unchanged(root, name, true); err != nil {
			return err
		}
	}
	return root.Remove(name)
}

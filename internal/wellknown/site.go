package wellknown

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// recordName is the file that lists, with digests, which files are ours and so may be
// replaced and removed. tempName is a file that is being written.
const (
	recordName = ".well-known/.repertoire-skills"
	tempName   = recordName + ".tmp"
)

const recordHeader = "# Files that \"skills well-known\" wrote here, and may replace or remove.\n"

// A site is the folder that is written to. It follows no link out of the folder.
type site struct {
	root    *os.Root
	record  *os.File            // nil means that nothing has been written yet
	ours    map[string][]string // by file: if it has one of these digests, it is ours
	written map[string]string   // by file: the digest that this run has written
}

func openSite(dir string) (*site, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &site{root: root, ours: make(map[string][]string), written: make(map[string]string)}
	if err := s.load(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// load reads the record of an earlier run. Without a record, it refuses folders of
// skills that are not empty, because they belong to somebody else.
func (s *site) load() error {
	data, err := s.root.ReadFile(recordName)
	if err == nil {
		for line := range strings.Lines(string(data)) {
			// An incomplete line is from a killed process, which had not written the
			// file yet.
			sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if ok && strings.HasPrefix(sum, "sha256:") && strings.HasSuffix(line, "\n") {
				s.ours[name] = append(s.ours[name], sum)
			}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, dir := range []string{newDir, oldDir} {
		entries, err := fs.ReadDir(s.root.FS(), dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(entries) > 0 {
			return s.foreign(dir + "/" + entries[0].Name())
		}
	}
	return nil
}

func (s *site) foreign(name string) error {
	return fmt.Errorf("%s was not written by this command, which replaces nobody else's files; move it away, or choose another folder",
		filepath.Join(s.root.Name(), name))
}

// write replaces a file of the site atomically. It refuses to replace a file that is not
// ours, unless the content is the same.
func (s *site) write(name string, data []byte) error {
	sum := digest(data)
	s.written[name] = sum
	old, err := s.root.ReadFile(name)
	switch {
	case err == nil && bytes.Equal(old, data):
		return nil
	case err == nil && s.ours[name] == nil:
		return s.foreign(name)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := s.note(name, sum); err != nil {
		return err
	}
	return s.replace(name, data)
}

// note records a file before it is written, so that files of a killed run are known to
// be ours.
func (s *site) note(name, sum string) (err error) {
	line := sum + " " + name + "\n"
	if s.record == nil {
		if err := s.root.MkdirAll(path.Dir(recordName), 0o755); err != nil {
			return err
		}
		if s.record, err = s.root.OpenFile(recordName, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
			return err
		}
		line = "\n" + line // the last line may be incomplete
	}
	_, err = s.record.WriteString(line)
	s.ours[name] = append(s.ours[name], sum)
	return err
}

func (s *site) replace(name string, data []byte) error {
	if err := s.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	err := s.root.WriteFile(tempName, data, 0o644)
	if err == nil {
		err = s.root.Rename(tempName, name)
	}
	if err != nil {
		return errors.Join(err, s.root.RemoveAll(tempName))
	}
	return nil
}

// clean removes files of an earlier run that this run did not write, and folders that
// become empty. It keeps files that somebody has changed since.
func (s *site) clean(r *Result) error {
	for _, name := range slices.Sorted(maps.Keys(s.ours)) {
		if s.written[name] != "" {
			continue
		}
		data, err := s.root.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !slices.Contains(s.ours[name], digest(data)):
			r.Kept = append(r.Kept, name)
		default:
			if err := s.root.Remove(name); err != nil {
				return err
			}
			r.Removed = append(r.Removed, name)
			s.prune(path.Dir(name))
		}
	}
	return s.save()
}

// save replaces the record by the list of files that this run wrote.
func (s *site) save() error {
	var b strings.Builder
	b.WriteString(recordHeader)
	for _, name := range slices.Sorted(maps.Keys(s.written)) {
		fmt.Fprintf(&b, "%s %s\n", s.written[name], name)
	}
	err := s.closeRecord()
	if old, _ := s.root.ReadFile(recordName); string(old) != b.String() {
		err = errors.Join(err, s.replace(recordName, []byte(b.String())))
	}
	return err
}

// prune removes a folder and its parents, as far as they are empty.
func (s *site) prune(dir string) {
	for (strings.HasPrefix(dir, newDir+"/") || strings.HasPrefix(dir, oldDir+"/")) && s.root.Remove(dir) == nil {
		dir = path.Dir(dir)
	}
}

func (s *site) closeRecord() (err error) {
	if s.record != nil {
		err = s.record.Close()
	}
	s.record = nil
	return err
}

// close closes the folder as it is. It may be called several times.
func (s *site) close() error { return errors.Join(s.closeRecord(), s.root.Close()) }

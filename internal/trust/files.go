package trust

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A Change says how a skill differs from the one of its name that was trusted last.
type Change struct {
	Since                   Skill
	Changed, Added, Removed []string // paths of files; all empty if nobody knows
}

// filesOf returns where the files of the skill with a digest are remembered.
func (f *File) filesOf(digest string) string {
	return filepath.Join(f.dir, strings.TrimPrefix(digest, "sha256:"))
}

// remember notes the files of a skill, one in a line, so that Change can compare them.
func (f *File) remember(s Seen) error {
	var b strings.Builder
	for _, file := range s.Files {
		fmt.Fprintf(&b, "%s  %s\n", file.SHA256, field(file.Path))
	}
	return atomicfile.Write(atomicfile.OS{}, f.filesOf(s.Digest), []byte(b.String()))
}

// remembered returns the files of a trusted skill with their digests, by path; none if
// nobody knows.
func (f *File) remembered(digest string) map[string]string {
	data, err := regular.ReadFile(f.filesOf(digest))
	if err != nil {
		return nil
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		sum, path, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if path, err := unquoted(path); ok && err == nil {
			files[path] = sum
		}
	}
	return files
}

// Change compares a skill with the one of its name that was trusted last, in the same
// folder if there is one; nil means that none was.
func (f *File) Change(s Seen) (*Change, error) {
	list, err := f.List()
	list = slices.DeleteFunc(list, func(old Skill) bool { return old.Name != s.Name })
	if err != nil || len(list) == 0 {
		return nil, err
	}
	here := func(t Skill) int {
		if t.Folder == s.Folder {
			return 1
		}
		return 0
	}
	c := &Change{Since: slices.MaxFunc(list, func(a, b Skill) int { return cmp.Or(cmp.Compare(here(a), here(b)), a.Date.Compare(b.Date)) })}
	old := f.remembered(c.Since.Digest)
	if old == nil {
		return c, nil
	}
	for _, file := range s.Files {
		switch sum, ok := old[file.Path]; {
		case !ok:
			c.Added = append(c.Added, file.Path)
		case sum != file.SHA256:
			c.Changed = append(c.Changed, file.Path)
		}
		delete(old, file.Path)
	}
	for path := range old {
		c.Removed = append(c.Removed, path)
	}
	slices.Sort(c.Removed)
	return c, nil
}

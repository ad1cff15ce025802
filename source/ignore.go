package source

import (
	"io/fs"
	"os"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// ignoreOf returns what the ignore files of the skill in a folder name. Only the user's own folders
// have any: elsewhere strangers could keep files out of the digest that the user trusts.
func (s *FS) ignoreOf(dir string) (list ignore) {
	if !s.own || !s.onDisk() {
		return nil
	}
	for _, name := range ignoreFiles {
		at := s.tree.location(s.info.Label, join(dir, name))
		if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if text, err := regular.ReadShort(at, maxIgnore); err == nil {
			list = append(list, parseIgnore(string(text))...)
		}
	}
	return list
}

// hasIgnore reports whether one of the entries at the top of a skill is an ignore file.
func hasIgnore(top []fs.DirEntry) bool {
	return slices.ContainsFunc(top, func(e fs.DirEntry) bool { return slices.Contains(ignoreFiles, e.Name()) })
}

// An ignoringFolder is the open folder of a skill with ignore files. What they name is not there.
type ignoringFolder struct {
	folder
	ignore ignore
}

// stat implements folder, and so the check of everything that is opened, see openRegular.
func (f ignoringFolder) stat(name string) (fs.FileInfo, error) {
	if f.ignore.has(name, false) {
		return nil, errIgnored
	}
	return f.folder.stat(name)
}

var errIgnored = missingError("no such file: an ignore file of the skill names it")

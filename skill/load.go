package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// FileNames are the accepted base names of a skill's instructions, best first.
var FileNames = []string{"SKILL.md", "skill.md"}

// Load finds the instructions of the skill in folder dir of fsys, reads at
// most MaxFile bytes of them and parses them. It fails with a *ParseError when
// the folder holds no usable skill, and with another error when it could not
// be read.
func Load(fsys fs.FS, dir string) (*Skill, error) {
	for _, base := range FileNames {
		name := path.Join(dir, base)
		info, err := fs.Stat(fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, loadError(fsys, dir, err)
		}
		// Opening a pipe would wait for its writer, so look before opening.
		if !info.Mode().IsRegular() {
			return nil, refusal("not-a-file", name, base+" is not a regular file", "replace it by a text file")
		}
		return loadFile(fsys, name)
	}
	return nil, loadError(fsys, dir, nil)
}

func loadFile(fsys fs.FS, name string) (*Skill, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading skill: %w", err)
	}
	defer f.Close() // only read: nothing is lost when closing fails
	return Parse(f, name)
}

// loadError says why no instructions were found in dir. The cause, when there
// is one, came from looking for them.
func loadError(fsys fs.FS, dir string, cause error) error {
	info, err := fs.Stat(fsys, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refusal("missing-path", dir, "path does not exist", "")
	case err != nil:
		return fmt.Errorf("reading skill: %w", err)
	case !info.IsDir():
		return refusal("not-a-folder", dir, "not a folder", "a skill is a folder with a SKILL.md")
	case cause != nil:
		return fmt.Errorf("reading skill: %w", cause)
	}
	hint := "add a SKILL.md that starts with name and description between two lines of ---"
	if other := otherSpelling(fsys, dir); other != "" {
		hint = "rename " + other + " to SKILL.md"
	}
	return refusal("missing-skill-md", dir, "missing required file SKILL.md", hint)
}

// otherSpelling returns the name of a file in dir that is SKILL.md but for the
// case of its letters.
func otherSpelling(fsys fs.FS, dir string) string {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return "" // it would only have improved a hint
	}
	i := slices.IndexFunc(entries, func(e fs.DirEntry) bool {
		return strings.EqualFold(e.Name(), FileNames[0])
	})
	if i < 0 {
		return ""
	}
	return entries[i].Name()
}

func refusal(rule, name, message, hint string) *ParseError {
	return &ParseError{Problem{Rule: rule, Severity: Error, Path: name, Message: message, Hint: hint}}
}

package wellknown

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

func (b *bundle) omitted(format string, args ...any) error {
	return &OmittedError{Name: b.name, Reason: fmt.Sprintf(format, args...)}
}

// prepare checks whether every client would read the skill as the catalog does. It sorts
// the files, and sets the description.
func (b *bundle) prepare() error {
	if !skill.IsPortableName(b.name) {
		return b.omitted("its name is not made of at most %d of a-z, 0-9 and single hyphens, or is a device's on Windows", skill.MaxName)
	}
	if !b.arrange() {
		return b.omitted("it has no SKILL.md")
	}
	if err := b.checkFiles(); err != nil {
		return err
	}
	return b.checkText()
}

// arrange sorts the files and puts the instructions first, under the name that
// clients look for. It reports whether there are any.
func (b *bundle) arrange() bool {
	place := func(f file) int {
		if i := slices.Index(skill.FileNames, f.path); i >= 0 {
			return i
		}
		return len(skill.FileNames)
	}
	b.files = slices.SortedFunc(slices.Values(b.files), func(x, y file) int { return cmp.Or(place(x)-place(y), strings.Compare(x.path, y.path)) })
	if len(b.files) == 0 || place(b.files[0]) == len(skill.FileNames) {
		return false
	}
	b.files[0].path = skill.FileNames[0]
	return true
}

func (b *bundle) checkFiles() error {
	if len(b.files) > skill.MaxPublishedFiles {
		return b.omitted("it has %d files; the limit is %d", len(b.files), skill.MaxPublishedFiles)
	}
	size := 0
	seen := make(map[string]string)
	for _, f := range b.files {
		size += len(f.data)
		if clean, err := skill.CleanPath(f.path); err != nil || clean != f.path || words.Clean(f.path) != f.path {
			return b.omitted("the name of its file %q is not a plain relative path of a skill's file", f.path)
		}
		if skill.IsSecret(f.path) {
			return b.omitted("only passwords and keys have the name of its file %s; remove the file", f.path)
		}
		fold := strings.ToLower(f.path)
		if other, ok := seen[fold]; ok {
			return b.omitted("its files %s and %s would be one where case does not count", other, f.path)
		}
		seen[fold] = f.path
	}
	if size > skill.MaxPublishedBytes {
		return b.omitted("its files have %d bytes; the limit is %d", size, skill.MaxPublishedBytes)
	}
	return nil
}

// checkText checks the instructions and takes the description from them.
func (b *bundle) checkText() error {
	text := b.files[0].data
	if _, hidden := words.CleanAndCount(string(text)); len(hidden) > 0 {
		return b.omitted("SKILL.md has hidden characters (%s) from line %d on", hidden[0].Kind, hidden[0].Line)
	}
	s, err := skill.Parse(bytes.NewReader(text), b.name+"/"+skill.FileNames[0])
	if err != nil {
		return b.omitted("%v", err)
	}
	for _, problem := range s.Problems {
		if problem.Rule == "yaml-repaired" {
			return b.omitted("the frontmatter is not YAML that others can read (line %d)", problem.Line)
		}
	}
	description, ok := s.Frontmatter["description"].(string)
	switch {
	case s.Frontmatter["name"] != b.name:
		return b.omitted("its SKILL.md does not state that name")
	case !ok || strings.TrimSpace(description) == "":
		return b.omitted("its SKILL.md states no description")
	case utf8.RuneCountInString(description) > skill.MaxDescription:
		return b.omitted("its description has more than %d characters", skill.MaxDescription)
	}
	b.description = description
	return nil
}

// notOld returns why the files cannot be listed in the form of version 0.1; "" means
// that they can. Clients of that version put paths into URLs without escaping, and one
// path with two dots makes them refuse all skills.
func (b *bundle) notOld() string {
	special := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`?#%[]<>"^|{}`+"`", r) }
	for _, f := range b.files {
		if strings.Contains(f.path, "..") || strings.ContainsFunc(f.path, special) {
			return fmt.Sprintf("the name of its file %q does not fit into a URL", f.path)
		}
	}
	return ""
}

package wellknown

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A prepared skill has passed all checks. Its files are sorted, SKILL.md first.
type prepared struct {
	Skill
	description string
}

func (p *prepared) omitted(format string, args ...any) error {
	return &OmittedError{Name: p.Name, Reason: fmt.Sprintf(format, args...)}
}

// prepare checks whether every client would read the skill as the catalog does.
func prepare(s Skill) (*prepared, error) {
	p := &prepared{Skill: s}
	if !skill.IsPortableName(s.Name) {
		return nil, p.omitted("its name is not made of at most %d of a-z, 0-9 and single hyphens", skill.MaxName)
	}
	if err := p.arrange(); err != nil {
		return nil, err
	}
	if err := p.checkFiles(); err != nil {
		return nil, err
	}
	return p, p.checkText()
}

// arrange sorts the files and puts the instructions first, under the name that
// clients look for.
func (p *prepared) arrange() error {
	p.Files = slices.Clone(p.Files)
	at := -1
	for _, name := range skill.FileNames {
		if at = slices.IndexFunc(p.Files, func(f File) bool { return f.Path == name }); at >= 0 {
			break
		}
	}
	if at < 0 {
		return p.omitted("it has no SKILL.md")
	}
	first := File{skill.FileNames[0], p.Files[at].Data}
	rest := slices.Delete(p.Files, at, at+1)
	slices.SortFunc(rest, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	p.Files = slices.Concat([]File{first}, rest)
	return nil
}

func (p *prepared) checkFiles() error {
	if len(p.Files) > skill.MaxPublishedFiles {
		return p.omitted("it has %d files; the limit is %d", len(p.Files), skill.MaxPublishedFiles)
	}
	size := 0
	seen := make(map[string]string)
	for _, f := range p.Files {
		size += len(f.Data)
		if !fs.ValidPath(f.Path) || strings.ContainsAny(f.Path, "\\:") || words.Clean(f.Path) != f.Path || strings.ContainsAny(f.Path, "\t\n") {
			return p.omitted("the name of its file %q is not a plain relative path", f.Path)
		}
		fold := strings.ToLower(f.Path)
		if other, ok := seen[fold]; ok {
			return p.omitted("its files %s and %s would be one where case does not count", other, f.Path)
		}
		seen[fold] = f.Path
	}
	if size > skill.MaxPublishedBytes {
		return p.omitted("its files have %d bytes; the limit is %d", size, skill.MaxPublishedBytes)
	}
	return nil
}

// checkText checks the instructions and takes the description from them.
func (p *prepared) checkText() error {
	text := p.Files[0].Data
	if _, hidden := words.CleanAndCount(string(text)); len(hidden) > 0 {
		return p.omitted("SKILL.md has hidden characters (%s) from line %d on", hidden[0].Kind, hidden[0].Line)
	}
	s, err := skill.Parse(bytes.NewReader(text), p.Name+"/"+skill.FileNames[0])
	if err != nil {
		return p.omitted("%v", err)
	}
	for _, problem := range s.Problems {
		if problem.Rule == "yaml-repaired" {
			return p.omitted("the frontmatter is not YAML that others can read (line %d)", problem.Line)
		}
	}
	description, ok := s.Frontmatter["description"].(string)
	switch {
	case s.Frontmatter["name"] != p.Name:
		return p.omitted("its SKILL.md does not state that name")
	case !ok || strings.TrimSpace(description) == "":
		return p.omitted("its SKILL.md states no description")
	case utf8.RuneCountInString(description) > skill.MaxDescription:
		return p.omitted("its description has more than %d characters", skill.MaxDescription)
	}
	p.description = description
	return nil
}

// notOld returns why the files cannot be listed in the form of version 0.1; "" means
// that they can. Clients of that version put paths into URLs without escaping, and one
// path with two dots makes them refuse all skills.
func (p *prepared) notOld() string {
	for _, f := range p.Files {
		plain := func(r rune) bool { return r > ' ' && r < 0x7f && !strings.ContainsRune(`?#%[]<>"^|{}`+"`", r) }
		if strings.Contains(f.Path, "..") || strings.ContainsFunc(f.Path, func(r rune) bool { return !plain(r) }) {
			return fmt.Sprintf("the name of its file %q does not fit into a URL", f.Path)
		}
	}
	return ""
}

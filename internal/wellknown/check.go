package wellknown

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// Check says why the skill is left out of a site whose instructions are in a file of this base
// name; nil means that it can be published.
func Check(file string, in *contextprovider.Instructions) error {
	if _, err := contextprovider.Publishable(file, in); err != nil {
		return err
	}
	paths := make([]string, len(in.Files))
	for i, f := range in.Files {
		paths[i] = f.Path
	}
	return checkFiles(in.Data, paths)
}

func (b *bundle) omitted(format string, args ...any) error {
	return &OmittedError{Name: b.name, Reason: fmt.Sprintf(format, args...)}
}

// prepare checks what a manifest does not: whether every client would read the files as the
// catalog does. It puts SKILL.md first.
func (b *bundle) prepare() error {
	slices.SortFunc(b.files, func(x, y file) int { return strings.Compare(x.path, y.path) })
	i := slices.IndexFunc(b.files, func(f file) bool { return f.path == skill.FileNames[0] })
	if i < 0 {
		return b.omitted("it has no SKILL.md")
	}
	b.files = slices.Concat(b.files[i:i+1], b.files[:i], b.files[i+1:])
	paths := make([]string, len(b.files))
	for i, f := range b.files {
		paths[i] = f.path
	}
	if err := checkFiles(b.files[0].data, paths); err != nil {
		return b.omitted("%v", err)
	}
	return nil
}

// checkFiles reports what clients would read differently: text is the SKILL.md, and paths are
// those of all files.
func checkFiles(text []byte, paths []string) error {
	if _, hidden := tidy.CleanAndCount(string(text)); len(hidden) > 0 {
		return fmt.Errorf("SKILL.md has hidden characters (%s) from line %d on", hidden[0].Kind, hidden[0].Line)
	}
	seen := make(map[string]string)
	for _, p := range paths {
		if clean, err := skill.CleanPath(p); err != nil || clean != p || tidy.Clean(p) != p {
			return fmt.Errorf("the name of its file %q is not a plain relative path of a skill's file", p)
		}
		if skill.IsSecret(p) {
			return fmt.Errorf("only passwords and keys have the name of its file %s; remove the file", p)
		}
		fold := strings.ToLower(p)
		if other, ok := seen[fold]; ok {
			return fmt.Errorf("its files %s and %s would be one where case does not count", other, p)
		}
		seen[fold] = p
	}
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

package wellknown

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

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
	if _, hidden := tidy.CleanAndCount(string(b.files[0].data)); len(hidden) > 0 {
		return b.omitted("SKILL.md has hidden characters (%s) from line %d on", hidden[0].Kind, hidden[0].Line)
	}
	seen := make(map[string]string)
	for _, f := range b.files {
		if clean, err := skill.CleanPath(f.path); err != nil || clean != f.path || tidy.Clean(f.path) != f.path {
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

package search

import (
	"slices"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// Some skills only the user starts: their authors say so, see skill.About, and a pin or a use of
// the user's own lifts it, see newScope. The scope of a view has them, so that whoever knows a name
// can read the skill. Only Query.seeing and List decide who finds them.

// seeing returns the view of the skills that whoever gets the answer may find, and those of them
// that the user starts with the text.
func (q *Query) seeing(v *snapshot.View) (*snapshot.View, snapshot.Skills) {
	if q.Person || v.Scope.Reserved.Count() == 0 {
		return v, nil
	}
	var begun snapshot.Skills
	if q.Typed {
		begun = started(v, q.Text)
	}
	return v.In(v.ForModel(begun)), begun
}

// reasonReserved says why a skill is reserved.
func reasonReserved(name string) string {
	return `only the user starts it: a prompt with "/` + name + `" or "the skill ` + name + `" gets it`
}

// A typedWord is a word of a prompt.
type typedWord struct {
	text  string
	first bool // of a line
}

// started returns the reserved skills of the view that a prompt starts: with /name or $name, or by
// a name beside the word "skill". It is stricter than namesIn: a skill "deploy" is not started by
// somebody who writes deploy, the route /deploy or $DEPLOY.
func started(v *snapshot.View, text string) (found snapshot.Skills) {
	for _, list := range typedWords(text) {
		fields := make([]string, len(list))
		for i, w := range list {
			fields[i] = strings.ToLower(w.text)
		}
		for i, w := range list {
			name, _ := bareName(fields[i])
			if !w.starts(name) && !besideSkill(fields, i) {
				continue
			}
			for _, j := range find(v, name) {
				if v.Scope.Reserved.Has(j) {
					found.Add(j)
				}
			}
		}
	}
	return found
}

// starts reports whether the word calls something by this name, as people do in a client.
func (w typedWord) starts(name string) bool {
	switch mark := strings.TrimLeft(w.text, "`\"'(“‘«„「"); {
	case strings.HasPrefix(mark, "$"): // no variable of a shell
		return strings.ContainsFunc(mark, unicode.IsLower) || !strings.ContainsFunc(mark, unicode.IsUpper)
	case strings.HasPrefix(mark, "/"): // no path
		return w.first || strings.ContainsAny(name, "-_:")
	}
	return false
}

// typedWords cuts a text at blanks, and once more where scripts without spaces begin and end.
func typedWords(text string) (cuts [][]typedWord) {
	blank := unicode.IsSpace
	dense := func(r rune) bool { return unicode.IsSpace(r) || words.Dense(r) }
	for _, isCut := range []func(rune) bool{blank, dense} {
		var list []typedWord
		for line := range strings.Lines(text) {
			for i, word := range strings.FieldsFunc(line, isCut) {
				list = append(list, typedWord{word, i == 0})
			}
		}
		if len(cuts) == 0 || !slices.Equal(cuts[0], list) {
			cuts = append(cuts, list)
		}
	}
	return cuts
}

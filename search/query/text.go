package query

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// A skillText is the text of one skill, in terms. It reads the skill from the store only
// if the name, the visible description and the tags do not decide.
type skillText struct {
	m      *Matcher
	i      int
	fields *skill.Fields // nil until they are needed
	whole  bool          // fields come from the store
	gone   bool          // the skill is not in the store any more
	err    error         // of the store
}

// head returns the terms that need not be read from the store, by columnNames.
func (t *skillText) head() [][]string {
	if t.fields == nil {
		f := (&skill.Skill{Meta: t.m.v.Doc(t.i).Meta}).Fields(t.m.analyzer)
		t.fields = &f
	}
	return [][]string{t.fields.Name, t.fields.Description, t.fields.Tags, nil}
}

// all returns the terms of all columns, by columnNames; nil if they cannot be read.
func (t *skillText) all() [][]string {
	if !t.whole && t.err == nil && !t.gone {
		t.load()
	}
	if !t.whole {
		return nil
	}
	return [][]string{t.fields.Name, t.fields.Description, t.fields.Tags, t.fields.Body}
}

// load reads the skill from the store.
func (t *skillText) load() {
	t.m.read++
	s, ok, err := t.m.texts.Skill(t.m.ctx, t.m.v.Facts(t.i).Row)
	if err != nil || !ok {
		t.err, t.gone = err, !ok
		return
	}
	s.WhenToUse = skill.WhenToUse(s.Frontmatter)
	f := s.Fields(t.m.analyzer)
	t.fields, t.whole = &f, true
}

func (e *joinedExpr) holds(t *skillText, columns []string) bool {
	for _, x := range e.of {
		if x.holds(t, columns) == (e.operator == or) {
			return e.operator == or
		}
	}
	return e.operator == and
}

func (e *exceptExpr) holds(t *skillText, columns []string) bool {
	return e.keep.holds(t, columns) && !e.drop.holds(t, columns)
}

func (e *columnExpr) holds(t *skillText, columns []string) bool {
	return e.of.holds(t, common(columns, e.columns))
}

func (e *nearExpr) holds(t *skillText, columns []string) bool {
	if e.inAny(t.head(), columns) {
		return true
	}
	unread := slices.Contains(columns, "description") || slices.Contains(columns, "body")
	return unread && e.inAny(t.all(), columns)
}

// inAny reports whether one of the columns has the sequences near each other.
func (e *nearExpr) inAny(text [][]string, columns []string) bool {
	for i, list := range text {
		if slices.Contains(columns, columnNames()[i]) && e.in(list) {
			return true
		}
	}
	return false
}

// in reports whether a list of terms has the sequences near each other: between the end of
// each and the start of the last there are at most e.distance terms. They may overlap.
func (e *nearExpr) in(list []string) bool {
	places := make([][]int, len(e.of))
	for n, s := range e.of {
		if places[n] = s.places(list); len(places[n]) == 0 {
			return false
		}
	}
	for _, starts := range places {
		for _, last := range starts {
			if e.near(places, last) {
				return true
			}
		}
	}
	return false
}

// near reports whether each sequence starts at or shortly before last.
func (e *nearExpr) near(places [][]int, last int) bool {
	for n, starts := range places {
		least := last - len(e.of[n].terms) - e.distance
		if i, _ := slices.BinarySearch(starts, least); len(e.of) > 1 && (i == len(starts) || starts[i] > last) {
			return false
		}
	}
	return true
}

// places returns where a sequence starts in a list of terms.
func (s sequence) places(list []string) []int {
	var out []int
	for at := 0; at+len(s.terms) <= len(list) && !(s.initial && at > 0); at++ {
		if s.startsAt(list[at:]) {
			out = append(out, at)
		}
	}
	return out
}

// startsAt reports whether a list, which is long enough, begins with the sequence.
func (s sequence) startsAt(list []string) bool {
	for i, t := range s.terms {
		if list[i] != t.text && !(t.prefix && strings.HasPrefix(list[i], t.text)) {
			return false
		}
	}
	return true
}

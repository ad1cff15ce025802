package search

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// lookup is lookup that also says how much of the catalog has not been read yet.
func (x *scopes) lookup(v *snapshot.View, id string) (int, error) {
	i, err := lookup(v, id)
	if missing, ok := errors.AsType[*NotFoundError](err); ok {
		missing.Unread = x.unread(v.Set)
	}
	return i, err
}

// lookup finds a skill of the view by its ID, see find.
func lookup(v *snapshot.View, id string) (int, error) {
	list := find(v, id)
	if len(list) == 1 {
		return list[0], nil // who asks for the files of one that is away learns why
	}
	missing := &NotFoundError{ID: id, Known: v.Scope.Visible}
	for _, i := range list {
		missing.Several = append(missing.Several, v.ID(i))
	}
	if len(list) == 0 {
		known := names(v)
		missing.Similar, missing.Known = words.Similar(id, known), len(known)
	}
	return 0, missing
}

// find finds a skill of the view by "source/name" or "source/folder", by "plugin:name" as
// clients call the skill of a plugin, or else by its name, also a skill of a source that is
// away; several only if all of them are called so. No name that an author chooses can take the
// place of an ID that names the source.
func find(v *snapshot.View, id string) []int {
	if place := placeOf(id); hasSource(place) {
		if i, ok := findByPlace(v, place); ok {
			return []int{i}
		}
	}
	return v.Names().All(words.NameKey(id))
}

// placeOf returns "source/name" for "plugin:name", "source/." for the path of a folder that an agent
// uses, and any other ID as it is.
func placeOf(id string) string {
	if label := (Rule{keyUses, id}).Label(); label != "" {
		return label + "/."
	}
	if plugin, name, ok := strings.Cut(id, ":"); ok && !hasSource(id) {
		return skill.PluginLabel(plugin) + "/" + name
	}
	return id
}

// findByPlace finds a skill of the view by "source/name" or "source/folder".
func findByPlace(v *snapshot.View, id string) (i int, ok bool) {
	found := -1
	var first snapshot.Document // the document of found
	for _, src := range v.Set.Sources {
		rest, ok := strings.CutPrefix(id, src.Label+"/")
		if !ok {
			continue
		}
		for i := range v.Source(src.Label).And(v.Scope.In).All() {
			d := v.Doc(i)
			// A folder beats a name: it belongs to one skill only, and is the ID of
			// shadowed copies. Of two skills of one name in one source take the first by
			// precedence, whatever segment it is in.
			if rest == path.Dir(d.Path) {
				return i, true
			}
			if words.NameKey(rest) == d.Key && (found < 0 || first.Source == d.Source && skill.ComparePlaces(&d.Meta, &first.Meta) < 0) {
				found, first = i, d
			}
		}
	}
	return found, found >= 0
}

// A NotFoundError says that the scope has no skill with that ID, or several with that name.
type NotFoundError struct {
	ID      string
	Similar []string // names that the caller may have meant
	Several []string // IDs of the skills that are all called ID; each is found by its own
	Known   int      // number of skills in the scope
	Unread  int      // sources that have not been read yet: the skill may be there
}

func (e *NotFoundError) Error() string {
	if len(e.Several) > 0 {
		return fmt.Sprintf("%d skills are called %q: %s; name one of them so", len(e.Several), e.ID, strings.Join(e.Several, ", "))
	}
	msg := fmt.Sprintf("no skill %q among %d", e.ID, e.Known)
	if len(e.Similar) > 0 {
		msg += "; " + words.DidYouMean(e.Similar)
	}
	if e.Unread > 0 {
		msg += "; " + PartOf(e.Unread).TryAgain()
	}
	return msg
}

// ForAsker returns the message, which is for whoever asked.
func (e *NotFoundError) ForAsker() string { return e.Error() }

// Unwrap makes errors.Is(err, skill.ErrNotFound) hold.
func (e *NotFoundError) Unwrap() error { return skill.ErrNotFound }

// A Refusal is what a model may know of why it cannot have a skill. It holds nothing that
// is for the owner of the catalog only, such as which file of the configuration says so.
type Refusal struct {
	Held    bool     // the skill is there, and only the user can release it, after a review
	Similar []string // of a skill that is not found: names that the model may have meant
	Several []string // of several skills with that name: the IDs by which each is found
	Known   int      // of a skill that is not found: number of skills in the scope
	Unread  int      // of a skill that is not found: sources that have not been read yet
}

// RefusalOf returns what a model may know of an error about a skill; ok is false if the
// error says neither that the skill is not found nor that it is held back. A disabled skill
// is not found.
func RefusalOf(err error) (r Refusal, ok bool) {
	if held, ok := errors.AsType[*HeldError](err); ok && held.State != Disabled {
		return Refusal{Held: true}, true
	}
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok {
		return Refusal{}, false
	}
	return Refusal{Similar: missing.Similar, Several: missing.Several, Known: missing.Known, Unread: missing.Unread}, true
}

// mentions holds the skills that a prompt names.
type mentions struct {
	// certain are the skills that the prompt surely means: the whole prompt is the name,
	// or the name stands after / or $ as the first word, or beside the word "skill".
	certain map[int]bool
	// likely are the skills whose names stand in the prompt and look like names: they
	// are in quotes or backticks, after $ or @, or have several parts ("pdf-forms").
	// All of these may be something else ("e-commerce", a variable, a quoted word).
	likely map[int]bool
}

// namesIn returns the skills that the text names.
func namesIn(v *snapshot.View, text string) mentions {
	found := mentions{make(map[int]bool), make(map[int]bool)}
	add := func(to map[int]bool, name string) {
		list := v.Names().All(words.NameKey(name))
		if len(list) == 0 && strings.Contains(name, ":") && !strings.Contains(name, "/") {
			list = find(v, name) // of a plugin
		}
		for _, i := range list {
			if v.Scope.Offered.Has(i) {
				to[i] = true
			}
		}
	}
	// A name has at most 64 characters, malformed ones a little more; a long text, which is none, is not made a key.
	const most = 4 * 200 // bytes of a key
	if short := strings.TrimSpace(text); len(short) <= 16*most {
		if key := words.NameKey(short); len(key) <= most {
			add(found.certain, key)
			add(found.certain, strings.Join(strings.Fields(key), "-"))
		}
	}
	lower := strings.ToLower(text)
	cuts := [][]string{strings.Fields(lower)}
	if strings.ContainsFunc(lower, words.Dense) { // in scripts without spaces a name has no spaces around it either
		cuts = append(cuts, strings.FieldsFunc(lower, func(r rune) bool { return unicode.IsSpace(r) || words.Dense(r) }))
	}
	mentioned := strings.Contains(lower, "skill")
	for _, fields := range cuts {
		for i, word := range fields {
			name, marked := bareName(word)
			switch {
			case i == 0 && strings.IndexAny(word, "/$") == 0, mentioned && besideSkill(fields, i):
				add(found.certain, name)
			case marked, strings.ContainsAny(name, "-_:"):
				add(found.likely, name)
			}
		}
	}
	return found
}

// bareName strips the punctuation around a word, and reports whether it marks
// the word as a name.
func bareName(word string) (name string, marked bool) {
	const quotes = "`\"'“”‘’«»„「」"
	rest := strings.TrimLeftFunc(word, words.IsSeparator)
	name = strings.TrimRightFunc(rest, words.IsSeparator)
	before, after := word[:len(word)-len(rest)], rest[len(name):]
	// A quote on one side only belongs to a longer quotation.
	quoted := strings.ContainsAny(before, quotes) && strings.ContainsAny(after, quotes)
	return name, quoted || strings.IndexAny(word, "$@") == 0
}

// besideSkill reports whether the word at i stands next to "skill", as in "the pdf
// skill" and "skill: pdf". In "a good skill" it is no name.
func besideSkill(fields []string, i int) bool {
	is := func(j int, words ...string) bool {
		if j < 0 || j >= len(fields) {
			return false
		}
		w, _ := bareName(fields[j])
		return slices.Contains(words, w)
	}
	indefinite := func(j int) bool { return is(j, "a", "an", "another", "any", "every", "no", "some") }
	return is(i+1, "skill") && !indefinite(i-1) || is(i-1, "skill") && !indefinite(i-2)
}

// completions returns the skills whose names begin with the prompt, if the prompt is a
// single word of at least 3 bytes: somebody may be typing a name into a search box.
func completions(v *snapshot.View, text string) []int {
	if strings.ContainsAny(strings.TrimSpace(text), " \t\n") {
		return nil // the key would replace these characters
	}
	key := words.NameKey(text)
	if len(key) < 3 || strings.ContainsFunc(key, unicode.IsSpace) {
		return nil
	}
	return v.Names().Prefixed(key)
}

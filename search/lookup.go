package search

import (
	"errors"
	"fmt"
	"path"
	"strings"

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
	if i, ok := find(v, id); ok {
		return i, nil // who asks for the files of one that is away learns why
	}
	known := names(v)
	return 0, &NotFoundError{ID: id, Similar: words.Similar(id, known), Known: len(known)}
}

// find finds a skill of the view by "source/name" or "source/folder", by "plugin:name" as
// clients call the skill of a plugin, or else by its name, also a skill of a source that is
// away. No name that an author chooses can take the place of an ID that names the source.
func find(v *snapshot.View, id string) (i int, ok bool) {
	if place := placeOf(id); hasSource(place) {
		if i, ok := findByPlace(v, place); ok {
			return i, true
		}
	}
	return v.Names().First(words.NameKey(id))
}

// placeOf returns "source/name" for "plugin:name", and any other ID as it is.
func placeOf(id string) string {
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
			if rest == d.Name && (found < 0 || first.Source == d.Source && skill.ComparePlaces(&d.Meta, &first.Meta) < 0) {
				found, first = i, d
			}
		}
	}
	return found, found >= 0
}

// A NotFoundError says that the scope has no skill with that ID.
type NotFoundError struct {
	ID      string
	Similar []string // names that the caller may have meant
	Known   int      // number of skills in the scope
	Unread  int      // sources that have not been read yet: the skill may be there
}

func (e *NotFoundError) Error() string {
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

// A refusal is what a model may know of why it cannot have a skill. It holds nothing that
// is for the owner of the catalog only, such as which file of the configuration says so.
type refusal struct {
	Held    bool     // the skill is there, and only the user can release it, after a review
	Similar []string // of a skill that is not found: names that the model may have meant
	Known   int      // of a skill that is not found: number of skills in the scope
	Unread  int      // of a skill that is not found: sources that have not been read yet
}

// RefusalOf returns what a model may know of an error about a skill; ok is false if the
// error says neither that the skill is not found nor that it is held back. A disabled skill
// is not found.
func RefusalOf(err error) (r refusal, ok bool) {
	if held, ok := errors.AsType[*HeldError](err); ok && held.State != Disabled {
		return refusal{Held: true}, true
	}
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok {
		return refusal{}, false
	}
	return refusal{Similar: missing.Similar, Known: missing.Known, Unread: missing.Unread}, true
}

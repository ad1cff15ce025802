package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// SetSources sets the labels of all sources of the catalog, so that answers can say that
// some have not been searched yet.
func (x *scopes) SetSources(labels []string) { x.labels.Store(&labels) }

// A Part says in results that programs read that some sources have not been read yet.
type Part struct {
	Partial bool `json:"partial,omitempty" jsonschema:"some folders of skills have not been read yet; a later call may find more"`
	Unread  int  `json:"unread,omitempty" jsonschema:"how many folders have not been read yet"`
}

// PartOf returns the Part for so many sources that have not been read yet.
func PartOf(unread int) Part { return Part{unread > 0, unread} }

// OfCatalog is what answers say when some sources have not been read yet.
func (p Part) OfCatalog() string {
	verb := "have"
	if p.Unread == 1 {
		verb = "has"
	}
	return fmt.Sprintf("part of the catalog: %s %s not been read yet", figures.Count(p.Unread, "folder"), verb)
}

// Caveat says in a sentence that some sources have not been read yet; "" if all have.
func (p Part) Caveat() string {
	if !p.Partial {
		return ""
	}
	return "So far this is " + p.OfCatalog() + "."
}

// TryAgain says that a skill that is not found may be in a source that is not read yet.
func (p Part) TryAgain() string {
	return "so far this is " + p.OfCatalog() + ", so try again in a moment"
}

// Unread returns how many sources have not been searched completely so far and are not away
// either: what is not found may still be there.
func (x *scopes) Unread(ctx context.Context) (n int, err error) {
	set, err := x.sets.Current(ctx)
	if err != nil {
		return 0, err
	}
	return x.unread(set), nil
}

// unread is Unread for a set.
func (x *scopes) unread(s *snapshot.Set) (n int) {
	labels := x.labels.Load()
	if labels == nil {
		return 0
	}
	for _, label := range *labels {
		if !isSettled(s, label) {
			n++
		}
	}
	return n
}

func isSettled(s *snapshot.Set, label string) bool {
	for i := range s.Sources {
		if s.Sources[i].Label == label {
			return s.Sources[i].Settled()
		}
	}
	return false
}

// Caveat returns what must be known of the answer, as a sentence; "" means nothing: that the
// catalog does not hold all of its sources yet, or that the answer may be old.
func (r *Ranking) Caveat() string {
	switch {
	case r.Unread > 0:
		return PartOf(r.Unread).Caveat()
	case !r.AsOf.IsZero():
		return "This is as of " + r.AsOf.UTC().Format("2006-01-02 15:04 MST") + ", because " + store.ErrUnreachable.Error() + "."
	}
	return ""
}

func (x *ranker) asOf() time.Time {
	if x.opts.AsOf == nil {
		return time.Time{}
	}
	return x.opts.AsOf()
}

// stored returns a skill as the store keeps it. ok is false if it was removed after the view
// was made, and if the store cannot be reached: an answer can do without.
func (x *ranker) stored(ctx context.Context, row int64) (s *skill.Skill, ok bool, err error) {
	if s, ok, err = x.store.Skill(ctx, row); errors.Is(err, store.ErrUnreachable) {
		return nil, false, nil
	}
	return s, ok, err
}

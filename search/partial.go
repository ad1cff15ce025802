package search

import (
	"context"
	"errors"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// PartOfCatalog is what answers say when they are partial, see Ranking.
const PartOfCatalog = "part of the catalog: some folders have not been read yet"

// SetSources sets the labels of all sources of the catalog, so that answers can say that
// some have not been searched yet.
func (x *Searcher) SetSources(labels []string) { x.labels.Store(&labels) }

// isPartial reports whether a source has not been searched completely so far and is not
// away either.
func (x *Searcher) isPartial(s *snapshot.Set) bool {
	labels := x.labels.Load()
	if labels == nil {
		return false
	}
	for _, label := range *labels {
		if !isSettled(s, label) {
			return true
		}
	}
	return false
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
	case r.Partial:
		return "So far this is " + PartOfCatalog + "."
	case !r.AsOf.IsZero():
		return "This is as of " + r.AsOf.UTC().Format("2006-01-02 15:04 MST") + ", because " + store.ErrUnreachable.Error() + "."
	}
	return ""
}

func (x *Searcher) asOf() time.Time {
	if x.opts.AsOf == nil {
		return time.Time{}
	}
	return x.opts.AsOf()
}

// stored returns a skill as the store keeps it. ok is false if it was removed after the view
// was made, and if the store cannot be reached: an answer can do without.
func (x *Searcher) stored(ctx context.Context, row int64) (s *skill.Skill, ok bool, err error) {
	if s, ok, err = x.store.Skill(ctx, row); errors.Is(err, store.ErrUnreachable) {
		return nil, false, nil
	}
	return s, ok, err
}

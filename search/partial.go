package search

import "github.com/repertoire-skills/repertoire/snapshot"

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

package index

import (
	"errors"
	"testing"
)

// publish compiles what the catalog holds.
func publish(t testing.TB, x *Index, merge bool) {
	t.Helper()
	if err := x.Publish(t.Context(), merge); err != nil {
		t.Fatal(err)
	}
}

// TestCurrentAfterFirstWalk: the first complete walk of a source is published
// also when it finds nothing new.
func TestCurrentAfterFirstWalk(t *testing.T) {
	x := newIndex(t, nil)
	src := Source{Label: "a", Root: "/a"}
	skills := manySkills(3)
	syncSource(t, x, src, failing(skills.refs(), errors.New("a folder could not be read")))
	publish(t, x, true)
	if x.Current([]Source{src}) {
		t.Error("the source has not been walked completely, and nobody knows")
	}
	syncSource(t, x, src, skills.refs())
	publish(t, x, true)
	if !x.Current([]Source{src}) {
		t.Error("the source has been walked completely, and the published files do not say so")
	}
}

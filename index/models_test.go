package index_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// TestBaseOfOtherModels: a compiled base serves only those whose vectors are of its models,
// in every space: the cosines of two models cannot be compared.
func TestBaseOfOtherModels(t *testing.T) {
	x := searchtest.New(t, new(searchtest.Embedder))
	searchtest.Sync(t, x, "a", searchtest.Corpus(t, 10).Refs())
	searchtest.Embed(t, x)
	must.Do(t, x.Publish(t.Context(), true))
	found := func(change func(*[snapshot.Spaces]snapshot.Model)) bool {
		t.Helper()
		found, err := x.FindsBase(t.Context(), change)
		must.Do(t, err)
		return found
	}
	if !found(func(*[snapshot.Spaces]snapshot.Model) {}) {
		t.Fatal("no base is found for the models of which it is")
	}
	for space := range snapshot.Spaces {
		if found(func(m *[snapshot.Spaces]snapshot.Model) { m[space].Name += "-2" }) {
			t.Errorf("space %d: the base serves a model of another name", space)
		}
		if found(func(m *[snapshot.Spaces]snapshot.Model) { m[space].Dim++ }) {
			t.Errorf("space %d: the base serves a model of another dimension", space)
		}
	}
}

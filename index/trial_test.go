package index_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// TestTrial: a catalog with a trial ranks as it does once the trial is in it, whether the skill is
// changed or new, and whether a base is there or all is compiled. The store stays as it was.
func TestTrial(t *testing.T) {
	for _, x := range []struct {
		name   string
		shared bool
		skill  *skill.Skill
	}{
		{"changed, with a base", true, searchtest.Skill("pie", "Bakes a sweet cake with plums.", "Knead.")},
		{"changed, without a base", false, searchtest.Skill("pie", "Bakes a sweet cake with plums.", "Knead.")},
		{"new", true, searchtest.Skill("jam", "Boils plums to jam.", "Stir.")},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newSharing(t)
			all := []*skill.Skill{searchtest.Skill("cake", "Bakes a cake.", "Mix and bake."), searchtest.Skill("pie", "Bakes a pie with apples.", "Roll the dough."),
				searchtest.Skill("bread", "Bakes bread.", "Knead and wait.")}
			searchtest.Sync(t, s.Catalog, "team", searchtest.TreeOf(all...).Refs())
			searchtest.Embed(t, s.Catalog)
			if x.shared {
				s.shares(t, true)
			}
			before, err := s.st.State(t.Context())
			must.Do(t, err)

			own := *x.skill
			own.Path = own.Name + "/SKILL.md"
			trial, err := index.NewTrial(t.Context(), s.st, "team", &own, &searchtest.Embedder{}, nil, nil)
			must.Do(t, err)
			with := copyOf(t, trial, filepath.Join(t.TempDir(), "copy"))
			pulls(t, with)
			got := ranksOf(t, with)
			if after, err := s.st.State(t.Context()); err != nil || after != before {
				t.Errorf("the store is at %+v, %v", after, err)
			}
			if err := trial.Update(t.Context(), nil); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("written: %v", err)
			}

			all = append(slices.DeleteFunc(all, func(s *skill.Skill) bool { return s.Name == x.skill.Name }), x.skill)
			searchtest.Sync(t, s.Catalog, "team", searchtest.TreeOf(all...).Refs())
			searchtest.Embed(t, s.Catalog)
			then := copyOf(t, s.st.Another(true), filepath.Join(t.TempDir(), "copy"))
			pulls(t, then)
			if want := ranksOf(t, then); !slices.Equal(got, want) {
				t.Errorf("ranks %v, and once it is there %v", got, want)
			}
		})
	}
}

// ranksOf returns what some prompts find, with scores.
func ranksOf(t *testing.T, c mirrored) (list []string) {
	t.Helper()
	for _, prompt := range []string{"bake a cake", "plums", "an apple pie", "knead"} {
		a, err := c.Search(t.Context(), search.Query{Text: prompt, Limit: 10})
		must.Do(t, err)
		for _, h := range a.Hits {
			list = append(list, fmt.Sprintf("%s: %s %.3f", prompt, h.ID, h.Score))
		}
	}
	return list
}

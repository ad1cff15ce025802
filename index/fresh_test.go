package index_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/store"
)

// truth returns an index over a new catalog with the sources, ranked by FTS5.
func truth(t testing.TB, e embed.Embedder, sources []searchtest.Source) *searchtest.Catalog {
	t.Helper()
	x := searchtest.Open(t, filepath.Join(t.TempDir(), "catalog.db"), e, &searchtest.Options{Index: index.Options{FTS5: true}})
	searchtest.Fill(t, x, sources)
	return x
}

// replaced returns the sources with the skills of one of them changed by f.
func replaced(sources []searchtest.Source, at int, f func(i int, s *searchtest.Source)) []searchtest.Source {
	sources = slices.Clone(sources)
	s := &sources[at]
	s.Skills = slices.Clone(s.Skills)
	for i := range s.Skills {
		sk := *s.Skills[i]
		s.Skills[i] = &sk
	}
	for i := len(s.Skills) - 1; i >= 0; i-- {
		f(i, s)
	}
	return sources
}

// answers returns the answers to queries, with all hits.
func answers(t *testing.T, x *searchtest.Catalog, queries []search.Query) []search.Answer {
	t.Helper()
	list := make([]search.Answer, len(queries))
	for i, q := range queries {
		q.Limit = searchtest.All
		var err error
		if list[i], err = x.Search(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// changes are what happens to a catalog, one after the other.
var changes = []struct {
	name string
	f    func(s []searchtest.Source) []searchtest.Source
}{
	{"nothing", func(s []searchtest.Source) []searchtest.Source { return s }},
	{"skills added", func(s []searchtest.Source) []searchtest.Source {
		s = slices.Clone(s)
		more := searchtest.Generate(8, 99)[0].Skills
		for i, sk := range more {
			sk.Path = fmt.Sprintf("more/%d/SKILL.md", i)
		}
		s[0].Skills = append(slices.Clone(s[0].Skills), more...)
		return s
	}},
	{"bodies changed", func(s []searchtest.Source) []searchtest.Source {
		return replaced(s, 0, func(i int, s *searchtest.Source) {
			if sk := s.Skills[i]; i%9 == 0 {
				s.Skills[i] = searchtest.NewSkill(sk.Dir(), sk.Name, sk.Description, s.Skills[i+1].Body, sk.Tags...)
			}
		})
	}},
	{"descriptions and tags changed", func(s []searchtest.Source) []searchtest.Source {
		return replaced(s, 0, func(i int, s *searchtest.Source) {
			if sk := s.Skills[i]; i%11 == 3 {
				s.Skills[i] = searchtest.NewSkill(sk.Dir(), sk.Name, s.Skills[i-1].Description, sk.Body, "tag1", "tag9")
			}
		})
	}},
	{"skills deleted", func(s []searchtest.Source) []searchtest.Source {
		return replaced(s, 1, func(i int, s *searchtest.Source) {
			if i%6 == 2 {
				s.Skills = slices.Delete(s.Skills, i, i+1)
			}
		})
	}},
	{"skills renamed", func(s []searchtest.Source) []searchtest.Source {
		return replaced(s, 0, func(i int, s *searchtest.Source) {
			if sk := s.Skills[i]; i%13 == 4 && sk.Name[0] < 'z' && sk.Name[0] > 'a' {
				s.Skills[i] = searchtest.NewSkill(sk.Dir(), "x"+sk.Name, sk.Description, sk.Body, sk.Tags...)
			}
		})
	}},
	{"folders renamed", func(s []searchtest.Source) []searchtest.Source {
		return replaced(s, 0, func(i int, s *searchtest.Source) {
			if sk := s.Skills[i]; i%13 == 5 {
				s.Skills[i] = searchtest.NewSkill(sk.Dir()+"-moved", sk.Name, sk.Description, sk.Body, sk.Tags...)
			}
		})
	}},
	{"skills shadowed by a new source", func(s []searchtest.Source) []searchtest.Source {
		top := searchtest.Source{Source: store.Source{Label: "top", Root: "/top", Priority: 9}}
		for i := 2; i < len(s[0].Skills); i += 17 {
			of := s[0].Skills[i]
			top.Skills = append(top.Skills, searchtest.NewSkill(of.Dir(), strings.ToUpper(of.Name), "on top", of.Body, "tag1"))
		}
		return append([]searchtest.Source{top}, s...)
	}},
	{"priorities turned round", func(s []searchtest.Source) []searchtest.Source {
		s = slices.Clone(s)
		s[0].Priority, s[1].Priority, s[2].Priority = 1, 2, 9
		return s
	}},
	{"the new source gone", func(s []searchtest.Source) []searchtest.Source { return s[1:] }},
	{"files refused, and others not any more", func(s []searchtest.Source) []searchtest.Source {
		s = replaced(s, 0, func(i int, s *searchtest.Source) {
			if i == 6 || i == 7 {
				s.Refused = append(slices.Clone(s.Refused), s.Skills[i].Dir())
				s.Skills = slices.Delete(s.Skills, i, i+1)
			}
		})
		s[0].Refused = s[0].Refused[1:]
		s[0].Skills = append(s[0].Skills, searchtest.NewSkill("bad/one", "not-bad", "It is usable now", "body"))
		return s
	}},
}

// TestFresh: after every change the published files answer like a new catalog,
// whether the change is in a delta or merged into the base.
func TestFresh(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	t.Run("text", func(t *testing.T) { t.Parallel(); testFresh(t, nil, true) })
	t.Run("vectors", func(t *testing.T) { t.Parallel(); testFresh(t, &embedtest.Fake{}, false) })
}

func testFresh(t *testing.T, e embed.Embedder, merge bool) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	x, other := searchtest.Open(t, path, e, nil), searchtest.Open(t, path, e, nil)
	sources := searchtest.Generate(testsize.Rounds(30, 120), 5)
	agents := []*search.Agent{nil, {Name: "work", Include: search.Rules{Sources: []string{"work"}, Tags: []string{"tag1"}}, Pinned: []string{"plugin/inner"}}}
	deltas := 0
	for _, c := range changes {
		sources = c.f(sources)
		searchtest.Fill(t, x, sources)
		searchtest.Publish(t, x, merge)
		deltas += len(beside(t, path, ".delta"))
		if n := len(beside(t, path, "")); n > 5 { // of SQLite 3, the manifest, a base and a delta
			t.Errorf("%s: there are %d files: %q", c.name, n, beside(t, path, ""))
		}
		queries := searchtest.Queries(sources, 6, testsize.Rounds(10, 20), agents)
		want := truth(t, e, sources)
		if searchtest.Compare(t, want, x, queries); t.Failed() {
			t.Fatalf("after %s, with %q", c.name, beside(t, path, ""))
		}
		for _, q := range queries {
			one, err1 := x.Search(t.Context(), q)
			two, err2 := other.Search(t.Context(), q)
			if err1 != nil || err2 != nil || !reflect.DeepEqual(one, two) {
				t.Fatalf("after %s: another process answers %.60q in another way; %v, %v", c.name, q.Text, err1, err2)
			}
		}
	}
	if deltas < 3 {
		t.Errorf("only %d of %d changes stood beside what was compiled before", deltas, len(changes))
	}
}

// TestDeltaBound: with the largest delta that is not merged, text scores differ by
// less than 2 % from the scores in a new catalog. Only the mean length of a skill is
// not exact.
func TestDeltaBound(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	const few = index.Few // changed skills that are not merged in a small catalog
	before, all := filepath.Join(t.TempDir(), "catalog.db"), searchtest.Generate(400, 8)[:1]
	x := searchtest.Open(t, before, nil, nil)
	searchtest.Fill(t, x, all)
	searchtest.Publish(t, x, true)
	if err := errors.Join(x.Close(), x.Store.Close()); err != nil { // all is in one file then
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		merge   bool
		changed int
		longer  float64 // each changed body, as a share
	}{
		{"others as long", true, few, 0},
		{"longer ones", true, few, .012},
		{"all, without merging", false, 400, .008},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "catalog.db")
			copyCatalog(t, before, path)
			x, sources := searchtest.Open(t, path, nil, nil), all
			// Other words, in texts as long: what was common may be rare now.
			changed := min(tt.changed, len(sources[0].Skills))
			bodies := make([][]string, len(sources[0].Skills))
			for i, sk := range sources[0].Skills {
				bodies[i] = strings.Fields(sk.Body)
			}
			sources = replaced(sources, 0, func(i int, s *searchtest.Source) {
				if i >= changed {
					return
				}
				words := slices.Clone(bodies[i])
				for w := range words {
					if w%2 == i%2 {
						words[w] = fmt.Sprintf("%s%d", words[w][:len(words[w])-1], i%7)
					}
				}
				words = append(words, words[:int(tt.longer*float64(len(words)))]...)
				sk := s.Skills[i]
				s.Skills[i] = searchtest.NewSkill(sk.Dir(), sk.Name, sk.Description, strings.Join(words, " "), sk.Tags...)
			})
			searchtest.Fill(t, x, sources)
			if searchtest.Publish(t, x, tt.merge); len(beside(t, path, ".delta")) != 1 {
				t.Fatalf("the change does not stand beside the rest: %q", beside(t, path, ""))
			}
			want := truth(t, nil, sources)
			worst, compared := 0.0, 0
			for _, q := range searchtest.Queries(sources, 3, testsize.Rounds(40, 100), nil) {
				q.Limit = searchtest.All
				one, two := answers(t, x, []search.Query{q})[0], answers(t, want, []search.Query{q})[0]
				strength := make(map[string]float64)
				for _, h := range two.Hits {
					strength[h.ID] = h.Strength
				}
				for _, h := range one.Hits {
					// Compare where both are text scores. One body is a hundred times as long
					// as others: a word in it scores next to nothing, and is stored coarsely.
					if s := strength[h.ID]; s > h.Evidence && h.Strength > h.Evidence && h.Dir() != "skills/10" {
						worst, compared = max(worst, math.Abs(h.Strength/s-1)), compared+1
					}
				}
			}
			t.Logf("%d scores differ by %.2f %% at most", compared, 100*worst)
			if compared < testsize.Rounds(200, 500) || worst >= .02 {
				t.Errorf("of %d scores one differs by %.2f %%", compared, 100*worst)
			}
		})
	}
}

package search_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
)

func TestMain(m *testing.M) { testsize.Main(m) }

func TestSearchFindsBody(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Three().Refs())
	a := searchtest.Ask(t, x, search.Query{Text: "please bisect the history of tables"})
	if got := searchtest.IDs(a.Hits); !slices.Equal(got, []string{"csv", "git"}) {
		t.Fatalf("found %q", got)
	}
	if got := a.Hits[0].Matched; !reflect.DeepEqual(got, search.Matched{Description: []string{"tabl"}}) {
		t.Errorf("csv matched %+v", got)
	}
	for _, text := range []string{"", "the and", "zzz", "🚀"} {
		if got := searchtest.Found(t, x, text); len(got) != 0 {
			t.Errorf("%q finds %q", text, got)
		}
	}
}

func TestSearchLimit(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.Many(30).Refs())
	for limit, want := range map[int]int{0: 10, -1: 10, 3: 3, 99: 30} {
		if got := len(searchtest.Ask(t, x, search.Query{Text: "fruit", Limit: limit}).Hits); got != want {
			t.Errorf("limit %d: %d hits, want %d", limit, got, want)
		}
	}
}

// TestSearchDeterministic: the same catalog and prompt, the same answer, with
// and without vectors, in another process' index too.
func TestSearchDeterministic(t *testing.T) {
	t.Parallel()
	e := &searchtest.Embedder{}
	x := searchtest.New(t, e)
	src := searchtest.Many(60)
	searchtest.Sync(t, x, "a", src.Refs())
	searchtest.Embed(t, x)
	src["unembedded"] = searchtest.Skill("unembedded", "handles topic7 too", "")
	searchtest.Sync(t, x, "a", src.Refs())
	q := search.Query{Text: "handles topic7 and fruit", Limit: 61}
	want := searchtest.Ask(t, x, q)
	if want.Mode != "hybrid" || len(want.Hits) != 61 {
		t.Fatalf("mode %s, %d hits", want.Mode, len(want.Hits))
	}
	for range 10 {
		if got := searchtest.Ask(t, x.Another(t, e, nil), q); !reflect.DeepEqual(got, want) {
			t.Fatal("the same search has another answer")
		}
	}
}

// TestSearchSeesOtherIndex: the next answer has what another index of the same file
// has written.
func TestSearchSeesOtherIndex(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	other := searchtest.Open(t, x.Path, nil, nil)
	if got := searchtest.Found(t, x, "commits"); len(got) != 0 {
		t.Errorf("found %q", got)
	}
	searchtest.Sync(t, other, "a", searchtest.Three().Refs())
	if got := searchtest.Found(t, x, "commits"); !slices.Equal(got, []string{"git"}) {
		t.Errorf("found %q", got)
	}
}

func FuzzSearch(f *testing.F) {
	x := searchtest.New(f, nil)
	src := searchtest.Three()
	src["填写"] = searchtest.Skill("填写", "数据库 データ", "İstanbul NEAR OR AND")
	searchtest.Sync(f, x, "a", src.Refs())
	for _, text := range wordstest.NastyTexts() {
		f.Add(text)
	}
	agent := &search.Agent{Exclude: search.Rules{Names: []string{"pdf"}}}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range []*search.Agent{nil, agent} {
			answer, err := x.Search(t.Context(), search.Query{Text: text, Agent: a})
			if err != nil {
				t.Fatalf("%.100q: %v", text, err)
			}
			for _, h := range answer.Hits {
				if src[h.ID] == nil || a != nil && h.ID == "pdf" {
					t.Fatalf("%.100q finds %q", text, h.ID)
				}
			}
		}
	})
}

// TestFewSkills: a catalog of one skill works, although every word is in all skills.
func TestFewSkills(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(searchtest.Skill("pdf-forms", "Fill PDF forms", "body")).Refs())
	for text, want := range map[string]bool{"fill this pdf form": true, "bake me a cake": false} {
		hits := searchtest.Ask(t, x, search.Query{Text: text}).Hits
		if got := len(hits) > 0 && hits[0].Relevant; got != want {
			t.Errorf("%q: relevant %v, want %v; %+v", text, got, want, hits)
		}
	}
}

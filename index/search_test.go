package index

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
)

func TestSearchFindsBody(t *testing.T) {
	x := newIndex(t, nil)
	syncTree(t, x, "a", three().refs())
	a := search(t, x, Query{Text: "please bisect the history of tables"})
	if got := idsOf(a.Hits); !slices.Equal(got, []string{"csv", "git"}) {
		t.Fatalf("found %q", got)
	}
	if got := a.Hits[0].Matched; !reflect.DeepEqual(got, Matched{Description: []string{"tabl"}}) {
		t.Errorf("csv matched %+v", got)
	}
	for _, text := range []string{"", "the and", "zzz", "🚀"} {
		if got := found(t, x, text); len(got) != 0 {
			t.Errorf("%q finds %q", text, got)
		}
	}
}

func TestSearchLimit(t *testing.T) {
	x := newIndex(t, nil)
	syncTree(t, x, "a", manySkills(30).refs())
	for limit, want := range map[int]int{0: 10, -1: 10, 3: 3, 99: 30} {
		if got := len(search(t, x, Query{Text: "fruit", Limit: limit}).Hits); got != want {
			t.Errorf("limit %d: %d hits, want %d", limit, got, want)
		}
	}
}

// TestSearchDeterministic: the same catalog and prompt, the same answer, with
// and without vectors, in another process' index too.
func TestSearchDeterministic(t *testing.T) {
	e := &fakeEmbedder{}
	x := newIndex(t, e)
	src := manySkills(60)
	syncTree(t, x, "a", src.refs())
	embedAll(t, x)
	src["unembedded"] = newSkill("unembedded", "handles topic7 too", "")
	syncTree(t, x, "a", src.refs())
	q := Query{Text: "handles topic7 and fruit", Limit: 61}
	want := search(t, x, q)
	if want.Mode != "hybrid" || len(want.Hits) != 61 {
		t.Fatalf("mode %s, %d hits", want.Mode, len(want.Hits))
	}
	for range 10 {
		if got := search(t, New(x.db, e, nil), q); !reflect.DeepEqual(got, want) {
			t.Fatal("the same search has another answer")
		}
	}
}

// TestSearchSeesOtherIndex: what another index of the same file writes is in
// the next answer.
func TestSearchSeesOtherIndex(t *testing.T) {
	x := newIndex(t, nil)
	other := New(openDB(t, x.db.Path()), nil, nil)
	if got := found(t, x, "commits"); len(got) != 0 {
		t.Errorf("found %q", got)
	}
	syncTree(t, other, "a", three().refs())
	if got := found(t, x, "commits"); !slices.Equal(got, []string{"git"}) {
		t.Errorf("found %q", got)
	}
}

func FuzzSearch(f *testing.F) {
	x := newIndex(f, nil)
	src := three()
	src["填写"] = newSkill("填写", "数据库 データ", "İstanbul NEAR OR AND")
	syncTree(f, x, "a", src.refs())
	for _, text := range wordstest.NastyTexts() {
		f.Add(text)
	}
	agent := &Agent{Exclude: Rules{Names: []string{"pdf"}}}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range []*Agent{nil, agent} {
			answer, err := x.Search(context.Background(), Query{Text: text, Agent: a})
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

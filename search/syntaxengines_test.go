package search_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/memorytest"
)

// shelf holds skills whose texts say nearly the same, in other orders and fields.
func shelf() searchtest.Tree {
	words := strings.Fields(`form forms pdf organize organization GitHub getUserName the open fields 填写 表 数据库 café run running`)
	rng := rand.New(rand.NewPCG(3, 4))
	text := func(n int) string {
		var list []string
		for range rng.IntN(n) {
			list = append(list, words[rng.IntN(len(words))])
		}
		return strings.Join(list, " ")
	}
	tree := make(searchtest.Tree)
	for i := range 60 {
		name := fmt.Sprintf("%s-%d", words[rng.IntN(4)], i)
		s := searchtest.Skill(name, text(9), text(60), words[rng.IntN(9)])
		if i%5 == 0 {
			s.WhenToUse = text(9)
			s.Frontmatter = map[string]any{"when_to_use": s.WhenToUse}
		}
		tree[name] = s
	}
	return tree
}

// shelfQueries returns queries with everything that the language has.
func shelfQueries(n int) []string {
	rng := rand.New(rand.NewPCG(5, 6))
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	word := func() string {
		return pick(`form`, `pdf`, `organiz*`, `organization`, `GitHub`, `github`, `getUserName`, `open`, `fields`, `填`, `填写`, `数据库`, `cafe`, `r*`, `"zzyzx"`)
	}
	phrase := func() string {
		return pick(word(), `"`+pick("pdf form", "the form", "open GitHub", "github open", "form form", "数据库 表")+`"`, `"open org"*`, `^`+word(), `form + pdf`,
			fmt.Sprintf(`NEAR(%s %s, %d)`, word(), pick(word(), `"open fields"`), rng.IntN(4)))
	}
	var expr func(depth int) string
	expr = func(depth int) string {
		switch k := rng.IntN(7); {
		case depth == 0 || k < 2:
			return phrase()
		case k < 4:
			return pick(`name`, `description`, `tags`, `body`, `-name`, `-body`, `{name tags}`, `{description body}`, `-{tags}`) + `: (` + expr(depth-1) + `)`
		default:
			return `(` + expr(depth-1) + pick(` AND `, ` OR `, ` NOT `) + expr(depth-1) + `)`
		}
	}
	list := []string{`form`, `r*`, `the* OR form`, `name: form`, `^form`}
	for len(list) < n {
		list = append(list, expr(rng.IntN(4)))
	}
	return list
}

// TestSyntaxEngines: whether the engine of the store has a query language or not, a query
// finds the same skills. If it asks for single words only, in all columns, their scores are
// the same too.
func TestSyntaxEngines(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	sqlite := searchtest.New(t, nil)
	memory := searchtest.Over(t, memorytest.New(), filepath.Join(t.TempDir(), "catalog.db"), nil, nil)
	tree := shelf()
	both := func() {
		searchtest.Sync(t, sqlite, "a", tree.Refs())
		searchtest.Sync(t, memory, "a", tree.Refs())
	}
	both()
	compareEngines(t, sqlite, memory, shelfQueries(testsize.Rounds(60, 200)))
	searchtest.Publish(t, memory, true)
	for i, name := range slices.Sorted(maps.Keys(tree)) {
		switch i % 7 {
		case 0:
			delete(tree, name)
		case 1:
			tree[name] = searchtest.Skill(name, "another form", "open the fields of a pdf form", "form")
		}
	}
	both()
	compareEngines(t, sqlite, memory, shelfQueries(testsize.Rounds(60, 200))) // now of a base and a delta
}

func compareEngines(t *testing.T, sqlite, memory *searchtest.Catalog, queries []string) {
	t.Helper()
	agents := []*search.Agent{nil, nil, {Include: search.Rules{Tags: []string{"form", "pdf"}}}, {Exclude: search.Rules{Names: []string{"form*"}}}}
	some := 0
	for i, text := range queries {
		q := search.Query{Text: text, Syntax: true, Limit: 1000, Agent: agents[i%len(agents)]}
		want, got := searchtest.Ask(t, sqlite, q), searchtest.Ask(t, memory, q)
		if len(want.Hits) > 0 && len(want.Hits) < 60 {
			some++
		}
		if diff := differ(want, got, !strings.ContainsAny(search.Compiled(text), "{^+0123456789")); diff != "" {
			t.Fatalf("%s: %s; %s", text, diff, search.Compiled(text))
		}
		var entries []search.Entry
		for _, h := range want.Hits[:min(3, len(want.Hits))] {
			entries = append(entries, h.Entry)
		}
		one, err1 := sqlite.Snippets(t.Context(), q, entries, 40)
		two, err2 := memory.Snippets(t.Context(), q, entries, 40)
		if err := errors.Join(err1, err2); err != nil || fmt.Sprint(one) != fmt.Sprint(two) {
			t.Fatalf("%s: snippets %v and %v, %v", text, one, two, err)
		}
	}
	if some < len(queries)/2 {
		t.Errorf("only %d of %d queries find some of the skills", some, len(queries))
	}
}

// differ compares two answers whose order may differ, and if scored is set, the scores.
func differ(want, got search.Answer, scored bool) string {
	scores := make(map[string]float64)
	for _, h := range want.Hits {
		scores[h.ID] = h.Score
	}
	for _, h := range got.Hits {
		score, ok := scores[h.ID]
		if !ok {
			return fmt.Sprintf("%s is found, but not by FTS5", h.ID)
		}
		if delete(scores, h.ID); scored && math.Abs(score-h.Score) > .02*score+1e-4 {
			return fmt.Sprintf("%s has the score %g, by FTS5 %g", h.ID, h.Score, score)
		}
	}
	if len(scores) > 0 || got.Mode != want.Mode {
		return fmt.Sprintf("%v are not found (%s)", scores, got.Mode)
	}
	return ""
}

// A broken store cannot read texts.
type broken struct {
	store.Store
	err   error
	reads int
}

func (b *broken) Skill(ctx context.Context, row int64) (*skill.Skill, bool, error) {
	if b.reads++; b.err != nil {
		return nil, false, b.err
	}
	return b.Store.Skill(ctx, row)
}

// TestSyntaxLost: without its store a catalog answers what the snapshots know, and says that
// it did not check the rest.
func TestSyntaxLost(t *testing.T) {
	t.Parallel()
	st := &broken{Store: memorytest.New()}
	x := searchtest.Over(t, st, "", nil, nil)
	searchtest.Sync(t, x, "a", searchtest.TreeOf(
		searchtest.Skill("one", "pdf forms", "open the door"), searchtest.Skill("two", "form of a pdf", "pdf form"), searchtest.Skill("three", "door", "open"),
	).Refs())
	ask := func(text string) (string, int) {
		st.reads = 0
		a := searchtest.Ask(t, x, search.Query{Text: text, Syntax: true})
		ids := searchtest.IDs(a.Hits)
		slices.Sort(ids)
		return strings.Join(ids, " ") + ": " + a.Mode, st.reads
	}
	for _, tt := range []struct {
		query, want string
		reads       int
	}{
		{`"pdf form"`, "one two: syntax", 1}, // the description of one decides
		{`name: on* OR door`, "one three: syntax", 0},
		{`"open door"`, "one: syntax", 2},
		{`"door open"`, ": syntax", 2},
		{`tags: door`, ": syntax", 0},
	} {
		if got, reads := ask(tt.query); got != tt.want || reads != tt.reads {
			t.Errorf("%s: %s after %d reads, want %s after %d", tt.query, got, reads, tt.want, tt.reads)
		}
	}
	st.err = errors.New("connection refused")
	for query, want := range map[string]string{
		`name: on* OR door`:        "one three: syntax",
		`"door open"`:              "one three: syntax (words only: the texts cannot be read now)",
		`door NOT "the open door"`: "one three: syntax (words only: the texts cannot be read now)",
	} {
		if got, reads := ask(query); got != want || reads > 1 {
			t.Errorf("%s: %s after %d reads, want %s", query, got, reads, want)
		}
	}
	st.err = store.ErrStale
	if _, err := x.Search(t.Context(), search.Query{Text: `"door open"`, Syntax: true}); !errors.Is(err, store.ErrStale) {
		t.Errorf("%v, want %v", err, store.ErrStale)
	}
}

package query_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/query"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
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

// TestFTS5: a query finds the same skills as SQLite's full-text search. If it asks for single
// words only, in all columns, their scores are the same too.
func TestFTS5(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	x := searchtest.New(t, nil)
	tree := shelf()
	searchtest.Sync(t, x, "a", tree.Refs())
	compareFTS5(t, x, shelfQueries(testsize.Rounds(60, 200)))
	searchtest.Publish(t, x, true)
	for i, name := range slices.Sorted(maps.Keys(tree)) {
		switch i % 7 {
		case 0:
			delete(tree, name)
		case 1:
			tree[name] = searchtest.Skill(name, "another form", "open the fields of a pdf form", "form")
		}
	}
	searchtest.Sync(t, x, "a", tree.Refs())
	compareFTS5(t, x, shelfQueries(testsize.Rounds(60, 200))) // now of a base and a delta
}

func compareFTS5(t *testing.T, x *searchtest.Catalog, queries []string) {
	t.Helper()
	agents := []*search.Agent{nil, nil, {Include: search.Rules{Tags: []string{"form", "pdf"}}}, {Exclude: search.Rules{Names: []string{"form*"}}}}
	fts, some := newFTS5(t, x), 0
	for i, text := range queries {
		agent := agents[i%len(agents)]
		got := searchtest.Ask(t, x, search.Query{Text: text, Syntax: true, Limit: 1000, Agent: agent})
		if len(got.Hits) > 0 && len(got.Hits) < 60 {
			some++
		}
		q, err := query.Parse(text)
		must.Do(t, err)
		visible, err := x.List(t.Context(), agent, nil)
		must.Do(t, err)
		if diff := differ(fts.scores(query.FTS(q), visible), got, !strings.ContainsAny(query.FTS(q), "{^+0123456789")); diff != "" {
			t.Fatalf("%s: %s; %s", text, diff, query.FTS(q))
		}
	}
	if some < len(queries)/2 {
		t.Errorf("only %d of %d queries find some of the skills", some, len(queries))
	}
}

// differ compares an answer with the scores of all skills that should be found, if scored is set
// also the scores.
func differ(scores map[string]float64, got search.Answer, scored bool) string {
	for _, h := range got.Hits {
		score, ok := scores[h.ID]
		if !ok {
			return fmt.Sprintf("%s is found, but not by FTS5", h.ID)
		}
		if delete(scores, h.ID); scored && math.Abs(score-h.Score) > .02*score+1e-4 {
			return fmt.Sprintf("%s has the score %g, by FTS5 %g", h.ID, h.Score, score)
		}
	}
	if len(scores) > 0 || got.Mode != "syntax" {
		return fmt.Sprintf("%v are not found (%s)", scores, got.Mode)
	}
	return ""
}

// An fts5 is SQLite's full-text search of the skills of a catalog.
type fts5 struct {
	t  *testing.T
	db *sql.DB
}

func newFTS5(t *testing.T, x *searchtest.Catalog) fts5 {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	db.SetMaxOpenConns(1) // each connection has a memory of its own
	_, err = db.ExecContext(t.Context(), "CREATE VIRTUAL TABLE fts USING fts5 (id UNINDEXED, name, description, tags, body, tokenize = 'ascii')")
	must.Do(t, err)
	entries, err := x.Store.Entries(t.Context(), nil)
	must.Do(t, err)
	join := func(terms []string) string { return strings.Join(terms, " ") }
	for i := range entries {
		e := &entries[i]
		e.SetID()
		s, _, err := x.Store.Skill(t.Context(), e.Row)
		must.Do(t, err)
		s.WhenToUse = skill.WhenToUse(s.Frontmatter)
		f := s.Fields(new(words.Analyzer))
		_, err = db.ExecContext(t.Context(), "INSERT INTO fts (id, name, description, tags, body) VALUES (?, ?, ?, ?, ?)", e.ID, join(f.Name), join(f.Description), join(f.Tags), join(f.Body))
		must.Do(t, err)
	}
	return fts5{t, db}
}

// scores returns the scores of the visible skills that a query finds, by ID.
func (f fts5) scores(query string, visible []search.Entry) map[string]float64 {
	f.t.Helper()
	w := index.DefaultWeights()
	rows, err := f.db.QueryContext(f.t.Context(), "SELECT id, -bm25(fts, 0, ?, ?, ?, ?) FROM fts WHERE fts MATCH ?", w.Name, w.Description, w.Tags, w.Body, query)
	must.Do(f.t, err)
	defer rows.Close()
	scores := make(map[string]float64)
	for rows.Next() {
		var id string
		var score float64
		must.Do(f.t, rows.Scan(&id, &score))
		if slices.ContainsFunc(visible, func(e search.Entry) bool { return e.ID == id }) {
			scores[id] = score
		}
	}
	must.Do(f.t, rows.Err())
	return scores
}

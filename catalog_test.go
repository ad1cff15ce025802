package repertoire_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestPrecedence: of two skills of one name the one from the source with the
// higher priority is offered; the other is there under its source's name.
func TestPrecedence(t *testing.T) {
	low := memory(t, "low", 1, map[string]string{"pdf/SKILL.md": doc("pdf", "Low."), "ocr/SKILL.md": doc("ocr", "Scans.")})
	high := memory(t, "high", 2, map[string]string{"tools/pdf/SKILL.md": doc("PDF", "High.")})
	db := filepath.Join(t.TempDir(), "catalog.db")
	for _, sources := range [][]source.Source{{low, high}, {high, low}} {
		c := scanned(t, repertoire.Config{Sources: sources, DB: db})
		want(t, "offered", list(t, c, nil, false), "ocr", "PDF")
		want(t, "all", list(t, c, nil, true), "ocr", "PDF", "low/pdf")
		for id, want := range map[string]string{"pdf": "high", "low/pdf": "low", "high/PDF": "high", "high/tools/pdf": "high"} {
			body, err := c.Body(t.Context(), id, nil)
			must.Do(t, err)
			if body.Source != want {
				t.Errorf("%s is from %s, want %s", id, body.Source, want)
			}
		}
		if offered, found, err := c.Size(t.Context()); offered != 2 || found != 3 || err != nil {
			t.Errorf("Size() = %d, %d, %v; want 2, 3", offered, found, err)
		}
	}

	// A source that is left out takes its skills along, and what it shadowed
	// comes back.
	c := scanned(t, repertoire.Config{Sources: []source.Source{low}, DB: db})
	want(t, "without high", list(t, c, nil, true), "ocr", "pdf")
	if _, err := c.Body(t.Context(), "high/PDF", nil); !errors.Is(err, repertoire.ErrNotFound) {
		t.Errorf("error %v, want %v", err, repertoire.ErrNotFound)
	}
}

// TestOldCopy: a copy that somebody keeps in "pdf-old" does not take the place of "pdf",
// whichever of them is indexed first, compiled into one file or into two, and whoever asks.
func TestOldCopy(t *testing.T) {
	copies := []string{"pdf", "pdf-old"}
	for i, first := range copies {
		src, dir := folder(t, "a", docs("one", "two"))
		put := func(name string) {
			must.Write(t, filepath.Join(dir, name, "SKILL.md"), doc("pdf", "Fills in forms of "+name+"."))
		}
		put(first)
		c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
		put(copies[1-i])
		rescan(t, c)
		want(t, first+" first: list", list(t, c, nil, true), "one", "pdf", "a/pdf-old", "two")
		for _, id := range []string{"pdf", "a/pdf"} {
			body, err := c.Body(t.Context(), id, nil)
			must.Do(t, err)
			if filepath.Base(filepath.Dir(body.Location)) != "pdf" {
				t.Errorf("%s first: %s is %s", first, id, body.Location)
			}
		}
		for _, a := range []*repertoire.Agent{nil, {Name: "a", Include: repertoire.Rules{Names: []string{"pdf"}}, Pinned: []string{"pdf"}}} {
			answer, err := c.Search(t.Context(), repertoire.Query{Text: "fill in forms", Agent: a})
			must.Do(t, err)
			if len(answer.Hits) == 0 || answer.Hits[0].Path != "pdf/SKILL.md" {
				t.Errorf("%s first: found %+v", first, answer.Hits)
			}
		}
	}
}

// TestFolderGone: a folder that disappears empties nothing. The report says
// that it is incomplete, and its skills say why they cannot be read.
func TestFolderGone(t *testing.T) {
	gone, dir := folder(t, "gone", docs("one", "two"))
	kept := memory(t, "kept", 1, docs("three"))
	c := scanned(t, repertoire.Config{Sources: []source.Source{gone, kept}})
	must.Do(t, os.RemoveAll(dir))
	for range 2 {
		reports := rescan(t, c)
		if len(reports) != 2 || reports[0].Complete || reports[0].Removed != 0 || len(reports[0].Problems) != 1 || !reports[1].Complete {
			t.Errorf("reports %+v", reports)
		}
		want(t, "all", list(t, c, nil, false), "one", "three", "two")
	}
	_, err := c.Body(t.Context(), "one", nil)
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, repertoire.ErrNotFound) || !strings.HasPrefix(err.Error(), "reading skill one: ") {
		t.Errorf("error %v", err)
	}
	must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two."))
	rescan(t, c)
	want(t, "when it is back", list(t, c, nil, false), "three", "two")
}

// TestDeletedSkill: what is no longer on disk is not served, even before a
// rescan has noticed.
func TestDeletedSkill(t *testing.T) {
	src, dir := folder(t, "a", docs("one", "two"))
	c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
	must.Do(t, os.RemoveAll(filepath.Join(dir, "one")))
	if _, err := c.Body(t.Context(), "one", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want %v", err, os.ErrNotExist)
	}
	rescan(t, c)
	if _, err := c.Body(t.Context(), "one", nil); !errors.Is(err, repertoire.ErrNotFound) {
		t.Errorf("error %v, want %v", err, repertoire.ErrNotFound)
	}
}

func TestProblems(t *testing.T) {
	src, dir := folder(t, "a", map[string]string{
		"bad/SKILL.md": "no frontmatter\n", "good/SKILL.md": doc("good", "Does good."),
	})
	c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
	problems, err := c.Owner().Problems(t.Context())
	must.Do(t, err)
	real, err := filepath.EvalSymlinks(dir)
	must.Do(t, err)
	bad := filepath.Join(real, "bad", "SKILL.md")
	if len(problems) != 1 || problems[0].Rule != "no-frontmatter" || problems[0].Path != bad {
		t.Errorf("problems %+v", problems)
	}
	must.Write(t, filepath.Join(dir, "bad", "SKILL.md"), "no frontmatter either\n")
	for range 2 { // the second call does not lengthen the path
		for _, p := range rescan(t, c)[0].Problems {
			if p.Path != bad {
				t.Errorf("reported at %s", p.Path)
			}
		}
	}

	inMemory := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "m", 0, map[string]string{"bad/SKILL.md": "no frontmatter\n"})}})
	problems, err = inMemory.Owner().Problems(t.Context())
	must.Do(t, err)
	if len(problems) != 1 || problems[0].Path != "bad/SKILL.md" {
		t.Errorf("problems in memory %+v", problems)
	}
}

// TestPath: the catalog is the same file wherever the program goes.
func TestPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	t.Chdir(dir)
	c := open(t, repertoire.Config{DB: filepath.Join("sub", "c.db")})
	if want := filepath.Join(dir, "sub", "c.db"); c.Path() != want || c.Owner().Recovered() != "" {
		t.Errorf("Path() = %s, Recovered() = %q; want %s and nothing", c.Path(), c.Owner().Recovered(), want)
	}
}

func TestAgent(t *testing.T) {
	agents := []*repertoire.Agent{{Name: "reviewer"}, {Name: "writer"}}
	c := open(t, repertoire.Config{Agents: agents})
	for _, a := range agents {
		if got, err := c.Agent(a.Name); got != a || err != nil {
			t.Errorf("Agent(%s) = %v, %v", a.Name, got, err)
		}
	}
	if a, err := c.Agent(""); a != nil || err != nil {
		t.Errorf("Agent of no name = %v, %v; want none", a, err)
	}
	none := open(t, repertoire.Config{})
	tests := []struct {
		c          *repertoire.Catalog
		name, want string
	}{
		{c, "reviever", `no agent "reviever"; did you mean reviewer?`},
		{c, "Writer", `no agent "Writer"; did you mean writer?`},
		{c, "xyzzy", `no agent "xyzzy"; there are: reviewer, writer`},
		{none, "writer", `no agent "writer": the configuration names none`},
	}
	for _, tt := range tests {
		if a, err := tt.c.Agent(tt.name); a != nil || err == nil || err.Error() != tt.want {
			t.Errorf("Agent(%s) = %v, %v; want %s", tt.name, a, err, tt.want)
		}
	}
}

// TestMisspeltScope: the log of a schedule names each rule of an agent that matches nothing.
func TestMisspeltScope(t *testing.T) {
	j := new(journal)
	a := &repertoire.Agent{Name: "a", Exclude: repertoire.Rules{Names: []string{"secrets", "secret"}}}
	open(t, repertoire.Config{Sources: []source.Source{memory(t, "s", 0, docs("public", "secret"))}, Agents: []*repertoire.Agent{a}, Schedule: "@yearly", Logger: j.logger()})
	if found := j.lines(`agent a: exclude.names: no skill \"secrets\"`); len(found) != 1 {
		t.Errorf("logged %v", j.lines("agent a"))
	}
}

// TestRefusedAgents: Open refuses agents whose mistakes show without a catalog.
func TestRefusedAgents(t *testing.T) {
	for want, a := range map[string]*repertoire.Agent{
		`agent a: include.names: "[" is not a pattern`: {Name: "a", Include: repertoire.Rules{Names: []string{"["}}},
		`agent a: pinned: skill "x" is excluded too`:   {Name: "a", Exclude: repertoire.Rules{Names: []string{"*"}}, Pinned: []string{"x"}},
		`conf.yaml:3: agent a: pinned: skill "x" is not inc`: {Name: "a", Include: repertoire.Rules{Names: []string{"y"}}, Pinned: []string{"x"},
			Places: map[repertoire.Rule]repertoire.Place{{Key: "pinned", Text: "x"}: {File: "conf.yaml", Line: 3}}},
	} {
		_, err := repertoire.Open(t.Context(), repertoire.Config{DB: filepath.Join(t.TempDir(), "c.db"), Agents: []*repertoire.Agent{a}})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestAnswersRepeat: the same prompt gives the same bytes, from a catalog that
// grew in another order too.
func TestAnswersRepeat(t *testing.T) {
	var first repertoire.Block
	for i, order := range [][]string{{"alpha", "beta", "gamma", "delta"}, {"delta", "gamma", "alpha", "beta"}} {
		src, dir := folder(t, "a", nil)
		c := open(t, repertoire.Config{Sources: []source.Source{src}})
		for _, name := range order {
			must.Write(t, filepath.Join(dir, name, "SKILL.md"), doc(name, "Does "+name+"."))
			rescan(t, c)
		}
		block, err := c.Block(t.Context(), "alpha skill, beta skill, gamma skill", repertoire.Budget{Offer: contextprovider.Relevant}, nil)
		must.Do(t, err)
		for i := range block.Skills {
			rel, err := filepath.Rel(dir, block.Skills[i].Location)
			must.Do(t, err)
			block.Skills[i].Location = rel
		}
		block.Text = strings.ReplaceAll(block.Text, dir, "DIR")
		block.Tokens = 0
		if i == 0 {
			first = block
		}
		if diff := cmp.Diff(first, block); diff != "" || len(block.Skills) != 3 {
			t.Errorf("order %v (-first +now)\n%s", order, diff)
		}
	}
}

// TestConcurrent searches from many goroutines while skills change and rescans
// run: a skill that does not change is always found.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	src, dir := folder(t, "a", docs(many()...))
	c := scanned(t, repertoire.Config{Sources: []source.Source{src}})
	ctx, cancel := context.WithCancel(t.Context())
	var searchers, writers sync.WaitGroup
	for i := range 8 {
		searchers.Go(func() {
			for n := 0; ctx.Err() == nil || n < 5; n++ {
				name := many()[(i+n)%6] // the first six stay
				hits, _ := search(t, c, repertoire.Query{Text: name})
				if len(hits) == 0 || hits[0] != name {
					t.Errorf("%s: hits %v", name, hits)
					return
				}
				if body, err := c.Body(t.Context(), name, nil); err != nil || body.Name != name {
					t.Errorf("%s: body of %s, %v", name, body.Name, err)
					return
				}
			}
		})
	}
	for range 2 {
		writers.Go(func() {
			for n := range 10 {
				rescan(t, c)
				if _, _, err := c.Size(t.Context()); err != nil {
					t.Error(n, err)
				}
			}
		})
	}
	for n := range 15 {
		name := many()[6+n%6]
		must.Write(t, filepath.Join(dir, name, "SKILL.md"), doc(name, fmt.Sprintf("Does %s, version %d.", name, n)))
		if n%3 == 0 {
			must.Do(t, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	writers.Wait()
	cancel()
	searchers.Wait()
	rescan(t, c)
	want(t, "in the end", list(t, c, nil, false), "skill-00", "skill-01", "skill-02", "skill-03", "skill-04", "skill-05", "skill-07", "skill-08", "skill-10", "skill-11")
}

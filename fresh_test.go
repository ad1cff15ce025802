package repertoire_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestFreshen: the first call indexes everything, later ones only look, and read
// what has changed within their limit.
func TestFreshen(t *testing.T) {
	src, dir := folder(t, "a", docs("bread", "cake"))
	aged(t, dir)
	c := open(t, repertoire.Config{Sources: []source.Source{src}, Defer: true})
	found := 0
	freshen := func(o repertoire.FreshenOptions) repertoire.Freshness {
		t.Helper()
		o.Found = func() { found++ }
		f, err := c.Freshen(t.Context(), &o)
		must.Do(t, err)
		return f
	}
	if f := freshen(repertoire.FreshenOptions{Scan: 1}); len(f.Reports) != 1 || f.Reports[0].Added != 2 || f.Cut || found != 2 {
		t.Errorf("the first time: %+v, %d found", f, found)
	}
	if f := freshen(repertoire.FreshenOptions{}); !f.Current || !f.All || f.Reports != nil {
		t.Errorf("without a change: %+v", f)
	}
	if f := freshen(repertoire.FreshenOptions{Rescan: true}); len(f.Reports) != 1 || f.Reports[0].Unchanged != 2 || found != 2 {
		t.Errorf("a rescan that is asked for: %+v, %d found", f, found)
	}
	must.Write(t, filepath.Join(dir, "pie", "SKILL.md"), doc("pie", "Bakes pies."))
	if f := freshen(repertoire.FreshenOptions{Scan: 1}); f.Current || !f.Cut {
		t.Errorf("without the time to read a change: %+v", f)
	}
	if f, err := c.Freshen(t.Context(), nil); err != nil || len(f.Reports) != 1 || f.Reports[0].Added != 1 || f.Cut {
		t.Errorf("after a change: %+v, %v", f, err)
	}
	want(t, "skills", list(t, c, nil, false), "bread", "cake", "pie")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	must.Write(t, filepath.Join(dir, "tart", "SKILL.md"), doc("tart", "Bakes tarts."))
	if _, err := c.Freshen(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// TestFreshenPart: who can wait for a part only gets one of a large catalog that nobody has read, and goes on later.
func TestFreshenPart(t *testing.T) {
	t.Parallel()
	const all = 1600
	var names []string
	for i := range all {
		names = append(names, fmt.Sprintf("skill-%04d", i))
	}
	src, _ := folder(t, "a", docs(names...))
	c := open(t, repertoire.Config{Sources: []source.Source{src}, Defer: true, Contextual: embed.None{}})
	found := 0
	f, err := c.Freshen(t.Context(), &repertoire.FreshenOptions{Partial: true, Found: func() {
		if found++; found == 501 {
			time.Sleep(time.Second) // a slow disk
		}
	}})
	if err != nil || !f.Partial || !f.Cut || f.Current {
		t.Errorf("%+v, %v; want a part", f, err)
	}
	if n := len(list(t, c, nil, false)); n < 400 || n >= all {
		t.Errorf("the part has %d skills", n)
	}
	if n, err := c.Unread(t.Context()); n != 1 || err != nil {
		t.Errorf("%d folders are not read, %v", n, err)
	}
	if answer, err := c.Search(t.Context(), repertoire.Query{Text: "skill-0007", Limit: 1}); err != nil || len(answer.Hits) != 1 || answer.Hits[0].Name != "skill-0007" || answer.Unread != 1 {
		t.Errorf("a skill of the part: %+v, %v", answer, err)
	}
	if f, err := c.Freshen(t.Context(), nil); err != nil || f.Partial || f.Cut {
		t.Errorf("with time: %+v, %v", f, err)
	}
	if n := len(list(t, c, nil, false)); n != all {
		t.Errorf("%d skills in the end", n)
	}
}

// TestFigures: what a catalog tells of itself, for all and for an agent.
func TestFigures(t *testing.T) {
	baker := &repertoire.Agent{Name: "baker", Exclude: repertoire.Rules{Names: []string{"cake"}}}
	c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "a", 1, docs("bread", "cake", "pie")), memory(t, "b", 0, docs("pie", "tart"))}})
	other := &repertoire.Agent{Name: "other", Include: repertoire.Rules{Sources: []string{"b"}}}
	for a, want := range map[*repertoire.Agent]int{nil: 4, baker: 3, other: 2} {
		if n, err := c.Count(t.Context(), a); n != want || err != nil {
			t.Errorf("%+v sees %d skills, error %v; want %d", a, n, err, want)
		}
	}
	if mode, err := c.Mode(t.Context()); mode != "hybrid" || err != nil {
		t.Errorf("mode %q, error %v", mode, err)
	}
}

// TestModeAsksNobody: what ranking is based on follows from what is compiled.
func TestModeAsksNobody(t *testing.T) {
	e := new(embedtest.Fake)
	c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "a", 0, docs("bread"))}, Embedder: e, Contextual: embed.None{}})
	must.Do(t, c.Owner().Embed(t.Context(), nil))
	before := e.Calls()
	mode, err := c.Mode(t.Context())
	answer, _ := c.Search(t.Context(), repertoire.Query{Text: "bread", Limit: 1})
	if err != nil || mode != answer.Mode || mode != "hybrid" {
		t.Errorf("mode %q, error %v; an answer says %q", mode, err, answer.Mode)
	}
	if n := e.Calls() - before; n != 1 { // by the search
		t.Errorf("the embedder was asked %d times", n)
	}
}

// BenchmarkFigures asks what each session asks at its start.
func BenchmarkFigures(b *testing.B) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = fmt.Sprintf("skill-%04d", i)
	}
	c := scanned(b, repertoire.Config{Sources: []source.Source{memory(b, "a", 0, docs(names...))}})
	baker := &repertoire.Agent{Name: "baker", Exclude: repertoire.Rules{Names: []string{"cake"}}}
	for b.Loop() {
		n, err := c.Count(b.Context(), baker)
		if err == nil {
			_, err = c.Mode(b.Context())
		}
		if n != len(names) || err != nil {
			b.Fatal(n, err)
		}
	}
}

package repertoire_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire"
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
		try(t, err)
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
	write(t, filepath.Join(dir, "pie", "SKILL.md"), doc("pie", "Bakes pies."))
	if f := freshen(repertoire.FreshenOptions{Scan: 1}); f.Current || !f.Cut {
		t.Errorf("without the time to read a change: %+v", f)
	}
	if f, err := c.Freshen(t.Context(), nil); err != nil || len(f.Reports) != 1 || f.Reports[0].Added != 1 || f.Cut {
		t.Errorf("after a change: %+v, %v", f, err)
	}
	want(t, "skills", list(t, c, nil, false), "bread", "cake", "pie")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	write(t, filepath.Join(dir, "tart", "SKILL.md"), doc("tart", "Bakes tarts."))
	if _, err := c.Freshen(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// TestFigures: what a catalog tells of itself, for all and for an agent.
func TestFigures(t *testing.T) {
	baker := &repertoire.Agent{Name: "baker", Exclude: repertoire.Rules{Names: []string{"cake"}}}
	c := scanned(t, repertoire.Config{Sources: []source.Source{memory(t, "a", 0, docs("bread", "cake", "pie"))}})
	for a, want := range map[*repertoire.Agent]int{nil: 3, baker: 2} {
		if n, err := c.Count(t.Context(), a); n != want || err != nil {
			t.Errorf("%+v sees %d skills, error %v; want %d", a, n, err, want)
		}
	}
	if mode, err := c.Mode(t.Context()); mode != "hybrid" || err != nil {
		t.Errorf("mode %q, error %v", mode, err)
	}
}

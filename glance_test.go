package repertoire_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

// aged gives all files below a folder a time at which changes can be told.
func aged(t testing.TB, dir string) {
	t.Helper()
	dated(t, dir, time.Now().Add(-time.Hour))
}

// dated gives all files below a folder a time, but not what links lead to.
func dated(t testing.TB, dir string, at time.Time) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(name, at, at)
	}))
}

// deferred opens a catalog as a process does that lives for one answer.
func deferred(t testing.TB, cfg repertoire.Config) *repertoire.Catalog {
	t.Helper()
	cfg.Schedule, cfg.Defer = repertoire.Never, true
	cfg.Away = true
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// glanceAt returns what a new process finds.
func glanceAt(t testing.TB, cfg repertoire.Config) repertoire.Freshness {
	t.Helper()
	c := deferred(t, cfg)
	defer c.Close()
	return c.Owner().Glance(t.Context(), time.Minute)
}

// TestGlanceClock: files that were written while a clock was wrong are as good as others.
func TestGlanceClock(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{
		"1970": time.Unix(1, 0), "1995": time.Unix(8e8, 0), "in a year": time.Now().Add(365 * 24 * time.Hour), "2200": time.Unix(7258118400, 0),
	} {
		t.Run(name, func(t *testing.T) {
			src, dir := folder(t, "team", docs(many()...))
			dated(t, dir, at)
			cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db")}
			closedCatalog(t, cfg)
			if g := glanceAt(t, cfg); !g.Current || !g.All {
				t.Errorf("nothing has changed: %+v", g)
			}
			must.Write(t, filepath.Join(dir, "skill-07", "SKILL.md"), doc("skill-07", "Does something else."))
			if g := glanceAt(t, cfg); g.Current {
				t.Errorf("a skill has changed: %+v", g)
			}
		})
	}
}

func TestGlance(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir string){
		"nothing": nil,
		"edited": func(t *testing.T, dir string) {
			must.Write(t, filepath.Join(dir, "skill-07", "SKILL.md"), doc("skill-07", "Does something else."))
		},
		"same size": func(t *testing.T, dir string) {
			name := filepath.Join(dir, "skill-07", "SKILL.md")
			data := must.Read(t, name)
			must.Write(t, name, strings.ToUpper(data))
		},
		"new skill": func(t *testing.T, dir string) {
			must.Write(t, filepath.Join(dir, "new", "SKILL.md"), doc("new", "Is new."))
		},
		"new skill in a folder": func(t *testing.T, dir string) {
			must.Write(t, filepath.Join(dir, "group", "new", "SKILL.md"), doc("new", "Is new."))
		},
		"removed":    func(t *testing.T, dir string) { must.Do(t, os.RemoveAll(filepath.Join(dir, "skill-07"))) },
		"file added": func(t *testing.T, dir string) { must.Write(t, filepath.Join(dir, "skill-07", "scripts", "b.sh"), "b") },
		"file edited": func(t *testing.T, dir string) {
			must.Write(t, filepath.Join(dir, "skill-07", "scripts", "a.sh"), "other")
		},
		"folder edited": func(t *testing.T, dir string) { must.Write(t, filepath.Join(dir, "skill-07", "more", "x"), "x") },
		"source gone":   func(t *testing.T, dir string) { must.Do(t, os.Rename(dir, dir+"-away")) },
	} {
		t.Run(name, func(t *testing.T) {
			src, dir := folder(t, "team", docs(many()...))
			must.Write(t, filepath.Join(dir, "skill-07", "scripts", "a.sh"), "a")
			must.Write(t, filepath.Join(dir, "group", "old", "SKILL.md"), doc("old", "Is old."))
			aged(t, dir)
			cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db")}
			if g := glanceAt(t, cfg); g.Current {
				t.Errorf("before anything was indexed: %+v", g)
			}
			closedCatalog(t, cfg)
			if change == nil {
				// Not even opened: the answer needs no database.
				must.Do(t, os.Remove(cfg.DB+".lock"))
				must.Do(t, os.Mkdir(cfg.DB+".lock", 0o700)) // what cannot be locked
				c := deferred(t, cfg)
				if g := c.Owner().Glance(t.Context(), time.Minute); !g.Current || !g.All || g.Looked != len(many())+3 {
					t.Errorf("%+v", g)
				}
				b, err := c.Block(t.Context(), "skill-07", repertoire.Budget{Offer: contextprovider.Relevant}, nil)
				if err != nil || len(b.Skills) == 0 || b.Skills[0].ID != "skill-07" {
					t.Errorf("block %+v, %v", b, err)
				}
				if _, err := c.Owner().Problems(t.Context()); err == nil {
					t.Error("the database can be opened: the test proves nothing")
				}
				return
			}
			change(t, dir)
			if g := glanceAt(t, cfg); g.Current {
				t.Errorf("%+v, although something changed", g)
			}
		})
	}
}

// TestGlanceOtherCatalog: what was seen is about these sources and this state of
// the catalog only.
func TestGlanceOtherCatalog(t *testing.T) {
	t.Parallel()
	src, dir := folder(t, "team", docs(many()...))
	aged(t, dir)
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Contextual: embed.None{}}
	closedCatalog(t, cfg)
	other, otherDir := folder(t, "other", docs("skill-x"))
	aged(t, otherDir)
	both := cfg
	both.Sources = append(both.Sources, other)
	if g := glanceAt(t, both); g.Current {
		t.Errorf("with another source: %+v", g)
	}
	closedCatalog(t, both)
	if g := glanceAt(t, cfg); g.Current {
		t.Errorf("without it: %+v", g)
	}
	if g := glanceAt(t, both); !g.Current || !g.All {
		t.Errorf("after a rescan: %+v", g)
	}
	for _, suffix := range []string{".current", ".stamps"} {
		closedCatalog(t, cfg)
		must.Do(t, os.Remove(cfg.DB+suffix))
		if g := glanceAt(t, cfg); g.Current {
			t.Errorf("without %s: %+v", suffix, g)
		}
	}
	closedCatalog(t, cfg)
	seen, err := os.ReadFile(cfg.DB + ".stamps")
	must.Do(t, err)
	for cut := 0; cut < len(seen); cut += testsize.Rounds(7, 1) {
		must.Do(t, os.WriteFile(cfg.DB+".stamps", seen[:cut], 0o600))
		if g := glanceAt(t, cfg); g.Current {
			t.Errorf("cut after %d bytes: %+v", cut, g)
		}
	}
}

// TestGlanceGoesOn: one that is cut off looks at what is most likely to have
// changed, and the next goes on with the rest.
func TestGlanceGoesOn(t *testing.T) {
	t.Parallel()
	var names []string
	n := testsize.Rounds(450, 2000)
	for i := range n {
		names = append(names, fmt.Sprintf("skill-%04d", i))
	}
	src, dir := folder(t, "team", docs(names...))
	aged(t, dir)
	cfg := repertoire.Config{Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Contextual: embed.None{}}
	closedCatalog(t, cfg)
	old := time.Now().Add(-2 * time.Hour) // an edit that does not make it the newest
	changed := names[n*3/5]
	name := filepath.Join(dir, changed, "SKILL.md")
	must.Write(t, name, doc(changed, "Does something else."))
	must.Do(t, os.Chtimes(name, old, old))
	for range 5000 { // each looks at some
		c := deferred(t, cfg)
		g := c.Owner().Glance(t.Context(), 300*time.Microsecond)
		must.Do(t, c.Close())
		if !g.Current {
			return
		}
		if g.All {
			t.Fatalf("%+v, although a skill has changed", g)
		}
	}
	t.Error("the changed skill was never looked at")
}

// TestGlanceAfterRescan: after a process that stays has read a change, the next process
// finds everything current, without a database.
func TestGlanceAfterRescan(t *testing.T) {
	cfg, dir := onDisk(t, docs(many()...))
	resident := scanned(t, cfg)
	for round := range 3 {
		file := filepath.Join(dir, "skill-05", "SKILL.md")
		must.Write(t, file, doc("skill-05", fmt.Sprintf("Does version %d.", round)))
		at := longAgo.Add(time.Duration(round) * time.Minute)
		must.Do(t, os.Chtimes(file, at, at))
		if r := rescan(t, resident)[0]; r.Changed != 1 {
			t.Errorf("round %d: report %+v", round, r)
		}
		if g := glanceAt(t, cfg); !g.Current || !g.All {
			t.Errorf("round %d: the next process finds %+v, want nothing changed", round, g)
		}
	}
}

package repertoire_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// A worktrees is a user with skills, and two worktrees of a project.
type worktrees struct{ user, one, two *source.FS }

// newWorktrees returns worktrees whose catalogs are in a cache folder of the test. The
// catalog of the first is indexed and calibrated.
func newWorktrees(t *testing.T) worktrees {
	t.Helper()
	t.Setenv("REPERTOIRE_CACHE", t.TempDir())
	at := func(label string, priority int, files map[string]string) *source.FS {
		dir := t.TempDir()
		must.Files(t, dir, files)
		s, err := source.Dir(dir, &source.Options{Label: label, Priority: priority})
		must.Do(t, err)
		return s
	}
	own := map[string]string{"deploy/SKILL.md": doc("deploy", "Deploys the user's web site to a server.")}
	for i := range 11 {
		name := fmt.Sprintf("own-%d", i)
		own[name+"/SKILL.md"] = doc(name, fmt.Sprintf("Waters plant number %d on the balcony.", i))
	}
	w := worktrees{
		at("user", 1, own),
		at("project", 2, map[string]string{"deploy/SKILL.md": doc("deploy", "Deploys worktree one."), "one/SKILL.md": doc("one", "Paints the fence of worktree one."), "same/SKILL.md": doc("same", "Mows the lawn.")}),
		at("project", 2, map[string]string{"deploy/SKILL.md": doc("deploy", "Deploys worktree two."), "two/SKILL.md": doc("two", "Paints the fence of worktree two."), "same/SKILL.md": doc("same", "Mows the lawn.")}),
	}
	c := w.open(t, w.user, w.one)
	rescan(t, c)
	must.Do(t, c.Owner().Calibrate(t.Context()))
	must.Do(t, c.Close())
	return w
}

// open opens the catalog of some sources in its default place.
func (w *worktrees) open(t *testing.T, sources ...source.Source) *repertoire.Catalog {
	t.Helper()
	c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: sources, Away: true, Schedule: repertoire.Never, Defer: true})
	must.Do(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// ready reports whether a catalog can answer, and whether it holds all sources.
func ready(t *testing.T, c *repertoire.Catalog) (usable, indexed bool) {
	t.Helper()
	usable, err := c.Owner().Usable(t.Context())
	must.Do(t, err)
	if usable {
		indexed, err = c.Owner().Indexed(t.Context())
		must.Do(t, err)
	}
	return usable, indexed
}

// TestNewWorktree: the catalog of a worktree that was never seen answers at once about the
// skills of the user, says that this is a part, and knows nothing of another worktree.
func TestNewWorktree(t *testing.T) {
	w := newWorktrees(t)
	c := w.open(t, w.user, w.two)
	if usable, indexed := ready(t, c); !usable || indexed {
		t.Fatalf("usable %t, indexed %t; want true and false", usable, indexed)
	}
	files, err := filepath.Glob(c.Path() + ".*.base")
	if err != nil || len(files) != 1 {
		t.Errorf("compiled bases %q, %v; want the one of the first worktree", files, err)
	}
	all := list(t, c, nil, true)
	if len(all) != 12 {
		t.Errorf("known: %q", all)
	}
	for _, id := range []string{"one", "project/one", "project/deploy", "same", "project/same"} {
		if e, err := c.Lookup(t.Context(), id, nil); !errors.Is(err, repertoire.ErrNotFound) {
			t.Errorf("%s is %+v, %v", id, e, err)
		}
	}
	const fence = "use the one skill: paint the fence of worktree one"
	answer, err := c.Search(t.Context(), repertoire.Query{Text: fence, Limit: 50, Disturb: 1})
	must.Do(t, err)
	for _, h := range answer.Hits {
		if h.Source != "user" {
			t.Errorf("found %s of %s at %s", h.ID, h.Source, h.Location)
		}
	}
	syntax, err := c.Search(t.Context(), repertoire.Query{Text: "fence OR lawn OR worktree", Syntax: true})
	if err != nil || len(syntax.Hits) != 0 || syntax.Unread == 0 {
		t.Errorf("found by syntax: %+v, %v, %d unread", syntax.Hits, err, syntax.Unread)
	}
	if answer.Unread == 0 || answer.Background.Needless.Prompts == 0 {
		t.Errorf("%d unread, calibrated with %d prompts (%s)", answer.Unread, answer.Background.Needless.Prompts, answer.Background.Missing)
	}
	block, err := c.Block(t.Context(), "deploy the web site to the server", repertoire.Budget{Offer: contextprovider.Relevant}, nil)
	must.Do(t, err)
	if !strings.Contains(block.Text, "the user&#x27;s web site") && !strings.Contains(block.Text, "the user&#39;s web site") || !strings.Contains(block.Text, "part of the catalog") {
		t.Errorf("block %s", block.Text)
	}

	reports := rescan(t, c)
	if r := reports[1]; reports[0].Unchanged != 12 || r.Added != 1 || r.Changed != 1 || r.Unchanged != 1 || r.Removed != 1 {
		t.Errorf("reports %+v", reports)
	}
	for _, step := range []struct{ prompt, want string }{{"deploy worktree two", "Deploys worktree two."}, {"paint the fence", "Paints the fence of worktree two."}, {"mow the lawn", w.two.Info().Root + "/same/SKILL.md"}} {
		block, err := c.Block(t.Context(), step.prompt, repertoire.Budget{Offer: contextprovider.Relevant}, nil)
		must.Do(t, err)
		if !strings.Contains(block.Text, step.want) || strings.Contains(block.Text, "part of the catalog") || strings.Contains(block.Text, "worktree one") {
			t.Errorf("%s: block %s", step.prompt, block.Text)
		}
	}
	if usable, indexed := ready(t, c); !usable || !indexed {
		t.Errorf("usable %t, indexed %t", usable, indexed)
	}
}

// TestNewWorktreeBroken: of a folder that cannot be read, nothing is known from another
// worktree.
func TestNewWorktreeBroken(t *testing.T) {
	for what, spoil := range map[string]func(dir string) error{
		"no folder": os.RemoveAll,
		"no skills": func(dir string) error { return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)) },
		"unreadable skills": func(dir string) error {
			for _, name := range []string{"deploy", "same", "two"} {
				file := filepath.Join(dir, name, "SKILL.md")
				if err := errors.Join(os.Remove(file), os.Symlink("nowhere", file)); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		w := newWorktrees(t)
		if err := spoil(w.two.Info().Root); err != nil {
			t.Skip(what, err) // Windows may not allow links
		}
		c := w.open(t, w.user, w.two)
		for range 2 {
			if usable, _ := ready(t, c); !usable {
				t.Errorf("%s: not usable", what)
			}
			if ids := list(t, c, nil, true); len(ids) != 12 {
				t.Errorf("%s: %q", what, ids)
			}
			rescan(t, c)
		}
		if _, indexed := ready(t, c); !indexed {
			t.Errorf("%s: still a part of the catalog after a rescan", what)
		}
	}
}

// TestNewWorktreeFreshen: who can wait for a part only gets the whole if there is time for it.
func TestNewWorktreeFreshen(t *testing.T) {
	w := newWorktrees(t)
	c := w.open(t, w.user, w.two)
	f, err := c.Freshen(t.Context(), &repertoire.FreshenOptions{Scan: 1, Partial: true}) // a nanosecond
	if err != nil || !f.Partial || !f.Cut {
		t.Errorf("without time: %+v, %v", f, err)
	}
	if len(list(t, c, nil, false)) != 12 {
		t.Error("without time there are not the skills of the user")
	}
	f, err = c.Freshen(t.Context(), nil)
	if err != nil || f.Partial || len(list(t, c, nil, false)) != 14 {
		t.Errorf("with time: %+v, %v", f, err)
	}
}

// TestNoSeed: a catalog that has little in common with any other, or a place of its own,
// starts empty.
func TestNoSeed(t *testing.T) {
	w := newWorktrees(t)
	renamed, err := source.Dir(w.user.Info().Root, &source.Options{Label: "user", Priority: 1, Names: map[string]string{"own-1": "other"}})
	must.Do(t, err)
	relabelled, err := source.Dir(w.user.Info().Root, &source.Options{Label: "mine", Priority: 1})
	must.Do(t, err)
	for what, sources := range map[string][]source.Source{"another project": {w.two}, "other settings": {renamed, w.two}, "other label": {relabelled, w.two}} {
		c := w.open(t, sources...)
		if usable, _ := ready(t, c); usable {
			t.Errorf("%s: usable", what)
		}
		if _, err := os.Stat(c.Path()); err == nil {
			t.Errorf("%s: an empty catalog was made", what)
		}
	}
	c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{w.user, w.two}, DB: filepath.Join(t.TempDir(), "c.db"), Schedule: repertoire.Never})
	must.Do(t, err)
	defer c.Close()
	if usable, _ := ready(t, c); usable || len(list(t, c, nil, true)) != 0 {
		t.Errorf("a catalog in a place of its own has %q", list(t, c, nil, true))
	}
}

// TestNewWorktreeUnwritable: where no catalog can be made, the error says so.
func TestNewWorktreeUnwritable(t *testing.T) {
	w := newWorktrees(t)
	cache := os.Getenv("REPERTOIRE_CACHE")
	must.Do(t, os.Chmod(cache, 0o500))
	t.Cleanup(func() { os.Chmod(cache, 0o700) })
	if f, err := os.CreateTemp(cache, "probe"); err == nil {
		f.Close()
		os.Remove(f.Name())
		t.Skip("this user can write where nobody may: run the test without privileges")
	}
	c := w.open(t, w.user, w.two)
	if usable, err := c.Owner().Usable(t.Context()); usable || !errors.Is(err, os.ErrPermission) {
		t.Errorf("usable %t, %v", usable, err)
	}
}

// counting is an embedder that counts texts.
type counting struct{ texts atomic.Int64 }

func (e *counting) Model() string { return "counting" }

func (e *counting) Embed(_ context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	if kind == embed.Document {
		e.texts.Add(int64(len(texts)))
	}
	vectors := make([]embed.Vector, len(texts))
	for i, s := range texts {
		vectors[i] = embed.Vector{float32(len(s)), 1}
		embed.Unit(vectors[i])
	}
	return vectors, nil
}

// TestNearestSeed: among catalogs that share as many sources, a worktree of the same project
// is copied, although another one was opened later: its texts need not be embedded again.
func TestNearestSeed(t *testing.T) {
	w := newWorktrees(t)
	e := new(counting)
	open := func(project source.Source) {
		c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: []source.Source{w.user, project}, Embedder: e, Schedule: repertoire.Never})
		must.Do(t, err)
		rescan(t, c)
		must.Do(t, errors.Join(c.Owner().Embed(t.Context(), nil), c.Close()))
	}
	open(w.one)
	other, _ := folder(t, "other", docs("other"))
	open(other)
	// The skills of the second worktree are those of the first one.
	clone := t.TempDir()
	must.Do(t, os.CopyFS(clone, os.DirFS(w.one.Info().Root)))
	two, err := source.Dir(clone, &source.Options{Label: "project", Priority: 2})
	must.Do(t, err)
	before := e.texts.Load()
	open(two)
	if n := e.texts.Load() - before; before == 0 || n != 0 {
		t.Errorf("%d texts were embedded before, and %d of the clone again", before, n)
	}
}

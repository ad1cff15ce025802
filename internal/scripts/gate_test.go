package scripts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/source"
)

// catalog opens a catalog with a skill bread in a folder of each of these kinds, whose labels
// are the kinds too, and returns its folder.
func catalog(t *testing.T, kinds ...string) (*repertoire.Catalog, string) {
	t.Helper()
	dir := t.TempDir()
	cfg := repertoire.Config{DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never, Embedder: embed.None{}}
	for i, kind := range kinds {
		must.Write(t, filepath.Join(dir, kind, "bread", "SKILL.md"), "---\nname: bread-"+kind+"\ndescription: Bakes.\n---\nBake.\n")
		must.Write(t, filepath.Join(dir, kind, "bread", "run.sh"), "echo "+kind+"\n")
		s, err := source.Dir(filepath.Join(dir, kind), &source.Options{Label: kind, Kind: kind, Priority: -i})
		must.Do(t, err)
		cfg.Sources = append(cfg.Sources, s)
	}
	c := catalogtest.Open(t, cfg)
	return c, dir
}

// TestForeign: skills of projects and of what is trusted less need trust, and those of a
// source that nobody knows.
func TestForeign(t *testing.T) {
	c, _ := catalog(t, source.KindProject, source.KindUser, source.KindRoot, source.KindInstalled)
	foreign := Foreign(c.Config().Sources, []string{source.KindRoot})
	for label, want := range map[string]bool{source.KindProject: true, source.KindUser: false, source.KindRoot: true, source.KindInstalled: false, "gone": true} {
		if got := foreign(label); got != want {
			t.Errorf("%s: %v", label, got)
		}
	}
}

// TestGate: who is asked, and what each reply leads to.
func TestGate(t *testing.T) {
	c, dir := catalog(t, source.KindProject, source.KindUser)
	file := trust.Open(t.TempDir())
	bread, err := c.Body(t.Context(), "bread-project", nil)
	must.Do(t, err)
	own, err := c.Body(t.Context(), "bread-user", nil)
	must.Do(t, err)
	script := filepath.Join(dir, source.KindProject, "bread", "run.sh")
	var reply Reply
	var meanwhile func()
	var asked []Question
	g := &Gate{Catalog: c, Trusted: file, Foreign: Foreign(c.Config().Sources, nil), Hint: "say yes to %s"}
	wants := func(what, message string, questions int) {
		t.Helper()
		err := g.Allow(t.Context(), bread, "./run.sh")
		refused, _ := errors.AsType[*sandbox.Error](err)
		if (err == nil) != (message == "") || err != nil && (!strings.Contains(err.Error(), message) || refused == nil) || len(asked) != questions {
			t.Errorf("%s: %v after %d questions, want %q after %d", what, err, len(asked), message, questions)
		}
		asked = nil
	}
	wants("nobody to ask", "the user does not trust it as it is now; say yes to bread-project", 0)
	g.Ask = func(_ context.Context, q Question) (Reply, error) {
		asked = append(asked, q)
		if meanwhile != nil {
			meanwhile()
		}
		return reply, nil
	}
	must.Do(t, g.Allow(t.Context(), own, "./run.sh"))
	wants("an unclear reply", "does not want scripts of the skill 'bread-project' to run", 1)
	reply = Once
	wants("once", "", 1)
	wants("again", "", 1)
	meanwhile = func() { must.Write(t, script, "rm -rf /\n") }
	reply = Always
	wants("a change while the user reads", "changed while the user was asked", 1)
	meanwhile = nil
	if list, _ := file.List(); len(list) != 0 {
		t.Errorf("trusted: %v", list)
	}
	wants("always", "", 1)
	wants("trusted", "", 0)
	reply = No
	must.Write(t, script, "echo other\n")
	if err := g.Allow(t.Context(), bread, "./run.sh"); err == nil || len(asked) != 1 || asked[0].Change == nil || len(asked[0].Change.Changed) != 1 {
		t.Errorf("changed: %v, %+v", err, asked)
	}
	asked, reply = nil, Always
	large := filepath.Join(filepath.Dir(script), "large.bin")
	must.Write(t, large, "")
	must.Do(t, os.Truncate(large, 17<<20)) // 16 MiB are hashed
	if err := g.Allow(t.Context(), bread, "./run.sh"); err != nil || len(asked) != 1 || asked[0].Unknown != "its file large.bin is too large to be compared" {
		t.Errorf("a large file: %v, %+v", err, asked)
	}
	asked = nil
	wants("it is not trusted for it", "", 1)
	g.Ask = nil
	wants("and cannot be", "its file large.bin is too large to be compared", 0)
}

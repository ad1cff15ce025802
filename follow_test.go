package repertoire_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestNewFolders: a catalog with a schedule notices folders with skills that are made
// after it was opened, and answers without a gap while it takes them up.
func TestNewFolders(t *testing.T) {
	for _, db := range []string{"", filepath.Join(t.TempDir(), "catalog.db")} {
		home, project := t.TempDir(), t.TempDir()
		setHome(t, home)
		t.Setenv("REPERTOIRE_CACHE", t.TempDir())
		skill := func(dir, name string) {
			must.Write(t, filepath.Join(dir, name, "SKILL.md"), doc(name, "Does "+name+"."))
		}
		skill(filepath.Join(home, ".claude/skills"), "one")
		must.Write(t, filepath.Join(home, ".config/repertoire/config.yaml"), "bundled: false\n")
		must.Write(t, filepath.Join(project, ".git/config"), "")
		synctest.Test(t, func(t *testing.T) {
			var j journal
			var changed atomic.Int32
			cfg, err := repertoire.ReadConfig(project, &repertoire.ConfigOptions{DB: db})
			must.Do(t, err)
			cfg.Logger, cfg.Changed = j.logger(), func() { changed.Add(1) }
			c, err := repertoire.Open(t.Context(), cfg)
			must.Do(t, err)
			first := c.Path()
			stop := make(chan struct{})
			go func() { // somebody who asks all the time
				for {
					if got := list(t, c, nil, false); !slices.Contains(got, "one") {
						t.Errorf("meanwhile the catalog has %q", got)
					}
					select {
					case <-stop:
						return
					case <-time.After(10 * time.Millisecond):
					}
				}
			}()
			tick := func() {
				time.Sleep(5*time.Second + time.Millisecond)
				synctest.Wait()
			}

			skill(filepath.Join(project, ".agents/skills"), "two")
			tick()
			want(t, "with a folder of the project", list(t, c, nil, false), "one", "two")
			want(t, "labels", c.Labels(), "project:.agents", "user:.claude")
			if body, err := c.Body(t.Context(), "two", nil); err != nil || body.Name != "two" {
				t.Errorf("the new skill: %+v, %v", body, err)
			}
			if changed.Load() != 1 || (c.Path() == first) != (db != "") {
				t.Errorf("told of %d changes, in file %s after %s", changed.Load(), c.Path(), first)
			}
			skill(filepath.Join(project, ".claude/skills"), "one")
			tick()
			if e, err := c.Lookup(t.Context(), "one", nil); err != nil || e.Source != "project:.claude" {
				t.Errorf("the skill of the project does not win: %+v, %v", e, err)
			}
			must.Do(t, os.RemoveAll(filepath.Join(project, ".agents")))
			must.Do(t, os.RemoveAll(filepath.Join(project, ".claude")))
			tick()
			want(t, "without the folders", list(t, c, nil, true), "one")
			if c.Path() != first || changed.Load() != 3 {
				t.Errorf("told of %d changes, in file %s after %s", changed.Load(), c.Path(), first)
			}
			close(stop)
			must.Do(t, c.Close())
			if got := j.lines("level=WARN"); len(got) > 0 {
				t.Errorf("logged %v", got)
			}
		})
	}
}

// TestChangedWorkDir: the working folder counts when the configuration is read. A program
// that changes it later keeps its catalog.
func TestChangedWorkDir(t *testing.T) {
	home, project := t.TempDir(), t.TempDir()
	setHome(t, home)
	t.Setenv("REPERTOIRE_CACHE", t.TempDir())
	must.Write(t, filepath.Join(home, ".config/repertoire/config.yaml"), "bundled: false\n")
	for _, dir := range []string{".agents/skills/one", "roots/two"} {
		name := filepath.Base(dir)
		must.Write(t, filepath.Join(project, dir, "SKILL.md"), doc(name, "Does "+name+"."))
	}
	t.Chdir(project)
	cfg, err := repertoire.ReadConfig("", &repertoire.ConfigOptions{Roots: []string{"roots"}})
	must.Do(t, err)
	t.Chdir(t.TempDir())
	sources, err := cfg.Discover()
	must.Do(t, err)
	for i, s := range sources {
		if i >= len(cfg.Sources) || s.Info() != cfg.Sources[i].Info() {
			t.Errorf("source %d is now %+v", i, s.Info())
		}
	}
	if len(sources) != len(cfg.Sources) {
		t.Errorf("%d sources, before %d", len(sources), len(cfg.Sources))
	}
}

// TestDiscoverFails: while the folders cannot be looked for, those that are known stay.
func TestDiscoverFails(t *testing.T) {
	for name, discover := range map[string]func() ([]source.Source, error){
		"error":      func() ([]source.Source, error) { return nil, os.ErrPermission },
		"nil source": func() ([]source.Source, error) { return []source.Source{nil}, nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			var j journal
			src, dir := folder(t, "team", docs("one"))
			c, err := repertoire.Open(t.Context(), repertoire.Config{
				Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Logger: j.logger(), Discover: discover,
			})
			must.Do(t, err)
			must.Write(t, filepath.Join(dir, "two", "SKILL.md"), doc("two", "Does two."))
			time.Sleep(11 * time.Second)
			synctest.Wait()
			want(t, name+": after two rescans", list(t, c, nil, false), "one", "two")
			if got := j.lines("looking for folders with skills"); len(got) != 1 {
				t.Errorf("%s: logged %v", name, got)
			}
			must.Do(t, c.Close())
		})
	}
}

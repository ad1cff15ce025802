package repertoire_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// setHome makes dir the user's home.
func setHome(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
}

// exampleProject returns a project with a skill, on a machine where nothing is
// configured, and a function that removes both.
func exampleProject() (project string, remove func()) {
	home, err := os.MkdirTemp("", "repertoire")
	if err != nil {
		panic(err)
	}
	var undo []func()
	for name, value := range map[string]string{
		"HOME": home, "USERPROFILE": home, "REPERTOIRE_CONFIG": filepath.Join(home, "config.yaml"),
		"REPERTOIRE_CACHE": filepath.Join(home, "cache"), "REPERTOIRE_DB": "", "REPERTOIRE_DATA": "", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "",
	} {
		before, ok := os.LookupEnv(name)
		os.Setenv(name, value)
		undo = append(undo, func() {
			if os.Setenv(name, before); !ok {
				os.Unsetenv(name)
			}
		})
	}
	project = filepath.Join(home, "project")
	dir := filepath.Join(project, ".claude", "skills", "sourdough")
	text := doc("sourdough", "Bake sourdough bread with a crisp crust. Use when someone wants to bake bread.")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(text), 0o600)); err != nil {
		panic(err)
	}
	return project, func() {
		for _, f := range undo {
			f()
		}
		os.RemoveAll(home)
	}
}

// open opens a catalog in a temporary folder, unless cfg says another, whose sources may be away,
// and closes it when the test ends. Without a schedule nothing is scanned yet.
func open(t testing.TB, cfg repertoire.Config) *repertoire.Catalog {
	t.Helper()
	if cfg.DB == "" {
		cfg.DB = filepath.Join(t.TempDir(), "catalog.db")
	}
	if cfg.Schedule == "" {
		cfg.Schedule = repertoire.Never
	}
	cfg.Away = true
	c, err := repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	return c
}

// scanned is open with a first scan.
func scanned(t testing.TB, cfg repertoire.Config) *repertoire.Catalog {
	t.Helper()
	c := open(t, cfg)
	rescan(t, c)
	return c
}

func rescan(t testing.TB, c *repertoire.Catalog) []repertoire.Report {
	t.Helper()
	reports, err := c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	return reports
}

// doc is a SKILL.md.
func doc(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nBody of %s.\n", name, description, name)
}

// docs are the files of some skills that are named and described alike.
func docs(names ...string) map[string]string {
	files := make(map[string]string)
	for _, name := range names {
		files[name+"/SKILL.md"] = doc(name, "Does "+name+".")
	}
	return files
}

// memory is a source of files in memory.
func memory(t testing.TB, label string, priority int, files map[string]string) *source.FS {
	t.Helper()
	s, err := source.Files(files, &source.Options{Label: label, Priority: priority})
	must.Do(t, err)
	return s
}

// folder is a source of files on disk, with its path.
func folder(t testing.TB, label string, files map[string]string) (*source.FS, string) {
	t.Helper()
	dir := t.TempDir()
	must.Files(t, dir, files)
	s, err := source.Dir(dir, &source.Options{Label: label})
	must.Do(t, err)
	return s, dir
}

// list returns the IDs that an agent sees.
func list(t testing.TB, c *repertoire.Catalog, a *repertoire.Agent, shadowed bool) []string {
	t.Helper()
	entries, err := c.List(t.Context(), a, &repertoire.ListOptions{Shadowed: shadowed})
	must.Do(t, err)
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

// search returns the IDs of the hits and the mode.
func search(t testing.TB, c *repertoire.Catalog, q repertoire.Query) ([]string, string) {
	t.Helper()
	answer, err := c.Search(t.Context(), q)
	must.Do(t, err)
	var ids []string
	for _, h := range answer.Hits {
		ids = append(ids, h.ID)
	}
	return ids, answer.Mode
}

func want(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// A journal is a logger that remembers.
type journal struct{ must.Log }

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(&j.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// lines returns what was logged that contains some text.
func (j *journal) lines(text string) []string {
	var found []string
	for line := range strings.Lines(j.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

package status_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/status"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// A machine is a home with skills.
type machine struct {
	home string
	look status.Look
}

func newMachine(t *testing.T) *machine {
	m := &machine{home: t.TempDir()}
	for _, name := range []string{"REPERTOIRE_DB", "XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR"} {
		t.Setenv(name, "")
	}
	for name, folder := range map[string]string{"HOME": "", "USERPROFILE": "", "REPERTOIRE_CONFIG": "config.yaml", "REPERTOIRE_CACHE": "cache", "REPERTOIRE_STATE": "state", "REPERTOIRE_DATA": "data", "PATH": "bin"} {
		t.Setenv(name, filepath.Join(m.home, folder))
	}
	t.Chdir(m.home)
	m.look = status.Look{
		Open:     m.open,
		Mistakes: func(error) []skill.Problem { return nil },
		Building: func(string) bool { return false },
		Env:      &setup.Env{Machine: client.Machine{OS: runtime.GOOS, Home: m.home, Getenv: os.Getenv}, Program: filepath.Join(m.home, "skills")},
		State:    filepath.Join(m.home, "state"),
	}
	m.write(t, "config.yaml", "bundled: false\nembedder: none\n")
	m.write(t, ".claude/skills/cat/SKILL.md", "---\nname: cat\ndescription: Feeds the cat. Use it when the cat is hungry.\n---\nFeed it.\n")
	m.write(t, ".agents/skills/cat/SKILL.md", "---\nname: cat\ndescription: Combs the cat. Use it when the cat is wild.\n---\nComb it.\n")
	return m
}

// write writes a file whose time is past: nothing of it may change unseen.
func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	name = filepath.Join(m.home, name)
	must.Write(t, name, text)
	old := time.Now().Add(-time.Hour)
	for path := name; path != m.home; path = filepath.Dir(path) {
		must.Do(t, os.Chtimes(path, old, old))
	}
}

func (m *machine) open(ctx context.Context) (*repertoire.Catalog, *repertoire.Agent, error) {
	cfg, err := repertoire.ReadConfig(m.home, nil)
	if err != nil {
		return nil, nil, err
	}
	cfg.Schedule, cfg.Defer = repertoire.Never, true
	c, err := repertoire.Open(ctx, cfg)
	return c, nil, err
}

func (m *machine) index(t *testing.T) {
	t.Helper()
	c, _, err := m.open(t.Context())
	must.Do(t, err)
	defer c.Close()
	_, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
}

func (m *machine) gather(t *testing.T) *status.Status {
	t.Helper()
	s, err := status.Gather(t.Context(), m.look)
	must.Do(t, err)
	return s
}

// files returns the contents of all files of a machine.
func (m *machine) files(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	must.Do(t, filepath.WalkDir(m.home, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			files[name] = ""
			return err
		}
		text, err := os.ReadFile(name)
		files[name] = string(text)
		return err
	}))
	return files
}

// TestGather: the state of the catalog, and what follows from it, before and after an index;
// nothing is written for it.
func TestGather(t *testing.T) {
	m := newMachine(t)
	check := func(what, state, next string, skills, held int) *status.Status {
		t.Helper()
		before := m.files(t)
		s := m.gather(t)
		if s.Catalog.State != state || !strings.HasPrefix(s.Next.Command+" ", next+" ") || s.Skills != skills || s.Held != held {
			t.Errorf("%s: %s, next %q, %d skills, %d held back; want %s, %q, %d, %d", what, s.Catalog.State, s.Next.Command, s.Skills, s.Held, state, next, skills, held)
		}
		if diff := cmp.Diff(before, m.files(t)); diff != "" {
			t.Errorf("%s: files (-before +after)\n%s", what, diff)
		}
		return s
	}
	s := check("nothing is indexed", status.Missing, "setup", 2, 0)
	if len(s.Clients) != 1 || !cmp.Equal(s.Clients[0], status.Client{Client: "claude", Title: "Claude Code", Found: true}) || s.New() {
		t.Errorf("clients %+v, new %t", s.Clients, s.New())
	}
	m.write(t, ".claude.json", `{"mcpServers": {"skills": {"command": "`+filepath.ToSlash(m.home)+`/skills", "args": ["mcp"]}}}`)
	m.write(t, "skills", "")
	if s = check("a client is set up", status.Missing, "index", 2, 0); !s.Clients[0].SetUp() || s.Clients[0].Hook {
		t.Errorf("clients %+v", s.Clients)
	}
	m.index(t)
	if s = check("after an index", status.Current, "doctor", 1, 1); s.Verdict.Unseen != 1 || len(s.Sources) != 2 || s.Sources[0].Skills != 1 {
		t.Errorf("verdict %+v, sources %+v", s.Verdict, s.Sources)
	}
	m.look.Building = func(db string) bool { return strings.HasPrefix(db, m.home) }
	check("after an index, while another one runs", status.Current, "doctor", 1, 1)
	m.write(t, ".claude/skills/dog/SKILL.md", "---\nname: dog\ndescription: Walks the dog. Use it when the dog barks.\n---\nWalk it.\n")
	check("after a change, while another one runs", status.Building, "doctor", 1, 1)
	m.look.Building = func(string) bool { return false }
	check("after a change", status.Changed, "doctor", 1, 1)
	m.look.Most = 1
	if s = check("a large catalog", status.Changed, "try", 1, 1); !s.Unchecked || s.Verdict.Unseen != 0 {
		t.Errorf("unchecked: %t, verdict %+v", s.Unchecked, s.Verdict)
	}
}

// TestPaths: after commands have written, every file lies in a place that Paths names.
func TestPaths(t *testing.T) {
	m := newMachine(t)
	m.index(t)
	paths, err := status.Paths(m.home, new(config.Options))
	must.Do(t, err)
	for name := range m.files(t) {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		named := false
		for _, p := range paths {
			named = named || p.Exists && (name == p.Path || strings.HasPrefix(name, p.Path+string(filepath.Separator)))
		}
		if !named {
			t.Errorf("no path has %s", name)
		}
	}
}

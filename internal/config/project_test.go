package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// TestFindProjectFile: the configuration of a project is looked for exactly
// where source.Discover looks for its skills.
func TestFindProjectFile(t *testing.T) {
	tests := []struct {
		name string
		git  string // folder with a repository, "" for none
		file string // folder with a configuration and skills
		dir  string // where one works
		want bool
	}{
		{"at the root", "home/p", "home/p", "home/p", true},
		{"from below", "home/p", "home/p", "home/p/a/b", true},
		{"half way", "home/p", "home/p/a", "home/p/a/b", true},
		{"above the root", "home/p/a", "home/p", "home/p/a/b", false},
		{"beside", "home/p", "home/p/c", "home/p/a", false},
		{"outside of a repository", "", "home/p", "home/p", true},
		{"above, outside of a repository", "", "home/p", "home/p/a", false},
		{"home is no project", "", "home", "home", false},
		{"home with a repository", "home", "home", "home", false},
		{"below home with a repository", "home", "home", "home/p", false},
		{"below a repository above home", ".", ".", "home/p", false},
		{"not at home", "srv", "srv", "srv/a", true},
		{"through a link", "home/p", "home/p", "link", true},
		{"a link does not lead back", "srv", "srv", "srv/out", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			must.Do(t, err)
			at := func(path string) string { return filepath.Join(top, filepath.FromSlash(path)) }
			setHome(t, at("home"))
			for _, dir := range []string{"home/p/a/b", "srv/a", tt.file + "/.agents/skills"} {
				must.Do(t, os.MkdirAll(at(dir), 0o700))
			}
			if os.Symlink(at("home/p/a"), at("link")) != nil || os.Symlink(at("home/p/a"), at("srv/out")) != nil {
				t.Skip("no symbolic links here")
			}
			if tt.git != "" {
				must.Do(t, os.MkdirAll(at(tt.git+"/.git"), 0o700))
			}
			must.Write(t, at(tt.file+"/.agents/repertoire.yaml"), "roots: []\n")
			got, err := config.FindProjectFile(at(tt.dir))
			must.Do(t, err)
			want := ""
			if tt.want {
				want = at(tt.file + "/.agents/repertoire.yaml")
			}
			if got != want {
				t.Errorf("found %q, want %q", got, want)
			}
			if root := config.ProjectRoot(at(tt.dir)); (root == "") != strings.HasPrefix(tt.name, "home ") {
				t.Errorf("the root of the project is %q", root)
			}
			if found := discovered(t, at(tt.dir), at("home")); found != tt.want {
				t.Errorf("skills of the project discovered: %t, want %t", found, tt.want)
			}
		})
	}
}

// discovered reports whether Discover finds skills of a project.
func discovered(t *testing.T, dir, home string) bool {
	t.Helper()
	places, err := source.Discover(source.Search{WorkDir: dir, Home: home})
	must.Do(t, err)
	for _, p := range places {
		if p.Kind == source.KindProject {
			return true
		}
	}
	return false
}

func TestFindProjectFileOddly(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	setHome(t, t.TempDir())
	must.Write(t, filepath.Join(dir, ".agents"), "a file where a folder is usual")
	if got, err := config.FindProjectFile(dir); got != "" || err != nil {
		t.Errorf("found %q, error %v; want nothing", got, err)
	}
	if got, err := config.FindProjectFile(filepath.Join(dir, "gone")); got != "" || err != nil {
		t.Errorf("from a folder that does not exist: %q, error %v; want nothing", got, err)
	}
}

// TestScope: who works outside of the project does not see its skills.
func TestScope(t *testing.T) {
	project := machine(t)
	s := config.Default()
	sources, err := s.Sources(project, nil)
	must.Do(t, err)
	p := config.NewProject(filepath.Join(project, "sub"))
	a := &search.Agent{Name: "a", Exclude: search.Rules{Sources: []string{"x"}}}
	for _, dir := range []string{project, filepath.Join(project, "sub"), filepath.Join(project, "gone"), "", "relative"} {
		if p.Scope(dir, sources, a) != a || p.Scope(dir, sources, nil) != nil {
			t.Errorf("the scope in %q is another one", dir)
		}
	}
	outside := filepath.Dir(project)
	got := p.Scope(outside, sources, a)
	if !slices.Equal(got.Exclude.Sources, []string{"x", "project:.codex"}) || got.Name != "a" {
		t.Errorf("the scope of an agent outside is %+v", got)
	}
	if got := p.Scope(project+"-2", sources, nil); got == nil || !slices.Equal(got.Exclude.Sources, []string{"project:.codex"}) {
		t.Errorf("the scope outside is %+v", got)
	}
	if p.Scope(outside, nil, a) != a {
		t.Error("without skills of a project there is something to leave out")
	}
	if p.Scope(outside, sources, a) == a {
		t.Error("skills of a project that came later are not left out")
	}
}

// TestScopeElsewhere: a folder of another machine is not looked for, since Windows would log
// in there. Here //link is a link to the project.
func TestScopeElsewhere(t *testing.T) {
	project := machine(t)
	s := config.Default()
	sources, err := s.Sources(project, nil)
	must.Do(t, err)
	p := config.NewProject(project)
	link := filepath.Join(t.TempDir(), "link")
	if os.Symlink(project, link) != nil {
		t.Skip("no symbolic links here")
	}
	for dir, inside := range map[string]bool{link: true, "/" + project: true, "/" + link: false, `/\host\share`: false, "//host/share": false, "/??/UNC/host/share": false} {
		if got := p.Scope(dir, sources, nil) == nil; got != inside && (filepath.IsAbs(dir) || inside) {
			t.Errorf("in %q one sees the skills of the project: %t", dir, got)
		}
	}
}

// TestToken: a token comes from a file or the environment, and is refused if it
// can be guessed or cannot be sent.
func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	for _, tt := range []struct{ env, text, want, err string }{
		{"", "", "", ""},
		{"0123456789abcdef", "", "0123456789abcdef", ""},
		{"0123456789abcdef", "fedcba9876543210\n", "fedcba9876543210", ""},
		{"short", "", "", "the token in REPERTOIRE_TOKEN has 5 characters; take 16 or more"},
		{"", "\n", "", "has 0 characters"},
		{"two words of a token", "", "", "holds blanks"},
		{"", "0123456789abcdeé", "", "not ASCII"},
	} {
		t.Setenv("REPERTOIRE_TOKEN", tt.env)
		name := ""
		if tt.text != "" {
			name = file
			must.Write(t, file, tt.text)
		}
		got, err := config.Token(name)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("environment %q, file %q: %q, %v", tt.env, tt.text, got, err)
		}
	}
	if _, err := config.Token(file + "-gone"); err == nil || !strings.HasPrefix(err.Error(), "reading token: ") {
		t.Errorf("error %v", err)
	}
}

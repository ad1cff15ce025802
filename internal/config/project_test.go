package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/config"
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
			try(t, err)
			at := func(path string) string { return filepath.Join(top, filepath.FromSlash(path)) }
			setHome(t, at("home"))
			for _, dir := range []string{"home/p/a/b", "srv/a", tt.file + "/.agents/skills"} {
				try(t, os.MkdirAll(at(dir), 0o700))
			}
			if os.Symlink(at("home/p/a"), at("link")) != nil || os.Symlink(at("home/p/a"), at("srv/out")) != nil {
				t.Skip("no symbolic links here")
			}
			if tt.git != "" {
				try(t, os.MkdirAll(at(tt.git+"/.git"), 0o700))
			}
			write(t, at(tt.file+"/.agents/repertoire.yaml"), "roots: []\n")
			got, err := config.FindProjectFile(at(tt.dir))
			try(t, err)
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
	try(t, err)
	for _, p := range places {
		if p.Kind == source.KindProject {
			return true
		}
	}
	return false
}

func TestFindProjectFileOddly(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	try(t, err)
	setHome(t, t.TempDir())
	write(t, filepath.Join(dir, ".agents"), "a file where a folder is usual")
	if got, err := config.FindProjectFile(dir); got != "" || err != nil {
		t.Errorf("found %q, error %v; want nothing", got, err)
	}
	if got, err := config.FindProjectFile(filepath.Join(dir, "gone")); got != "" || err != nil {
		t.Errorf("from a folder that does not exist: %q, error %v; want nothing", got, err)
	}
}

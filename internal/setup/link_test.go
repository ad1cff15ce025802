package setup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// symlink makes a link in the test's folder; targets are relative to that folder.
func symlink(t *testing.T, e *Env, target, name string) {
	t.Helper()
	top := filepath.Dir(e.Home)
	link := filepath.Join(top, filepath.FromSlash(name))
	must.Do(t, os.MkdirAll(filepath.Dir(link), 0o700))
	if err := os.Symlink(filepath.Join(top, filepath.FromSlash(target)), link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// projectLinks are links in a project, each with its target, through which a client's
// file would be written, and the link that the message must name.
var projectLinks = []struct{ name, client, link, target string }{
	{"the user's file", "claude", "project/.mcp.json", "home/.claude.json"},
	{"a file in the project", "claude", "project/.mcp.json", "project/config/mcp.json"},
	{"nothing", "claude", "project/.mcp.json", "else/where/new.json"},
	{"the user's folder", "cursor", "project/.cursor", "home/.cursor"},
	{"no folder", "cursor", "project/.cursor", "else/where"},
	{"a file in a folder", "cursor", "project/.cursor/mcp.json", "home/.cursor/mcp.json"},
	{"hooks", "gemini", "project/.gemini/settings.json", "home/.gemini/settings.json"},
}

// TestProjectLinks: no file to which a link of a project leads is written, made or taken
// for a file of the project.
func TestProjectLinks(t *testing.T) {
	for _, test := range projectLinks {
		t.Run(test.name, func(t *testing.T) {
			e := testEnv(t)
			all := []client.Client{named(t, test.client)}
			write(t, e, "project/config/mcp.json", []byte("{}\n"))
			run(t, e, Request{Clients: all, Scope: client.User})
			symlink(t, e, test.target, test.link)
			before := files(t, e)
			for _, remove := range []bool{false, true} {
				p := run(t, e, Request{Clients: all, Scope: client.Project, Remove: remove})
				refused := false
				for _, c := range p.Changes {
					if !strings.HasPrefix(c.File, filepath.Join(filepath.Dir(e.Home), filepath.FromSlash(test.link))) {
						continue // another file of the client
					}
					refused = refused || c.Action == Refused
					if c.Action != Refused || c.Snippet != "" {
						t.Errorf("%+v", c)
					}
					for _, part := range []string{filepath.Base(test.link) + " is a link to ", filepath.FromSlash(test.target), "set up a file outside of the project"} {
						if !strings.Contains(c.Message, part) {
							t.Errorf("the message %q does not say %q", c.Message, part)
						}
					}
				}
				if !refused {
					t.Errorf("remove %t: nothing is refused: %+v", remove, p.Changes)
				}
			}
			if d := cmp.Diff(before, files(t, e)); d != "" {
				t.Errorf("files changed (-want +got):\n%s", d)
			}
			for _, st := range Scan(e) {
				for _, r := range st.Registrations {
					if r.Scope == client.Project {
						t.Errorf("%s is set up in the project: %+v", st.Client.Name, r)
					}
				}
				if st.Client.Name == test.client && (len(st.Problems) == 0 || strings.Count(st.Problems[0].Message, " is a link to ") != 1) {
					t.Errorf("the problems are %v", st.Problems)
				}
			}
		})
	}
}

// files returns all files below the test's folder, without the files of the state.
func files(t *testing.T, e *Env) map[string]string {
	t.Helper()
	found := make(map[string]string)
	top := filepath.Dir(e.Home)
	err := filepath.WalkDir(top, func(name string, d os.DirEntry, err error) error {
		if err == nil && name == e.State {
			return filepath.SkipDir
		}
		if err == nil && d.Type().IsRegular() {
			found[name] = must.Read(t, name)
		} else {
			found[name] = d.Type().String()
		}
		return err
	})
	must.Do(t, err)
	return found
}

// TestGenericLinks: the file that the user names is followed to wherever he links it
// himself, but not by a link in the project.
func TestGenericLinks(t *testing.T) {
	e := testEnv(t)
	write(t, e, "home/.claude.json", []byte("{}\n"))
	write(t, e, "dotfiles/mcp.json", []byte("{}\n"))
	symlink(t, e, "home/.claude.json", "project/mcp.json")
	symlink(t, e, "project", "way")
	symlink(t, e, "dotfiles/mcp.json", "home/mcp.json")
	symlink(t, e, "way/mcp.json", "home/there.json")
	top := filepath.Dir(e.Home)
	for name, want := range map[string]string{"project/mcp.json": Refused, "way/mcp.json": Refused, "home/there.json": Refused, "home/mcp.json": Added} {
		c := client.NewGeneric(filepath.Join(top, filepath.FromSlash(name)), "")
		p := run(t, e, Request{Clients: []client.Client{c}, Scope: client.User})
		if p.Changes[0].Action != want {
			t.Errorf("%s: %+v", name, p.Changes)
		}
	}
	if got := must.Read(t, filepath.Join(e.Home, ".claude.json")); got != "{}\n" {
		t.Errorf("the user's file is %q", got)
	}
	if got := must.Read(t, filepath.Join(top, "dotfiles", "mcp.json")); !strings.Contains(got, program) {
		t.Errorf("the linked file is %q", got)
	}
}

// TestLinkMeanwhile: a link that appears after the plan was shown is not followed.
func TestLinkMeanwhile(t *testing.T) {
	e := testEnv(t)
	p, err := NewPlan(e, Request{Clients: []client.Client{named(t, "cursor")}, MCP: true, Scope: client.Project})
	must.Do(t, err)
	symlink(t, e, "else", "project/.cursor")
	err = p.Apply(e)
	var linked *linkError
	if !errors.As(err, &linked) || p.Changes[0].Action != Refused {
		t.Errorf("%v, %+v", err, p.Changes)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(e.Home), "else")); err == nil {
		t.Error("the link was followed")
	}
}

// TestUserLinks: the user's files are linked as he likes, also into the project in which
// he keeps them and works.
func TestUserLinks(t *testing.T) {
	e := testEnv(t)
	write(t, e, "project/a/claude.json", []byte("{}\n"))
	symlink(t, e, "project/a", "project/b")
	symlink(t, e, "project/b/claude.json", "home/.claude.json")
	run(t, e, Request{Clients: []client.Client{named(t, "claude")}, MCP: true, Scope: client.User})
	if got := must.Read(t, filepath.Join(e.Project, "a", "claude.json")); !strings.Contains(got, program) {
		t.Errorf("the linked file is %q", got)
	}
}

// TestNamesInLinks: a client lists a skill that a link brings into its folder, and lists it once.
func TestNamesInLinks(t *testing.T) {
	e := testEnv(t)
	write(t, e, "home/.agents/skills/knit/SKILL.md", []byte("---\nname: knit\n---\n"))
	symlink(t, e, "home/.agents/skills/knit", "home/.claude/skills/knit")
	symlink(t, e, "home/.agents/skills/knit", "home/.claude/skills/again")
	var skills []Listed
	for _, folder := range []string{".agents/skills/knit", ".claude/skills/knit", ".claude/skills/again"} {
		skills = append(skills, Listed{Name: "knit", Location: filepath.Join(e.Home, filepath.FromSlash(folder), "SKILL.md")})
	}
	for _, name := range []string{"claude", "codex"} {
		names := NamesIn(e, named(t, name), client.User, skills)
		if diff := cmp.Diff(map[string]bool{"knit": false}, names); diff != "" { // its own name is that of its folder
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if names := NamesIn(e, named(t, "claude"), client.User, skills[:1]); len(names) > 0 {
		t.Error("a skill without a link counts as Claude Code's")
	}
}

package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestRemoveAll: everything that was ever written is taken back, wherever it is, and what
// others wrote stays.
func TestRemoveAll(t *testing.T) {
	e := testEnv(t)
	all := client.All()
	run(t, e, Request{Clients: all, Scope: client.User})
	run(t, e, Request{Clients: all, Scope: client.Project, Name: "mine"})
	other := filepath.Join(filepath.Dir(e.Project), "other")
	write(t, e, "other/.mcp.json", []byte("{\"mcpServers\": {\"theirs\": {\"command\": \"x\"}}}\n"))
	write(t, e, "app/servers.json", []byte("{\"a\": 1}\n"))
	here := e.Project
	e.Project = other
	run(t, e, Request{Clients: []client.Client{named(t, "claude"), named(t, "codex")}, Scope: client.Project})
	generic := client.NewGeneric(filepath.Join(filepath.Dir(here), "app", "servers.json"), "services")
	run(t, e, Request{Clients: []client.Client{generic}, Scope: client.User})
	e.Getenv = func(name string) string {
		return map[string]string{"CLAUDE_CONFIG_DIR": filepath.Join(e.Home, "elsewhere")}[name]
	}
	run(t, e, Request{Clients: []client.Client{named(t, "claude")}, Scope: client.User})
	e.Getenv, e.Project = func(string) string { return "" }, here

	plan, err := NewRemovalPlan(e)
	must.Do(t, err)
	for _, c := range plan.Changes {
		if c.Action != Removed {
			t.Errorf("%+v", c)
		}
	}
	must.Do(t, plan.Apply(e))
	dir := filepath.Dir(here)
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, name); err == nil && d.Type().IsRegular() && !strings.HasPrefix(rel, "state") && rel != "other/.mcp.json" && rel != "app/servers.json" {
			t.Errorf("left is %s: %s", rel, must.Read(t, name))
		}
		return err
	})
	must.Do(t, err)
	if got := must.Read(t, filepath.Join(other, ".mcp.json")); strings.Contains(got, "skills") || !strings.Contains(got, "theirs") {
		t.Errorf("the servers of others are %s", got)
	}
	if got := must.Read(t, generic.MCP.Files.User[0](&e.Machine)); got != "{\"a\": 1}\n" {
		t.Errorf("the settings of the unknown client are %s", got)
	}
	if plan, err = NewRemovalPlan(e); err != nil || len(plan.Changes) > 0 {
		t.Errorf("a second time: %+v, %v", plan.Changes, err)
	}
}

// TestRemoveAllLinked: a file that has become a link since is left alone.
func TestRemoveAllLinked(t *testing.T) {
	e := testEnv(t)
	run(t, e, Request{Clients: []client.Client{named(t, "cursor")}, Scope: client.Project})
	file := filepath.Join(e.Project, ".cursor", "mcp.json")
	target := filepath.Join(e.Home, "mcp.json")
	must.Do(t, os.Rename(file, target))
	if err := os.Symlink(target, file); err != nil {
		t.Skip(err)
	}
	before := must.Read(t, target)
	e.Project = "" // it is remembered
	plan, err := NewRemovalPlan(e)
	must.Do(t, err)
	must.Do(t, plan.Apply(e))
	if must.Read(t, target) != before {
		t.Errorf("what the link leads to has changed: %s", must.Read(t, target))
	}
	refused := 0
	for _, c := range plan.Changes {
		if c.Action == Refused {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("changes: %+v", plan.Changes)
	}
}

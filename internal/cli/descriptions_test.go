package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/setup"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestEveryClient walks the descriptions of clients: setup, the hook, discovery,
// the help and the list of clients know each of them from its description alone.
func TestEveryClient(t *testing.T) {
	testsize.Long(t)
	readme, err := os.ReadFile("../../README.md")
	must.Do(t, err)
	home := fixture(t)
	for _, c := range client.All() {
		if c.ProjectVar != "" {
			t.Setenv(c.ProjectVar, "")
		}
	}
	setupHelp, hookHelp, help := call(t, 0, "help", "setup"), call(t, 0, "help", "hook"), call(t, 0, "help", "folders")
	for mark, text := range map[string]string{"{clients}": setupHelp, "{events}": hookHelp, "{folders}": help} {
		if strings.Contains(text, mark) {
			t.Errorf("the help still has %s", mark)
		}
	}
	for line := range strings.Lines(foldersHelp() + "\n" + eventsHelp() + "\n" + clientsHelp() + "\n") {
		if len([]rune(line)) > 80+len("\n") {
			t.Errorf("the help has the long line %q", line)
		}
	}
	completed := call(t, 0, "__complete", "setup", "")
	listed := listedClients(t)
	for i, c := range client.All() {
		t.Run(c.Name, func(t *testing.T) {
			for where, text := range map[string]string{"the help": setupHelp, "the readme": string(readme)} {
				if !strings.Contains(text, c.Title) {
					t.Errorf("%s does not have %s", where, c.Title)
				}
			}
			if !strings.Contains(setupHelp, "  "+c.Name+" ") || !strings.Contains(completed, c.Name+"\n") {
				t.Error("setup does not offer it in its help and in completion")
			}
			if l := listed[i]; l.Client != c.Name || l.Title != c.Title || !l.MCP || l.Hook != (c.Hook != nil) {
				t.Errorf("setup --list has %+v", l)
			}
			checkSetUp(t, c)
			for _, folder := range c.Folders {
				if path.Base(folder) == "skill" { // is read itself
					continue
				}
				if !strings.Contains(strings.Join(strings.Fields(help), " "), folder+"/skills") {
					t.Errorf("the help does not have %s", folder)
				}
				name := c.Name + "-" + strings.Trim(folder, ".")
				must.Write(t, filepath.Join(home, folder, "skills", name, "SKILL.md"), "---\nname: "+name+"\ndescription: Something else.\n---\n")
				if !strings.Contains(call(t, 0, "list"), name) {
					t.Errorf("a skill in %s is not found", folder)
				}
			}
			m := client.Machine{OS: runtime.GOOS, Home: home, Getenv: func(string) string { return "" }}
			for i, dir := range m.SkillDirs(c, client.User) {
				name := fmt.Sprintf("%s-user-%d", c.Name, i)
				if rel, err := filepath.Rel(home, dir); err != nil || !filepath.IsLocal(rel) {
					continue // /etc is not ours
				}
				must.Write(t, filepath.Join(dir, name, "SKILL.md"), "---\nname: "+name+"\ndescription: Something else.\n---\n")
				if !strings.Contains(call(t, 0, "list"), name) {
					t.Errorf("a skill in %s is not found", dir)
				}
			}
			if c.Hook != nil {
				checkPromptHook(t, c, home, hookHelp)
			}
		})
	}
}

// listedClients returns what "setup --list" tells.
func listedClients(t *testing.T) []setupClient {
	t.Helper()
	var result setupResult
	must.Do(t, json.Unmarshal([]byte(call(t, 0, "setup", "--list", "--json")), &result))
	return result.Clients
}

// checkSetUp: a client gets what it has of a server and a hook, and setup finds
// that again.
func checkSetUp(t *testing.T, c client.Client) {
	call(t, 0, "setup", c.Name, "--program", "/opt/bin/skills", "--no-check")
	i := slices.IndexFunc(client.All(), func(o client.Client) bool { return o.Name == c.Name })
	var kinds []string
	for _, r := range listedClients(t)[i].Registrations {
		kinds = append(kinds, r.Kind)
	}
	if !slices.Contains(kinds, setup.MCP) || slices.Contains(kinds, setup.Hook) != (c.Hook != nil) {
		t.Errorf("set up are %q", kinds)
	}
	call(t, 0, "setup", c.Name, "--remove", "--program", "/opt/bin/skills", "--no-check")
	if left := listedClients(t)[i].Registrations; len(left) > 0 {
		t.Errorf("left is %+v", left)
	}
}

// checkPromptHook asks the hook of a client for context as the client does.
func checkPromptHook(t *testing.T, c client.Client, home, help string) {
	if !slices.Contains(client.HookArgs(), c.Hook.Arg) || !strings.Contains(help, "  "+c.Hook.Arg+" ") {
		t.Errorf("there is no hook %s", c.Hook.Arg)
	}
	kind := client.Prompt
	if c.Hook.Arg == client.SessionStart {
		kind = client.Start
	}
	ev, _ := c.Hook.Event(kind)
	if kind == client.Prompt && !strings.Contains(help, ev.Name) {
		t.Errorf("the help does not have %s", ev.Name)
	}
	event := map[string]string{"session_id": "of " + c.Name, "cwd": home, "prompt": "feed the cat"}
	if ev.Field != "" {
		event[ev.Field] = event["prompt"]
	} else {
		event["hook_event_name"] = ev.Name
	}
	data, err := json.Marshal(event)
	must.Do(t, err)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"hook", c.Hook.Arg, "--deadline", "20s"}, bytes.NewReader(data), &stdout, &stderr)
	if code != exitOK || stderr.Len() > 0 || !json.Valid(stdout.Bytes()) || kind == client.Prompt && !strings.Contains(stdout.String(), "cat") {
		t.Errorf("exit code %d, answer %q, errors %q", code, &stdout, &stderr)
	}
}

package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// team is a server for tests.
func team() Server { return Server{URL: "https://skills.example.com", TokenEnv: "SKILLS_TOKEN"} }

// TestRemoteFound: what setup has written for a server is found again, with the variable of
// its token, also when the server is not named any more.
func TestRemoteFound(t *testing.T) {
	e := testEnv(t)
	e.Server = team()
	run(t, e, Request{Clients: client.All(), MCP: true, Scope: client.User})
	e.Server = Server{}
	for _, st := range Scan(e) {
		var servers []Registration
		for _, r := range st.Registrations {
			if r.Kind == MCP {
				servers = append(servers, r)
			}
		}
		if st.Client.MCP.Plain {
			if len(servers) > 0 {
				t.Errorf("%s: %+v", st.Client.Name, servers)
			}
			continue
		}
		if len(servers) != 1 || servers[0].URL != "https://skills.example.com/mcp" || servers[0].TokenEnv != "SKILLS_TOKEN" || servers[0].Gone || e.MayRun(servers[0]) != nil {
			t.Errorf("%s: %+v", st.Client.Name, servers)
		}
		for _, r := range st.Registrations {
			if r.Host() != "skills.example.com" {
				t.Errorf("%s asks the host %q: %+v", st.Client.Name, r.Host(), r)
			}
		}
	}
}

// TestRemoteInstead: a server of this machine and one at a URL take the place of each other,
// and both are removed.
func TestRemoteInstead(t *testing.T) {
	e := testEnv(t)
	var all []client.Client
	for _, c := range client.All() {
		if !c.MCP.Plain {
			all = append(all, c)
		}
	}
	req := Request{Clients: all, Scope: client.User}
	before := tree(t, e)
	run(t, e, req)
	local := tree(t, e)
	e.Server = team()
	for _, c := range run(t, e, req).Changes {
		if c.Action != Updated {
			t.Errorf("%s %s: %s %s", c.Client, c.Kind, c.Action, c.Message)
		}
	}
	for name, text := range tree(t, e) {
		if strings.Contains(text, `"args"`) || strings.Contains(text, "\nargs =") || strings.Contains(text, "cmd: ") {
			t.Errorf("%s still runs a command: %s", name, text)
		}
	}
	e.Server = Server{}
	run(t, e, req)
	for name, text := range tree(t, e) {
		if text != local[name] {
			t.Errorf("%s: %s, want %s", name, text, local[name])
		}
	}
	e.Server = team()
	run(t, e, req)
	e.Server = Server{}
	req.Remove = true
	run(t, e, req)
	for name, text := range tree(t, e) {
		if was, ok := before[name]; !ok || was != text {
			t.Errorf("%s is left: %s", name, text)
		}
	}
}

// TestRemoteStranger: the settings of a project may name a server that only a stranger knows.
// It is not asked.
func TestRemoteStranger(t *testing.T) {
	e := testEnv(t)
	e.Server = team()
	claude, _ := client.Find("claude")
	run(t, e, Request{Clients: []client.Client{claude}, MCP: true, Scope: client.Project})
	registered := func() Registration {
		t.Helper()
		for _, r := range ScanOf(e, []client.Client{claude})[0].Registrations {
			if r.Kind == MCP && r.Scope == client.Project {
				return r
			}
		}
		t.Fatal("nothing is registered")
		return Registration{}
	}
	if err := e.MayRun(registered()); err != nil {
		t.Error(err)
	}
	file := filepath.Join(e.Project, ".mcp.json")
	data := must.Read(t, file)
	changed := strings.Replace(data, "SKILLS_TOKEN", "OTHER_SECRET", 1)
	must.Do(t, os.WriteFile(file, []byte(changed), 0o600))
	if err := e.MayRun(registered()); err == nil {
		t.Error("another secret would be sent")
	}
}

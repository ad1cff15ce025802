package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/status"
)

// crowded is a status with as much as there can be: all clients, nine sources, long texts.
func crowded() *status.Status {
	now := time.Now()
	s := &status.Status{Skills: 16201, Held: 3900, Usage: true, Waiting: 12,
		Catalog: status.Catalog{State: status.Current},
		Verdict: doctor.Verdict{Skills: 20101, Unseen: 3900, Confusing: 1255, Author: 544, Setup: 12, First: strings.Repeat("a client is broken ", 20)},
		Next:    status.Step{Command: "setup " + strings.Repeat("client ", 12), Why: "connects the rest of your clients"}}
	for i, c := range client.All() {
		s.Clients = append(s.Clients, status.Client{Client: c.Name, Title: c.Title, Found: true, MCP: i%2 == 0})
	}
	for i := range 9 {
		s.Sources = append(s.Sources, status.Source{Folder: fmt.Sprintf("/home/ann/%s/%d", strings.Repeat("a folder/", 12), i), Skills: 2000 + i})
	}
	for range 2 {
		s.Offers = append(s.Offers, status.Offer{Time: now.Add(-time.Hour), Client: "claude", Skills: strings.Fields(strings.Repeat("code-review ", 8))})
	}
	s.Prompts = &status.Prompts{All: 52, Skills: 17, Silent: map[string]int{"": 19, "reply": 6, "log": 5, "command": 3}, Late: 2}
	return s
}

// TestTilde: only a path that starts with the home is shortened.
func TestTilde(t *testing.T) {
	for text, want := range map[string]string{"/home/ann/a, \"/home/ann/b\"": "~/a, \"~/b\"", "/mnt/home/ann/a": "/mnt/home/ann/a", "/home/anna/a": "/home/anna/a", "": ""} {
		text, want = filepath.FromSlash(text), filepath.FromSlash(want)
		if got := tilde(filepath.FromSlash("/home/ann"), text); got != want || tilde("", text) != text {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestStatusScreen: however much there is to say, one screen of 24 lines and 80 columns shows
// it, and the last line has the next command.
func TestStatusScreen(t *testing.T) {
	broken := crowded()
	broken.Catalog = status.Catalog{State: status.Broken, Error: strings.Repeat("/home/ann/config.yaml:1: no such key; ", 20)}
	fresh := &status.Status{Clients: crowded().Clients, Skills: 4, Catalog: status.Catalog{State: status.Missing}, Sources: []status.Source{{Kind: "bundled", Skills: 4}}}
	for i := range fresh.Clients {
		fresh.Clients[i].MCP = false
	}
	for name, c := range map[string]struct {
		*status.Status
		want string
	}{
		"crowded": {crowded(), "Next      skills setup client"},
		"broken":  {broken, "Catalog   cannot be used: ~/config.yaml:1: "},
		"new":     {fresh, "Welcome. "},
	} {
		screen := statusScreen{c.Status, "skills", page{80, "/home/ann"}, time.Now()}.String()
		if n := strings.Count(screen, "\n"); n > 24 {
			t.Errorf("%s: %d lines\n%s", name, n, screen)
		}
		checkWidth(t, "the status "+name, screen)
		if !strings.Contains(screen, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, screen)
		}
	}
	screen := statusScreen{crowded(), "repertoire", page{80, "/home/ann"}, time.Now()}.String()
	for _, want := range []string{"16,201 skills offered, 3,900 not", " 4,015  in 2 more places", "1 hour ago, claude: code-review", "of 52 prompts 17 got skills, 14 wanted none, 19 found none, 2 too late", "Proposals 12 changes", "at least 1,799 skills with flaws (\"repertoire", "\nNext      repertoire "} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in\n%s", want, screen)
		}
	}
}

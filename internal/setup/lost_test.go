package setup

import (
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// TestForget: of two entries in one file, only the one that is gone is forgotten, also if the
// program has another name.
func TestForget(t *testing.T) {
	e := testEnv(t)
	e.Program = "/opt/bin/beta"
	write(t, e, "home/.gemini/settings.json", []byte("{}")) // so the client is installed
	gemini := []client.Client{named(t, "gemini")}
	run(t, e, Request{Clients: gemini, Scope: client.Project, Name: "ours", MCP: true})
	file := ScanOf(e, gemini)[0].Registrations[0].File
	without := []byte(must.Read(t, file))
	run(t, e, Request{Clients: gemini, Scope: client.Project, Name: "ours", Hook: true})
	write(t, e, "project/.gemini/settings.json", without)
	lost := ScanOf(e, gemini)[0].Lost
	if len(lost) != 1 || lost[0].Kind != Hook {
		t.Errorf("lost: %+v; want the hook", lost)
	}
	run(t, e, Request{Clients: gemini, Scope: client.Project, Name: "ours", Hook: true, Remove: true})
	if lost := ScanOf(e, gemini)[0].Lost; len(lost) != 0 {
		t.Errorf("lost: %+v; want nothing", lost)
	}
	rec, err := readRecord(e.State)
	must.Do(t, err)
	if got, want := rec.Files[regular.Real(file)].Commands, []string{"/opt/bin/beta mcp"}; !slices.Equal(got, want) {
		t.Errorf("the record has %q; want %q", got, want)
	}
}

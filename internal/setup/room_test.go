package setup

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestRoom: a client without room for its skills is reported with what it leaves out, as far
// as that can be known.
func TestRoom(t *testing.T) {
	const all = 120 // each takes 5 + 9 characters, and 86 for its description
	var skills []Listed
	e, length := testEnv(t), 86
	in := func(folder string) {
		skills = nil
		for i := range all {
			name := fmt.Sprintf("skill-%03d", i)
			skills = append(skills, Listed{Name: name, Description: strings.Repeat("ü", length), Location: filepath.Join(e.Home, folder, "skills", name, "SKILL.md")})
		}
	}
	used := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"Skill-%03d": {"usageCount": 2, "lastUsedAt": 1}`, i))
		}
		return `{"skillUsage": {"other": {"usageCount": 0}` + strings.Join(append([]string{""}, list...), ", ") + "}}"
	}
	for _, c := range []struct{ client, folder, record, budget, want string }{
		{"claude", ".claude", "", "", "Claude Code drops about 47 of the 120 descriptions of your skills. With a model of 200,000 tokens it has room for 8,000 of their 12,000 characters, and drops what it invoked least; it has invoked none yet, so those of skill-000, skill-001, skill-002 and 117 more may go."},
		{"claude", ".claude", used(2), "", "Claude Code drops about 47 of the 120 descriptions of your skills. With a model of 200,000 tokens it has room for 8,000 of their 12,000 characters, and drops what it invoked least: it keeps those of skill-000, skill-001; those of skill-002, skill-003, skill-004 and 115 more may go."},
		{"claude", ".claude", used(100), "", "Claude Code drops about 47 of the 120 descriptions of your skills. With a model of 200,000 tokens it has room for 8,000 of their 12,000 characters, and drops what it invoked least: those of skill-100, skill-101, skill-102 and 17 more, which it never invoked."},
		{"claude", ".claude", used(120), "", "Claude Code drops about 47 of the 120 descriptions of your skills. With a model of 200,000 tokens it has room for 8,000 of their 12,000 characters, and drops what it invoked least."},
		{"claude", ".claude", used(73), "", "Claude Code drops 47 of the 120 descriptions of your skills. With a model of 200,000 tokens it has room for 8,000 of their 12,000 characters, and drops what it invoked least: those of skill-073, skill-074, skill-075 and 44 more, which it never invoked."},
		{"claude", ".claude", used(73), "1000", "Claude Code drops all 120 descriptions of your skills. It has room for 1,000 of their 12,000 characters, and drops what it invoked least; the names alone take 1,680."},
		{"claude", ".claude", "{", "12000", ""},
	} {
		in(c.folder)
		write(t, e, "home/.claude.json", []byte(c.record))
		e.Getenv = func(key string) string {
			return map[string]string{"SLASH_COMMAND_TOOL_CHAR_BUDGET": c.budget}[key]
		}
		got := e.checkListing(Status{Client: named(t, c.client)}, skills)
		var want []skill.Problem
		if c.want != "" { // the folder is the one that has them, though the client reads others too
			want = []skill.Problem{{Rule: "client-budget", Severity: skill.Warning, Path: filepath.Join(e.Home, c.folder, "skills"),
				Message: c.want, Hint: fmt.Sprintf("%q has the catalog offer what fits each prompt", "skills setup "+c.client)}}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s, record %.40s, room %q:\n got %+v\nwant %+v", c.client, c.record, c.budget, got, want)
		}
	}
	var statuses []Status
	for _, name := range []string{"claude", "gemini", "copilot", "cursor", "windsurf", "amp"} {
		statuses = append(statuses, Status{Client: named(t, name), Installed: name != "windsurf"})
	}
	if got := e.checkUnbounded(statuses, skills); got != nil {
		t.Errorf("of clients with a known bound, or without skills: %+v", got)
	}
	var many []Listed
	for _, folder := range []string{".gemini", ".copilot", ".cursor", ".codeium/windsurf", ".config/amp"} {
		in(folder)
		many = append(many, skills...)
	}
	known := "Clients list the skills in their own folders: Gemini CLI lists 120 skills in full, about 28,080 characters in each request; " +
		"Copilot CLI lists the names of 120 skills and describes some of them; it is not known how Cursor, Amp list theirs."
	if got := e.checkUnbounded(statuses, many); len(got) != 1 || got[0].Message != known || got[0].Path != filepath.Join(e.Home, ".gemini", "skills") {
		t.Errorf("got %+v", got)
	}
	length = 186
	in(".codex")
	want := "Codex cuts all 120 descriptions of your skills to about 130 characters. With a model of 272,000 tokens it has room for 21,760 of their 28,440 characters, and cuts all descriptions alike. The longest are skill-000 (237), skill-001 (237), skill-002 (237)."
	if got := e.checkListing(Status{Client: named(t, "codex")}, skills); len(got) != 1 || got[0].Message != want {
		t.Errorf("got %+v\nwant %s", got, want)
	}
	length = 86
	// A hook offers what is left out. Names alone help if they fit, until all are listed so.
	const still = " The hook offers what fits each prompt all the same."
	names := `"skills setup claude --listing name-only" has it list names only; the catalog offers the rest`
	in(".claude")
	var byName []string
	for _, s := range skills {
		byName = append(byName, fmt.Sprintf("%q: %q", s.Name, "name-only"))
	}
	skills = append(skills, Listed{Name: "mine", Description: strings.Repeat("x", 7000), Location: filepath.Join(e.Project, ".claude", "skills", "mine", "SKILL.md")})
	hooked := Status{Client: named(t, "claude"), Registrations: []Registration{{Kind: Hook, Scope: client.User}}}
	for _, c := range []struct{ budget, settings, hint string }{
		{"8000", "{}", names},
		{"1000", "{}", ""},
		{"2000", `{"skillOverrides": {` + strings.Join(byName, ", ") + "}}", ""},
	} {
		write(t, e, "home/.claude/settings.json", []byte(c.settings))
		e.Getenv = func(key string) string {
			return map[string]string{"SLASH_COMMAND_TOOL_CHAR_BUDGET": c.budget}[key]
		}
		got := e.checkListing(hooked, skills)
		if len(got) != 1 || got[0].Hint != c.hint || strings.HasSuffix(got[0].Message, still) != (c.hint == "") || (got[0].Severity == skill.Note) != (c.hint == "") {
			t.Errorf("with a hook and room for %s: %+v", c.budget, got)
		}
	}
	// A few long descriptions are cut, and the others stay; or names alone are too long.
	l := client.Listing{Chars: 100, Overhead: 5}
	long := []Listed{{Name: "a", Description: strings.Repeat("x", 300)}, {Name: "b", Description: "short"}, {Name: "c", Description: strings.Repeat("x", 200)}}
	if got, want := shortened("Codex", "Room", l, long), "Codex cuts 2 of the 3 descriptions of your skills to about 38 characters. Room, and cuts all descriptions alike."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l.Chars = 12
	if got, want := shortened("Codex", "Room", l, long), "Codex drops all 3 descriptions of your skills and leaves out about 1 of the skills. Room."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

package contextprovider

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
)

func TestFill(t *testing.T) {
	t.Parallel()
	plugin := t.TempDir()
	must.Files(t, plugin, map[string]string{".claude-plugin/plugin.json": `{"name": "p"}`, "skills/kiln/SKILL.md": ""})
	folder := filepath.Join(plugin, "skills", "kiln")
	const text = "a ${CLAUDE_SKILL_DIR}/x {baseDir}/y ${CLAUDE_PLUGIN_ROOT}/z ${OTHER} {b}"
	for _, tt := range []struct{ source, folder, want string }{
		{"plugin:p", folder, "a " + folder + "/x " + folder + "/y " + plugin + "/z ${OTHER} {b}"},
		{"user:.claude", folder, "a " + folder + "/x " + folder + "/y ${CLAUDE_PLUGIN_ROOT}/z ${OTHER} {b}"},
		{"shared", "shared:kiln", text}, // nobody can open it
	} {
		b := Body{Source: tt.source, Folder: tt.folder, Text: text}
		if b.Fill(); b.Text != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.source, b.Text, tt.want)
		}
	}
	for name, want := range map[string]string{
		"x/y": "x/y", folder + "/x": "x", "${CLAUDE_SKILL_DIR}/x": "x", "{baseDir}/x/y": "x/y", "${CLAUDE_PLUGIN_ROOT}/skills/kiln/x": "x",
		plugin + "/x": filepath.ToSlash(plugin) + "/x", "${CLAUDE_PLUGIN_ROOT}/x": filepath.ToSlash(plugin) + "/x", folder + "x/y": filepath.ToSlash(folder) + "x/y",
	} {
		if got := relativeTo("plugin:p", folder, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// TestOwn: a block names the means of the client for skills that it has, and ours for the others.
func TestOwn(t *testing.T) {
	t.Parallel()
	hits := func(names ...string) (list []search.Hit) {
		for _, name := range names {
			e := search.Entry{}
			e.Name, e.Location = name, "/skills/"+name+"/SKILL.md"
			list = append(list, search.Hit{Entry: e})
		}
		return list
	}
	name := func(e *search.Entry) string {
		if strings.HasPrefix(e.Name, "mine") {
			return e.Name
		}
		return ""
	}
	tool, mark := &Own{Tool: "Skill", Name: name}, &Own{Mark: "$", Name: name}
	for _, tt := range []struct {
		own  *Own
		one  string
		list []search.Hit
		want string
	}{
		{tool, "mine", hits("mine"), "Your tool `Skill` loads it, called with the name mine."},
		{tool, "", hits("mine", "mine2"), "Your tool `Skill` loads each of these by its name: mine, mine2."},
		{tool, "", hits("mine", "other"), "Your tool `Skill` loads each of these by its name: mine. The tool `read_skill` of the MCP server s returns the instructions of each of the others by its name."},
		{tool, "other", hits("other"), "The tool `read_skill` of the MCP server s returns its instructions, called with the name other."},
		{mark, "mine", hits("mine"), "It is a skill of your own, $mine: use it as such."},
		{mark, "", hits("mine", "mine2"), "These are skills of your own, to be used as such: $mine, $mine2."},
		{nil, "mine", hits("mine"), "The tool `read_skill` of the MCP server s returns its instructions, called with the name mine."},
	} {
		if got := (Budget{Server: "s", Own: tt.own}).Load(tt.one, tt.list); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

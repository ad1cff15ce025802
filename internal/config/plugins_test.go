package config_test

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// cached is where Claude Code keeps the version of a plugin of a marketplace.
func cached(plugin, version string) string {
	return ".claude/plugins/cache/market/" + plugin + "/" + version
}

// pluginHome makes a home in which Claude Code has installed plugins with one skill each. The
// name of a skill says which version of which plugin it belongs to.
func pluginHome(t *testing.T, more map[string]string) (home, project string) {
	t.Helper()
	files := map[string]string{
		".claude/settings.json": `{"model": "x", "enabledPlugins": {"alpha@market": true, "beta@market": false, "listed@market": ["^1"]}}`,
	}
	for _, at := range []string{"alpha/1.0", "alpha/2.0", "beta/1.0", "gamma/1.0", "listed/1.0", "old/1.0", "mine/1.0", "mine/3.0", "theirs/1.0"} {
		name, version, _ := strings.Cut(at, "/")
		files[cached(name, version)+"/skills/"+name+version[:1]+"/SKILL.md"] = aSkill(name + version[:1])
		files[cached(name, version)+"/commands/x.md"] = "Do x."
	}
	maps.Copy(files, more)
	home, project = homeWith(t, files)
	type entry map[string]string
	at := func(name, version string) entry {
		return entry{"scope": "user", "installPath": filepath.Join(home, filepath.FromSlash(cached(name, version))), "version": version}
	}
	in := func(e entry, folder string) entry {
		e["scope"], e["projectPath"] = "project", folder
		return e
	}
	record := map[string]any{"version": 2, "plugins": map[string]any{
		"alpha@market": []entry{at("alpha", "2.0")}, "beta@market": []entry{at("beta", "1.0")}, "gamma@market": []entry{at("gamma", "1.0")},
		"listed@market": []entry{at("listed", "1.0")}, "old@market": at("old", "1.0"),
		"mine@market": []entry{in(at("mine", "3.0"), project), at("mine", "1.0")}, "theirs@market": []entry{in(at("theirs", "1.0"), home)},
	}}
	data, err := json.Marshal(record)
	must.Do(t, err)
	must.Write(t, filepath.Join(home, ".claude/plugins/installed_plugins.json"), string(data))
	return home, project
}

// TestPlugins: the skills of the plugins that are switched on are found, in the version that is
// installed, and no other.
func TestPlugins(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"those of the user", nil, []string{"plugin:alpha alpha2", "plugin:listed listed1"}},
		{"one that the project switches on, one that it switches off", map[string]string{
			"src/p/.claude/settings.json": `{"enabledPlugins": {"beta@market": true, "alpha@market": false, "none@market": true}}`,
		}, []string{"plugin:beta beta1", "plugin:listed listed1"}},
		{"local settings win, and may have comments", map[string]string{
			"src/p/.claude/settings.json":       `{"enabledPlugins": {"beta@market": true, "alpha@market": false}}`,
			"src/p/.claude/settings.local.json": "{\n// mine\n\"enabledPlugins\": {\"beta@market\": false, \"alpha@market\": true,},\n}",
		}, []string{"plugin:alpha alpha2", "plugin:listed listed1"}},
		{"the project's version, and one that another folder has", map[string]string{
			".claude/settings.json": `{"enabledPlugins": {"mine@market": true, "theirs@market": true, "old@market": true}}`,
		}, []string{"plugin:mine mine3", "plugin:old old1"}},
		{"skills elsewhere in the plugin", map[string]string{
			cached("alpha", "2.0") + "/.claude-plugin/plugin.json":  `{"name": "first", "skills": ["./extra/one", "./more/", "./skills/alpha2"]}`,
			cached("alpha", "2.0") + "/extra/one/SKILL.md":          aSkill("one"),
			cached("alpha", "2.0") + "/extra/two/SKILL.md":          aSkill("two"),
			cached("alpha", "2.0") + "/more/deep/three/SKILL.md":    aSkill("three"),
			cached("listed", "1.0") + "/.claude-plugin/plugin.json": `{"name": "listed", "skills": "./extra"}`,
			cached("listed", "1.0") + "/extra/four/SKILL.md":        aSkill("four"),
		}, []string{"plugin:first alpha2", "plugin:first one", "plugin:first three", "plugin:listed four", "plugin:listed listed1"}},
		{"one that is switched on and not installed", map[string]string{
			".claude/settings.json":            `{"enabledPlugins": {"alone@market": true}}`,
			cached("alone", "1") + "/SKILL.md": aSkill("alone"),
		}, nil},
		{"a marketplace describes it", map[string]string{
			cached("listed", "1.0") + "/.claude-plugin/marketplace.json": `{"plugins": [{"name": "other", "skills": ["./skills/x"]}, {"name": "listed", "strict": false, "skills": ["./skills/only"]}]}`,
			cached("listed", "1.0") + "/skills/only/SKILL.md":            aSkill("only"),
		}, []string{"plugin:alpha alpha2", "plugin:listed only"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, project := pluginHome(t, tt.files)
			_, found, warned := skills(t, project)
			if diff := cmp.Diff(tt.want, found); diff != "" || len(warned) > 0 {
				t.Errorf("skills (-want +got):\n%s\nwarnings %v", diff, warned)
			}
		})
	}
}

// TestPluginsBad: what is wrong with one plugin or file is said, and the others are there.
func TestPluginsBad(t *testing.T) {
	home, project := pluginHome(t, map[string]string{
		".claude/settings.json":                                 `{"enabledPlugins": {"alpha@market": true, "beta@market": true, "gamma@market": true, "listed@market": true}}`,
		"src/p/.claude/settings.json":                           `{"enabledPlugins": `,
		cached("beta", "1.0") + "/.claude-plugin/plugin.json":   `[]`,
		cached("gamma", "1.0") + "/.claude-plugin/plugin.json":  `{"name": "ga mma"}`,
		cached("listed", "1.0") + "/.claude-plugin/plugin.json": `{"name": "listed", "skills": ["../../alpha/1.0/skills", "/etc", "notes.md", "./gone", "./one/SKILL.md"]}`,
		cached("listed", "1.0") + "/notes.md":                   "",
		cached("listed", "1.0") + "/one/SKILL.md":               aSkill("one"),
		cached("alpha", "2.0") + "/skills/out":                  "-> ../../../../../../../private",
		"private/SKILL.md":                                      aSkill("private"),
	})
	_, found, warned := skills(t, project)
	if diff := cmp.Diff([]string{"plugin:alpha alpha2", "plugin:listed listed1", "plugin:listed one"}, found); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	var text strings.Builder
	for _, err := range warned {
		if place, ok := errors.AsType[*source.PlaceError](err); !ok || !place.LeftOut || !strings.HasPrefix(place.Path, home) {
			t.Errorf("%v is about no place that is left out", err)
		}
		text.WriteString(strings.ReplaceAll(err.Error(), home, "HOME") + "\n")
	}
	for _, want := range []string{"reading HOME/src/p/.claude/settings.json: ", "; which plugins it switches on or off is ignored", "/beta/1.0/.claude-plugin/plugin.json: ", `its name "ga mma" has more than letters`,
		`the path of skills "../../alpha/1.0/skills" leads out of the plugin`, `the path of skills "/etc" leads out of the plugin`,
		`names the file "notes.md" as skills`, `names "./gone" as skills, which is not there`} {
		if !strings.Contains(text.String(), filepath.FromSlash(want)) {
			t.Errorf("no warning has %q:\n%s", want, text.String())
		}
	}
}

// TestPluginFolders: the plugins that Copilot lists, the newest versions of those that Codex
// keeps, and those in folders that clients share.
func TestPluginFolders(t *testing.T) {
	home, project := homeWith(t, map[string]string{
		".agents/plugins/one/plugin.json":                     `{"name": "uno"}`,
		".agents/plugins/one/skills/a/SKILL.md":               aSkill("a"),
		".agents/plugins/marketplace.json":                    `{}`,
		".agent/plugins/two/.claude-plugin/plugin.json":       `{"name": "two", "skills": "./"}`,
		".agent/plugins/two/b/SKILL.md":                       aSkill("b"),
		".agent/plugins/none/commands/c.md":                   "Do c.",
		".agent/plugins/three/SKILL.md":                       aSkill("three"),
		".copilot/installed-plugins/m/on/plugin.json":         `{"name": "on", "skills": ["skills/", "more/"]}`,
		".copilot/installed-plugins/m/on/skills/d/SKILL.md":   aSkill("d"),
		".copilot/installed-plugins/m/on/more/e/SKILL.md":     aSkill("e"),
		".copilot/installed-plugins/m/off/skills/f/SKILL.md":  aSkill("f"),
		".copilot/installed-plugins/m/gone/skills/g/SKILL.md": aSkill("g"),
	})
	for name, version := range map[string]string{"one": "0.10.1", "two": "local"} {
		for _, v := range []string{"0.9.2", "0.10.0", version} {
			must.Write(t, filepath.Join(home, ".codex/plugins/cache/shop", name, v, "skills/v/SKILL.md"), aSkill("c-"+name+"-"+strings.ReplaceAll(v, ".", "-")))
		}
	}
	must.Write(t, filepath.Join(home, ".codex/plugins/cache/shop/off/1/skills/h/SKILL.md"), aSkill("h"))
	must.Write(t, filepath.Join(home, ".codex/plugins/cache/shop/unknown/1/skills/i/SKILL.md"), aSkill("i"))
	must.Write(t, filepath.Join(home, ".codex/config.toml"), "model = \"m\"\n[plugins.\"one@shop\"]\nenabled = true\n[plugins.\"two@shop\"]\n[plugins.\"off@shop\"]\nenabled = false\n"+
		"[plugins.\"gone@shop\"]\nenabled = true\n[plugins.\"x@../../..\"]\nenabled = true\n")
	at := func(name string) string {
		data, err := json.Marshal(filepath.Join(home, ".copilot", "installed-plugins", "m", name))
		must.Do(t, err)
		return string(data)
	}
	must.Write(t, filepath.Join(home, ".copilot", "config.json"), "// kept by Copilot\n"+
		`{"installed_plugins": [{"name": "on", "marketplace": "m", "enabled": true, "cache_path": `+at("on")+`}, {"name": "off", "enabled": false, "cache_path": `+at("off")+`}]}`)
	_, found, warned := skills(t, project)
	want := []string{"plugin:on d", "plugin:on e", "plugin:one c-one-0-10-1", "plugin:three three", "plugin:two c-two-local", "plugin:two@folder b", "plugin:uno a"}
	if diff := cmp.Diff(want, found); diff != "" || len(warned) > 0 {
		t.Errorf("skills (-want +got):\n%s\nwarnings %v", diff, warned)
	}
}

// TestPluginsSwitched: a plugin whose settings change has another set of folders, as follow
// needs it; "user: false" looks at no plugin.
func TestPluginsSwitched(t *testing.T) {
	home, project := pluginHome(t, nil)
	settings := filepath.Join(home, ".claude", "settings.json")
	must.Write(t, settings, `{}`)
	if _, found, _ := skills(t, project); len(found) > 0 {
		t.Errorf("switched off, and found: %q", found)
	}
	must.Write(t, settings, `{"enabledPlugins": {"alpha@market": true}}`)
	if _, found, _ := skills(t, project); len(found) != 1 {
		t.Errorf("switched on, and found: %q", found)
	}
	must.Write(t, filepath.Join(home, "own.yaml"), "bundled: false\nuser: false\n")
	if _, found, _ := skills(t, project); len(found) > 0 {
		t.Errorf("without folders of the user: %q", found)
	}
}

// TestExtensions: the skills of extensions of Gemini CLI and Qwen Code that are installed and not
// switched off where one works.
func TestExtensions(t *testing.T) {
	home, project := homeWith(t, map[string]string{
		".gemini/extensions/plain/gemini-extension.json":          `{"name": "plain", "version": "1"}`,
		".gemini/extensions/plain/skills/a/SKILL.md":              aSkill("a"),
		".gemini/extensions/off/gemini-extension.json":            `{"name": "off"}`,
		".gemini/extensions/off/skills/b/SKILL.md":                aSkill("b"),
		".gemini/extensions/here/gemini-extension.json":           `{"name": "here"}`,
		".gemini/extensions/here/skills/c/SKILL.md":               aSkill("c"),
		".gemini/extensions/there/gemini-extension.json":          `{"name": "there"}`,
		".gemini/extensions/there/skills/d/SKILL.md":              aSkill("d"),
		".gemini/extensions/old/gemini-extension.json":            `{"name": "old"}`,
		".gemini/extensions/old/skills/e/SKILL.md":                aSkill("e"),
		".gemini/extensions/no/skills/f/SKILL.md":                 aSkill("f"), // without a manifest it is none
		".gemini/extensions/dev/.gemini-extension-install.json":   `{"type": "link", "source": "HOME/dev"}`,
		"dev/gemini-extension.json":                               `{"name": "dev"}`,
		"dev/skills/g/SKILL.md":                                   aSkill("g"),
		".gemini/settings.json":                                   "{// mine\n\"extensions\": {\"disabled\": [\"old\"]}}",
		".gemini/extensions/extension-enablement.json":            `{"off": {"overrides": ["!/*"]}, "here": {"overrides": ["!/*", "HOME/src/p/*"]}, "there": {"overrides": ["!HOME/src/p/sub/"]}}`,
		".qwen/extensions/q/qwen-extension.json":                  `{"name": "q", "skills": ["more"]}`,
		".qwen/extensions/q/skills/h/SKILL.md":                    aSkill("h"),
		".qwen/extensions/q/more/i/SKILL.md":                      aSkill("i"),
		"src/p/.gemini/extensions/stranger/gemini-extension.json": `{"name": "stranger"}`,
		"src/p/.gemini/extensions/stranger/skills/x/SKILL.md":     aSkill("x"),
		"src/p/sub/f": "",
	})
	for _, name := range []string{".gemini/extensions/extension-enablement.json", ".gemini/extensions/dev/.gemini-extension-install.json"} {
		must.Write(t, filepath.Join(home, name), strings.ReplaceAll(must.Read(t, filepath.Join(home, name)), "HOME", filepath.ToSlash(home)))
	}
	for dir, want := range map[string][]string{
		project:                        {"plugin:dev g", "plugin:here c", "plugin:plain a", "plugin:q h", "plugin:q i", "plugin:there d"},
		filepath.Join(project, "sub"):  {"plugin:dev g", "plugin:here c", "plugin:plain a", "plugin:q h", "plugin:q i"},
		filepath.Join(home, "dev"):     {"plugin:dev g", "plugin:plain a", "plugin:q h", "plugin:q i", "plugin:there d"},
		filepath.Join(home, "nowhere"): {"plugin:dev g", "plugin:plain a", "plugin:q h", "plugin:q i", "plugin:there d"},
	} {
		_, found, warned := skills(t, dir)
		if diff := cmp.Diff(want, found); diff != "" || len(warned) > 0 {
			t.Errorf("in %s: skills (-want +got):\n%s\nwarnings %v", dir, diff, warned)
		}
	}
}

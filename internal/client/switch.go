package client

import "slices"

// A Switch is a setting with which a user, or whoever manages the machine, keeps a client from
// running hooks.
type Switch struct {
	Files  []Path // that may have it; of several that do, the last counts
	Format Format
	Key    []string
	Off    any // true or false: the value with which no hook runs; a text: no hook runs if it is in the list
}

// layers are the files with the settings of a client. Of several that set one thing, the last one
// holds: files of the machine and the user, files in a folder of the project, and files of whoever
// manages the machine.
type layers struct {
	user    []Path
	project []string
	managed []Path
}

// all returns the files for work in the top folder of the project.
func (l layers) all() []Path {
	list := slices.Clone(l.user)
	for _, name := range l.project {
		list = append(list, project(name))
	}
	return append(list, l.managed...)
}

// managed returns a folder or a file of the machine, which belongs to whoever manages it.
func managed(windows, darwin, other string) Path {
	return on("windows", fixed(windows), on("darwin", fixed(darwin), fixed(other)))
}

// claudeSwitches are Claude Code's. Only whoever manages the machine can allow some hooks only.
func claudeSwitches(in layers) []Switch {
	return []Switch{
		{Files: in.all(), Key: []string{"disableAllHooks"}, Off: true},
		{Files: in.managed, Key: []string{"allowManagedHooksOnly"}, Off: true},
		{Files: in.managed, Key: []string{"strictPluginOnlyCustomization"}, Off: true},
		{Files: in.managed, Key: []string{"strictPluginOnlyCustomization"}, Off: "hooks"},
	}
}

// codexSwitches are Codex's. codex_hooks is the older name.
func codexSwitches(in layers) []Switch {
	rules := paths(on("windows", none, fixed("/etc/codex/requirements.toml")))
	all := append(in.all(), rules...)
	return []Switch{
		{Files: all, Format: TOML, Key: []string{"features", "hooks"}, Off: false},
		{Files: all, Format: TOML, Key: []string{"features", "codex_hooks"}, Off: false},
		{Files: rules, Format: TOML, Key: []string{"allow_managed_hooks_only"}, Off: true},
	}
}

// geminiLayers are the settings of Gemini CLI, and of programs that come from it. Whoever manages
// the machine has files in a folder, which variables that begin with prefix move.
func geminiLayers(user, own Path, inProject, prefix string) layers {
	rules := variable(prefix+"_SYSTEM_SETTINGS_PATH", own.below("settings.json"))
	return layers{paths(variable(prefix+"_SYSTEM_DEFAULTS_PATH", rules.beside("system-defaults.json")), user), []string{inProject}, paths(rules)}
}

// geminiSwitches are the switches of Gemini CLI, and of Qwen Code, which comes from it. hook is the
// name of our hooks.
func geminiSwitches(all []Path, hook string) []Switch {
	return []Switch{
		{Files: all, Key: []string{"hooksConfig", "enabled"}, Off: false},
		{Files: all, Key: []string{"hooksConfig", "disabled"}, Off: hook},
		{Files: all, Key: []string{"tools", "enableHooks"}, Off: false},
		{Files: all, Key: []string{"disableAllHooks"}, Off: true},
	}
}

// copilotSwitches are the switches of Copilot CLI, in its settings and in the file with the hooks.
func copilotSwitches(dir Path) []Switch {
	return []Switch{{Files: paths(dir.below("config.json"), dir.below("settings.json"), project(".github/copilot/settings.json"), project(".github/copilot/settings.local.json"),
		dir.below("hooks/skills.json"), project(".github/hooks/skills.json")), Key: []string{"disableAllHooks"}, Off: true}}
}

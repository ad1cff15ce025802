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

// managed returns a folder or a file of the machine, which belongs to whoever manages it.
func managed(windows, darwin, other string) Path {
	return on("windows", fixed(windows), on("darwin", fixed(darwin), fixed(other)))
}

// claudeManaged is the folder of Claude Code for whoever manages the machine.
func claudeManaged() Path {
	return managed(`C:\Program Files\ClaudeCode`, "/Library/Application Support/ClaudeCode", "/etc/claude-code")
}

// claudeSwitches are Claude Code's. Only whoever manages the machine can allow some hooks only.
func claudeSwitches(own []Path) []Switch {
	rules := paths(claudeManaged().below("managed-settings.json"))
	return []Switch{
		{Files: slices.Concat(own, rules), Key: []string{"disableAllHooks"}, Off: true},
		{Files: rules, Key: []string{"allowManagedHooksOnly"}, Off: true},
		{Files: rules, Key: []string{"strictPluginOnlyCustomization"}, Off: true},
		{Files: rules, Key: []string{"strictPluginOnlyCustomization"}, Off: "hooks"},
	}
}

// codexSwitches are Codex's. codex_hooks is the older name.
func codexSwitches(own ...Path) []Switch {
	system, rules := managed("", "/etc/codex/config.toml", "/etc/codex/config.toml"), managed("", "/etc/codex/requirements.toml", "/etc/codex/requirements.toml")
	all := slices.Concat(paths(system), own, paths(rules))
	return []Switch{
		{Files: all, Format: TOML, Key: []string{"features", "hooks"}, Off: false},
		{Files: all, Format: TOML, Key: []string{"features", "codex_hooks"}, Off: false},
		{Files: paths(rules), Format: TOML, Key: []string{"allow_managed_hooks_only"}, Off: true},
	}
}

// geminiSwitches are those of Gemini CLI, and of Qwen Code, which comes from it. name is
// that of our hooks.
func geminiSwitches(own []Path, system Path, name string) []Switch {
	all := slices.Concat(own, paths(system))
	return []Switch{
		{Files: all, Key: []string{"hooksConfig", "enabled"}, Off: false},
		{Files: all, Key: []string{"hooksConfig", "disabled"}, Off: name},
		{Files: all, Key: []string{"tools", "enableHooks"}, Off: false},
		{Files: all, Key: []string{"disableAllHooks"}, Off: true},
	}
}

// copilotSwitches are those of Copilot CLI, in its settings and in the file with the hooks.
func copilotSwitches(dir Path) []Switch {
	return []Switch{{Files: paths(dir.below("config.json"), dir.below("settings.json"), project(".github/copilot/settings.json"), project(".github/copilot/settings.local.json"),
		dir.below("hooks/skills.json"), project(".github/hooks/skills.json")), Key: []string{"disableAllHooks"}, Off: true}}
}

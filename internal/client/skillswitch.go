package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// SkillSwitches says where and how a person switches skills off in a client.
type SkillSwitches struct {
	Files layers   // in which he does
	Words []string // a file without any of them switches nothing
	// Read returns what a file says, in its order. at makes a path in it absolute.
	Read func(data []byte, at func(string) string) ([]SkillSwitch, error)
	Full bool // a skill of a plugin is "plugin:name"; else it has its plain name
}

// A SkillSwitch is what a person has set for some skills. Of those that match a skill, the last one holds.
type SkillSwitch struct {
	Names string // pattern for whole names, as in the configuration of this program; "" means Path
	Path  string // of a SKILL.md, or of its folder
	Use   Use
	Final bool // it holds whatever others say that are not final
}

// A Use says who may use a skill in a client.
type Use int

// The uses.
const (
	On       Use = iota // the model and the user
	UserOnly            // the user, by its name
	Off                 // nobody
)

// SwitchFiles returns the files in which a person switches skills of a client off, in the order in
// which they hold. projects are the folders of the project, the nearest first.
func (m *Machine) SwitchFiles(c Client, projects []string) (files []string) {
	if c.SkillSwitches == nil {
		return nil
	}
	add := func(name string) {
		if name != "" && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	in := c.SkillSwitches.Files
	for _, p := range in.user {
		add(p(m))
	}
	for _, folder := range slices.Backward(projects) {
		for _, name := range in.project {
			add(under(folder, name))
		}
	}
	for _, p := range in.managed {
		add(p(m))
	}
	return files
}

// ReadSwitches returns what a file says; nothing if it is not there.
func (m *Machine) ReadSwitches(c Client, file string) ([]SkillSwitch, error) {
	data, err := regular.ReadShort(file, maxSettings)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, &PluginError{file, err}
	case !slices.ContainsFunc(c.SkillSwitches.Words, func(w string) bool { return bytes.Contains(data, []byte(w)) }):
		return nil, nil
	}
	list, err := c.SkillSwitches.Read(data, func(path string) string {
		if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/"); ok {
			path = under(m.Home, rest)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		return filepath.Clean(path)
	})
	if err != nil {
		return nil, &PluginError{file, err}
	}
	return list, nil
}

// exactly returns the pattern for one name, and wildly one in which * and ? stand for any text
// and any character, as some clients take them.
func exactly(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

func wildly(name string) string { return strings.NewReplacer(`\`, `\\`, "[", `\[`).Replace(name) }

// readClaude reads skillOverrides, and permissions.deny with Skill, Skill(name) and Skill(start:*).
func readClaude(data []byte, _ func(string) string) (list []SkillSwitch, err error) {
	var settings struct {
		SkillOverrides map[string]any `json:"skillOverrides"`
		Permissions    struct{ Deny []any }
	}
	if err := ParseJSON(data, &settings); err != nil {
		return nil, err
	}
	uses := map[any]Use{"on": On, "name-only": On, "user-invocable-only": UserOnly, "off": Off}
	for _, name := range slices.Sorted(maps.Keys(settings.SkillOverrides)) {
		if use, ok := uses[settings.SkillOverrides[name]]; ok {
			list = append(list, SkillSwitch{Names: exactly(name), Use: use})
		}
	}
	for _, rule := range settings.Permissions.Deny {
		text, _ := rule.(string)
		if names, ok := deniedSkills(strings.TrimSpace(text)); ok {
			list = append(list, SkillSwitch{Names: names, Use: Off, Final: true})
		}
	}
	return list, nil
}

// deniedSkills returns which skills a rule of Claude Code is about; ok is false for rules about
// something else.
func deniedSkills(rule string) (names string, ok bool) {
	inner, ok := strings.CutPrefix(rule, "Skill")
	if !ok || inner == "" {
		return "*", ok
	}
	if !strings.HasPrefix(inner, "(") || !strings.HasSuffix(inner, ")") {
		return "", false
	}
	inner = strings.TrimPrefix(strings.TrimSpace(inner[1:len(inner)-1]), "/")
	name, _, _ := strings.Cut(inner, " ") // arguments follow
	if start, ok := strings.CutSuffix(name, ":*"); ok {
		name = start + "*"
	}
	if name == "" {
		name = "*"
	}
	return strings.ReplaceAll(exactly(name), `\*`, "*"), true
}

// readCodex reads the tables [[skills.config]], which name a skill or where it lies.
func readCodex(data []byte, at func(string) string) (list []SkillSwitch, err error) {
	var settings struct {
		Skills struct {
			Config []struct {
				Path, Name string
				Enabled    *bool
			}
		}
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &settings); err != nil {
		return nil, err
	}
	for _, c := range settings.Skills.Config {
		s := SkillSwitch{Names: exactly(c.Name)}
		switch {
		case c.Enabled == nil || c.Path == "" && c.Name == "":
			continue
		case c.Path != "":
			s = SkillSwitch{Path: at(c.Path)}
		}
		if !*c.Enabled {
			s.Use = Off
		}
		list = append(list, s)
	}
	return list, nil
}

// readDisabled reads the list skills.disabled, and whether all skills are off.
func readDisabled(data []byte, _ func(string) string) (list []SkillSwitch, err error) {
	type skills struct {
		Enabled  *bool
		Disabled []any
	}
	var settings struct {
		Skills skills
		Admin  struct{ Skills skills }
	}
	if err := ParseJSON(data, &settings); err != nil {
		return nil, err
	}
	for _, s := range []skills{settings.Skills, settings.Admin.Skills} {
		if s.Enabled != nil && !*s.Enabled {
			list = append(list, SkillSwitch{Names: "*", Use: Off, Final: true})
		}
		for _, name := range s.Disabled {
			if text, ok := name.(string); ok && text != "" {
				list = append(list, SkillSwitch{Names: exactly(text), Use: Off, Final: true})
			}
		}
	}
	return list, nil
}

// readEntries reads skills.entries.NAME.enabled.
func readEntries(data []byte, _ func(string) string) (list []SkillSwitch, err error) {
	var settings struct {
		Skills struct{ Entries map[string]json.RawMessage }
	}
	if err := ParseJSON(data, &settings); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Skills.Entries)) {
		var entry struct{ Enabled *bool }
		if json.Unmarshal(settings.Skills.Entries[name], &entry) == nil && entry.Enabled != nil && !*entry.Enabled {
			list = append(list, SkillSwitch{Names: exactly(name), Use: Off})
		}
	}
	return list, nil
}

// readPermission reads permission.skill, in which the last pattern that matches a name holds, and
// whether the tool skill is off.
func readPermission(data []byte, _ func(string) string) (list []SkillSwitch, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := CheckDepth(data); err != nil {
		return nil, err
	}
	root, err := hujson.Parse(data)
	if err != nil {
		return nil, err
	}
	root.Minimize()
	add := func(names, value string) {
		switch value {
		case "false", `"deny"`:
			list = append(list, SkillSwitch{Names: names, Use: Off})
		case "true", `"allow"`, `"ask"`:
			list = append(list, SkillSwitch{Names: names})
		}
	}
	for _, key := range []string{"tools", "permission"} {
		for name, v := range members(root) {
			if name != key {
				continue
			}
			add("*", v.String())
			for tool, rule := range members(v) {
				if tool != "skill" && tool != "*" {
					continue
				}
				add("*", rule.String())
				for pattern, v := range members(rule) {
					add(wildly(pattern), v.String())
				}
			}
		}
	}
	return list, nil
}

// members yields the members of an object in their order, and nothing for other values.
func members(v hujson.Value) func(yield func(string, hujson.Value) bool) {
	return func(yield func(string, hujson.Value) bool) {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return
		}
		for _, m := range o.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			if !yield(name.String(), m.Value) {
				return
			}
		}
	}
}

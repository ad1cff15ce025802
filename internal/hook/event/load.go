package event

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// readSkill ends the name of the tool that reads a skill, such as mcp__NAME__read_skill.
const readSkill = "read_skill"

// printers are the commands with which models read a file if they have no tool for it.
var printers = []string{"cat", "head", "sed", "tail", "nl", "less", "bat", "Get-Content"}

const maxLoads = 8 // of one event

// loads returns the skills that the tool of an event has read; clients name tools differently.
func (f fields) loads(hooks []*client.Hook, dir string) []Load {
	tool, input := f.text("tool_name", "toolName"), f.input()
	if strings.HasSuffix(tool, readSkill) {
		return named(input.text("id", "name"))
	}
	for _, h := range hooks {
		switch {
		case slices.Contains(h.Tools.Skill, tool):
			name := input.text("skill", "name", "command")
			return named(name[strings.LastIndex(name, ":")+1:]) // "plugin:name"
		case slices.Contains(h.Tools.Read, tool):
			return at(dir, input.text("file_path", "filePath", "path", "absolute_path"))
		case slices.Contains(h.Tools.Shell, tool):
			return printed(dir, input.command())
		}
	}
	return nil
}

// input returns the fields of what a tool was given, which some clients write as a text.
func (f fields) input() (input fields) {
	for _, name := range []string{"tool_input", "toolArgs"} {
		data := cmp.Or(f.text(name), string(f[name]))
		if json.Unmarshal([]byte(data), &input) == nil && input != nil {
			return input
		}
	}
	return nil
}

// command returns the words of a shell command.
func (f fields) command() []string {
	var words []string
	for _, name := range []string{"command", "cmd"} {
		if text := f.text(name); text != "" {
			return strings.Fields(text)
		}
		if json.Unmarshal(f[name], &words) == nil && len(words) > 0 {
			return strings.Fields(strings.Join(words, " ")) // such as ["bash", "-lc", "cat x"]
		}
	}
	return nil
}

// printed returns the skills whose SKILL.md a command prints.
func printed(dir string, words []string) (loads []Load) {
	prints := false
	for _, w := range words {
		w = strings.Trim(w, `"';()`)
		prints = prints || slices.Contains(printers, filepath.Base(w))
		if prints && len(loads) < maxLoads {
			loads = append(loads, at(dir, w)...)
		}
	}
	return loads
}

func named(name string) []Load {
	if name == "" {
		return nil
	}
	return []Load{{Name: name}}
}

// at returns the load of the file at path, if that is a SKILL.md in a known folder.
func at(dir, path string) []Load {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if !filepath.IsAbs(path) || !strings.EqualFold(filepath.Base(path), "SKILL.md") {
		return nil
	}
	return []Load{{Path: filepath.Clean(path)}}
}

// skillName is the name of a skill as people write it in a prompt, after the client's mark.
var skillName = lazyregexp.New(`^[A-Za-z0-9][\w:-]*`)

// names returns the skills that a prompt names for the client to load: command, if the client
// has read the name itself, or else what follows the client's mark, see client.Hook.Mark.
func (p protocol) names(command, prompt string) []string {
	switch {
	case command != "":
		return []string{command}
	case p.own == nil || p.own.Mark == "" || !strings.Contains(prompt, p.own.Mark):
		return nil
	}
	var names []string
	for i, word := range strings.Fields(prompt) {
		after, ok := strings.CutPrefix(word, p.own.Mark)
		if name := skillName().FindString(after); ok && name != "" && len(names) < maxLoads {
			names = append(names, name)
		}
		if i == 0 && p.own.Mark == "/" {
			break // further on in the prompt it is a path
		}
	}
	return names
}

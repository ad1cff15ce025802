package contextprovider

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// The placeholders that clients replace when they load a skill: two for its folder, and
// one for the folder of the plugin that it is in.
var folderMarks = [...]string{"${CLAUDE_SKILL_DIR}", "{baseDir}"}

const pluginMark = "${CLAUDE_PLUGIN_ROOT}"

// Filled returns a text with its placeholders filled: those for a skill's folder with folder, and
// the one for its plugin's folder with plugin. With "" they stay.
func Filled(text, folder, plugin string) string {
	var pairs []string
	if folder != "" {
		for _, mark := range folderMarks {
			pairs = append(pairs, mark, folder)
		}
	}
	if plugin != "" {
		pairs = append(pairs, pluginMark, plugin)
	}
	if len(pairs) == 0 || !strings.Contains(text, "{") {
		return text
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Fill fills the placeholders in the instructions, for a reader who opens the files of this
// machine. The digests do not change: they stand for the text before.
func (b *Body) Fill() {
	if filepath.IsAbs(b.Folder) {
		b.Text = Filled(b.Text, b.Folder, pluginRoot(b.Source, b.Folder, b.Text))
	}
}

// pluginRoot returns the folder of the plugin that a skill is in, if the text asks for it; "" if
// the skill is in none. How deep in its plugin a skill lies differs.
func pluginRoot(source, folder, text string) string {
	if !strings.HasPrefix(source, skill.PluginLabel("")) || !strings.Contains(text, pluginMark) {
		return ""
	}
	const deepest = 8
	for range deepest {
		for _, manifest := range []string{".claude-plugin/plugin.json", ".codex-plugin/plugin.json", "plugin.json"} {
			if _, err := os.Stat(filepath.Join(folder, manifest)); err == nil {
				return folder
			}
		}
		folder = filepath.Dir(folder)
	}
	return ""
}

// relativeTo returns the path of a file as it is in the folder of a skill: instructions write it
// with a placeholder, and a model with the folder that it was told. Any other path, also an
// absolute one elsewhere, is returned as it is.
func relativeTo(source, folder, name string) string {
	name = Filled(filepath.ToSlash(name), filepath.ToSlash(folder), filepath.ToSlash(pluginRoot(source, folder, name)))
	if rest, ok := strings.CutPrefix(name, filepath.ToSlash(folder)+"/"); ok {
		return rest
	}
	return name
}

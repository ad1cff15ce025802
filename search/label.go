package search

import (
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// projectLabel begins the labels of folders of a project, and installedLabel with a colon those of
// skills that are installed beside others of their names.
const (
	projectLabel   = "project:"
	installedLabel = "installed"
)

// covers reports whether a rule about a source that holds skills back means the source with a
// label. A folder of a client, such as project:.claude, means the folders of that name anywhere in
// the project, and installed all installed skills: once the label depended on where one worked, and
// whoever adds a folder to a project must not get past the rule. So did project:../../.claude, of
// versions before. Case and spelling make no difference, as in names: they may make none in a file
// system.
func covers(rule, label string) bool {
	rule, label = words.NameKey(rule), words.NameKey(label)
	if rule == label || rule == installedLabel && strings.HasPrefix(label, installedLabel+":") {
		return true
	}
	name, ok := strings.CutPrefix(rule, projectLabel)
	have, isProject := strings.CutPrefix(label, projectLabel)
	if !ok || !isProject {
		return false
	}
	for strings.HasPrefix(name, "../") {
		name = name[len("../"):]
	}
	return name == have || strings.HasPrefix(name, ".") && strings.HasSuffix(have, "/"+name)
}

// coversAny reports whether one of some rules covers a label.
func coversAny(rules []string, label string) bool {
	return slices.ContainsFunc(rules, func(rule string) bool { return covers(rule, label) })
}

// heldBy returns the skills that rules which hold skills back match, whatever the scope of the view.
func heldBy(v *snapshot.View, rules Rules) snapshot.Skills {
	wide := slices.Clone(rules.Sources)
	for _, s := range v.Set.Sources {
		if coversAny(rules.Sources, s.Label) {
			wide = append(wide, s.Label)
		}
	}
	rules.Sources = wide
	return matching(v, rules)
}

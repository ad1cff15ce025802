package config

import (
	"os"
	"strings"

	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// oldLabel begins the labels that versions before gave to the folders of a project above the one
// in which one worked.
const oldLabel = source.KindProject + ":../"

// renewLabels gives such labels in rules that let something in the form that they have now: they
// mean what they meant from the folder dir. Rules that hold skills back understand them wherever
// one works, see search.Rules.
func (s *Settings) renewLabels(dir string) {
	var within []string // the folders of the project, once a label asks
	renew := func(text string) string {
		if !strings.HasPrefix(text, oldLabel) {
			return text
		}
		if within == nil {
			dir, _ := workDir(dir) // Read has warned of an error
			home, _ := os.UserHomeDir()
			within = source.FoldersWithin(source.ProjectFolders(dir, home))
		}
		rest := strings.TrimPrefix(text, source.KindProject+":")
		up := 0
		for strings.HasPrefix(rest, "../") {
			rest, up = rest[len("../"):], up+1
		}
		if up >= len(within) {
			return text
		}
		return source.KindProject + ":" + within[up] + rest
	}
	all := func(list []string) {
		for i := range list {
			list[i] = renew(list[i])
		}
	}
	for _, a := range s.Agents {
		all(a.Include.Sources)
		all(a.Uses)
		for rule, place := range a.Places {
			a.Places[search.Rule{Key: rule.Key, Text: renew(rule.Text)}] = place
		}
	}
	for i := range s.Scripts {
		all(s.Scripts[i].Sources)
	}
	for i := range s.Ignore {
		all(s.Ignore[i].Sources)
	}
	for label, use := range s.Triggers {
		s.Triggers[renew(label)] = use
	}
}

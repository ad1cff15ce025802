package skill

import (
	"path"
	"strings"
)

// A Meta is level 1 of a skill: what a catalog knows and shows about a skill
// without reading the file again. Every layer uses this one declaration.
type Meta struct {
	ID          string // the name of an offered skill, its FullName where several are offered under its name, "source/folder" of a shadowed copy; the catalog sets it
	Name        string // the name in its source: the frontmatter's name, unless the source renames the skill
	Description string // at most MaxDescription code points, or as many as Limits allow, without hidden characters
	Source      string // label of its source
	Path        string // slash-separated path of its SKILL.md (or skill.md) in the source
	Location    string // where to open its SKILL.md: an absolute path, or "label:path" if it is not on disk
	About
	Tags       []string // from the frontmatter and its metadata, without duplicates
	Needs      Needs    // what it needs to work
	Triggers   Triggers // what its author says a prompt for it contains
	Examples   []string // prompts for it: of its frontmatter and its evals, at most MaxExamples of 200 code points
	Tokens     int      // estimated length of the body
	Digest     string   // "sha256:<hex>" over SKILL.md and the list of its files; "" until the source sets it
	TextDigest string   // hexadecimal SHA-256 of SKILL.md alone
}

// About is what an author says of a skill beside what it is for. No field is ranked, and every
// door shows all of them; "" means that he does not say.
type About struct {
	Version       string `json:"version,omitempty"`       // as its author counts
	License       string `json:"license,omitempty"`       // a name or a file
	Author        string `json:"author,omitempty"`        // who wrote it
	Compatibility string `json:"compatibility,omitempty"` // what it works with
	InvokedBy     string `json:"invoked_by,omitempty"`    // InvokedByUser or InvokedByModel; "" means both
}

const aboutTexts = 5 // fields of About

// texts returns all fields, in the order in which stores keep them.
func (a *About) texts() [aboutTexts]*string {
	return [aboutTexts]*string{&a.Version, &a.License, &a.Author, &a.Compatibility, &a.InvokedBy}
}

// Line returns all fields as a line; "" if there are none. It is no String, which whatever
// embeds About would have.
func (a About) Line() string {
	var parts []string
	for i, label := range [...]string{"version ", "license ", "by ", "compatibility: ", "started only by the "} {
		if text := *a.texts()[i]; text != "" {
			parts = append(parts, label+text)
		}
	}
	return strings.Join(parts, "; ")
}

// Dir returns the slash-separated path of the skill's folder in its source; "."
// means the top of the source.
func (m *Meta) Dir() string { return path.Dir(m.Path) }

// ComparePlaces orders skills that have the same name in one source by precedence: first
// those whose folder has that name, then by path in byte order. So "pdf" stays what it is
// when somebody keeps an old copy of it in "pdf-old".
func ComparePlaces(a, b *Meta) int {
	one, other := path.Base(a.Dir()) == a.Name, path.Base(b.Dir()) == b.Name
	switch {
	case one == other:
		return strings.Compare(a.Path, b.Path)
	case one:
		return -1
	}
	return 1
}

// File returns the base name of the skill's instructions: SKILL.md or skill.md.
func (m *Meta) File() string { return path.Base(m.Path) }

// PluginLabel returns the label of the source that holds the skills of a plugin.
func PluginLabel(plugin string) string { return pluginPrefix + plugin }

const pluginPrefix = "plugin:"

// FullName returns what names the skill beside others of its name: "plugin:name" as clients call
// the skill of a plugin, else "source/name".
func (m *Meta) FullName() string {
	if plugin, ok := strings.CutPrefix(m.Source, pluginPrefix); ok && !strings.ContainsAny(plugin, ":/") {
		return plugin + ":" + m.Name
	}
	return m.Source + "/" + m.Name
}

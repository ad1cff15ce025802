//go:build soak && unix

package soak

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A document is what a SKILL.md of a world holds.
type document struct {
	name, description, tags, body string
}

var (
	nouns = strings.Fields(`invoice penguin database migration form spreadsheet diagram release note
		kernel camera recipe translation contract ledger payroll certificate cluster pipeline
		antenna orchard glacier violin harbour telescope battery warehouse passport timetable
		bicycle lighthouse vineyard microscope parachute sandstone turbine compiler parser`)
	verbs = strings.Fields(`fill merge convert review deploy translate measure repair draft compare
		encrypt archive rotate publish validate summarise schedule calibrate harvest polish`)
	tagged = []string{"quality", "Finance", "ops", "x-ray"}
)

func noun(r *rand.Rand) string { return nouns[r.IntN(len(nouns))] }
func verb(r *rand.Rand) string { return verbs[r.IntN(len(verbs))] }

// sentence returns a task in words of the worlds.
func sentence(r *rand.Rand) string {
	return fmt.Sprintf("%s a %s for the %s and %s its %s", verb(r), noun(r), noun(r), verb(r), noun(r))
}

// newSkill returns a document of that name.
func (w *world) newSkill(name string) document {
	d := document{name: name, description: sentence(w.Rand) + ". Use it with a " + noun(w.Rand) + "."}
	if w.IntN(2) == 0 {
		d.tags = tagged[w.IntN(len(tagged))]
	}
	for range 1 + w.IntN(12) {
		d.body += sentence(w.Rand) + ".\n"
	}
	return d
}

func (d document) text() string {
	tags := ""
	if d.tags != "" {
		tags = "metadata:\n  tags: [" + d.tags + "]\n"
	}
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n%s---\n%s", d.name, d.description, tags, d.body)
}

// writeSkill writes the SKILL.md of a folder.
func (w *world) writeSkill(folder string, d document) {
	if w.unreadable[folder] {
		w.must(os.RemoveAll(w.path(folder, "SKILL.md")))
		w.forgetUnreadable(folder)
	}
	w.write(filepath.Join(folder, w.file(folder)), d.text())
}

// file returns the name of the instructions in a folder.
func (w *world) file(folder string) string {
	for _, name := range []string{"SKILL.md", "skill.md", "Skill.md"} {
		if w.exists(filepath.Join(folder, name)) {
			return name
		}
	}
	return "SKILL.md"
}

// text returns the instructions of a folder, "" if they cannot be read.
func (w *world) text(folder string) string {
	name := w.path(folder, w.file(folder))
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "" // nobody would ever write to a FIFO
	}
	data, _ := os.ReadFile(name)
	return string(data)
}

// declared returns the name that the skill in a folder declares.
func (w *world) declared(folder string) string { return w.field(folder, "name") }

// field returns a line of the frontmatter of the skill in a folder.
func (w *world) field(folder, key string) string {
	for line := range strings.Lines(w.text(folder)) {
		if value, ok := strings.CutPrefix(line, key+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// change replaces text in the instructions of any skill, and returns its folder.
func (w *world) change(f func(text string) string) string {
	folder := w.anySkill()
	before := w.text(folder)
	if after := f(before); folder != "" && before != "" && after != before {
		w.write(filepath.Join(folder, w.file(folder)), after)
		return folder
	}
	return ""
}

// setField returns a text with another value in a line of its frontmatter.
func setField(text, key, value string) string {
	before, rest, ok := strings.Cut(text, "\n"+key+": ")
	if !ok {
		return text
	}
	_, after, _ := strings.Cut(rest, "\n")
	return before + "\n" + key + ": " + value + "\n" + after
}

// A conf is the configuration of a world.
type conf struct {
	roots     []string          // in their order
	labels    map[string]string // of roots
	names     map[string]string // of skills, to other names, in all roots
	exclude   string            // a glob
	pinned    string
	picked    string // a name that an agent may see
	open      string // the label of a root that an agent may see
	bundled   bool
	threshold string
}

func newConf() conf {
	return conf{
		roots: roots, labels: map[string]string{"team": "team", "more": "more"}, names: make(map[string]string),
		exclude: "x*", open: "team", threshold: "0.6",
	}
}

// agents are the names of configured agents; "" is nobody.
var agents = []string{"", "narrow", "tagged", "picked"}

// writeConf writes the configuration file, and ends what has read the one before.
func (w *world) writeConf() {
	var b strings.Builder
	b.WriteString("roots:\n")
	for _, root := range w.conf.roots {
		fmt.Fprintf(&b, "  - {path: %s, label: %s, names: {", w.path(root), w.conf.labels[root])
		for _, from := range sorted(w.conf.names) {
			fmt.Fprintf(&b, "%q: %q, ", from, w.conf.names[from])
		}
		b.WriteString("}}\n")
	}
	fmt.Fprintf(&b, "bundled: %v\nthreshold: %s\nschedule: \"@every 1s\"\nagents:\n", w.conf.bundled, w.conf.threshold)
	pinned := ""
	if w.conf.pinned != "" {
		pinned = fmt.Sprintf(", pinned: [%q]", w.conf.pinned)
	}
	fmt.Fprintf(&b, "  narrow: {include: {sources: [%q]}, exclude: {names: [%q]}%s}\n", w.conf.open, w.conf.exclude, pinned)
	fmt.Fprintf(&b, "  tagged: {include: {tags: [quality], names: [\"*e*\"]}}\n")
	fmt.Fprintf(&b, "  picked: {include: {names: [%q, \"[a-f]*\"]}, exclude: {sources: [%q], tags: [ops]}}\n", cmp.Or(w.conf.picked, "none"), w.conf.open)
	w.write("config.yaml", b.String())
	w.stopPrograms()
}

package doctor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// files are the skills of the tests; more shadows two of lib.
var files = map[string]map[string]string{
	"lib": {
		"broken/SKILL.md":     "---\nname: broken\n---\n",
		"cat/SKILL.md":        "---\nname: cat\ndescription: Feeds the cat. Use when it is hungry.\nrequires: [hamsters]\n---\nRun scripts/feed.sh.\n",
		"hamster/SKILL.md":    "---\nname: hamster\ndescription: Cleans the cage of a small animal that sleeps all day and runs at night. Use when asked.\n---\nClean it.\n",
		"guinea-pig/SKILL.md": "---\nname: guinea-pig\ndescription: Cleans the cage of a small animal that sleeps all day and runs by night. Use when asked.\n---\nClean it.\n",
		"odd/SKILL.md":        "---\nname: Odd\ndescription: Has a hidden character. Use when asked.\n---\nright \u202e to left\n",
		"bom/SKILL.md":        "\ufeff---\nname: bom\ndescription: Starts with a mark that nobody needs. Use when asked.\n---\nBe well.\n",
	},
	"more": {
		"cat/SKILL.md":     "---\nname: cat\ndescription: Feeds another cat. Use when asked.\n---\nFeed it.\n",
		"hamster/SKILL.md": "---\nname: hamster\ndescription: Cleans the cage of a small animal that sleeps all day and runs at night. Use when asked.\n---\nClean it.\n",
	},
}

// catalog returns an indexed catalog, with lib in memory and more on disk, and the
// folder of more.
func catalog(t *testing.T) (c *repertoire.Catalog, reports []repertoire.Report, dir string) {
	t.Helper()
	lib := make(fstest.MapFS)
	for name, text := range files["lib"] {
		lib[name] = &fstest.MapFile{Data: []byte(text)}
	}
	memory, err := source.New(lib, &source.Options{Label: "lib", Priority: 2})
	must.Do(t, err)
	dir, err = filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	must.Files(t, dir, files["more"])
	must.Do(t, os.MkdirAll(filepath.Join(dir, "lower"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(dir, "lower", "Skill.md"), nil, 0o600))
	disk, err := source.Dir(dir, &source.Options{Label: "more", Priority: 1})
	must.Do(t, err)
	c, err = repertoire.Open(t.Context(), repertoire.Config{
		Sources: []source.Source{memory, disk}, DB: filepath.Join(t.TempDir(), "catalog.db"), Schedule: repertoire.Never,
		Agents: []*repertoire.Agent{{Name: "bird", Include: repertoire.Rules{Names: []string{"canary"}}}, {Name: "all"}},
	})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	reports, err = c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	return c, reports, dir
}

// lines returns the findings of a report as lines, without messages and hints.
func lines(r *doctor.Report, dir string) []string {
	var list []string
	for _, f := range r.Findings {
		at := filepath.ToSlash(strings.Replace(f.Path, dir, "DIR", 1))
		list = append(list, strings.Join([]string{string(f.Severity), f.Rule, string(f.Cost), f.Source, f.Skill, at}, " "))
	}
	return list
}

// TestCatalog: each finding says which skill it is about and what it costs.
func TestCatalog(t *testing.T) {
	c, reports, dir := catalog(t)
	r, err := doctor.Catalog(t.Context(), c, entries(t, c), doctor.Options{Reports: reports})
	must.Do(t, err)
	want := []string{
		"error agent unseen   configuration",
		"error missing-description unseen lib broken lib:broken/SKILL.md",
		"warning shadowed unseen more more/cat DIR/cat/SKILL.md",
		"warning byte-order-mark author lib bom lib:bom/SKILL.md",
		"warning unmet-requirement confusing lib cat lib:cat/SKILL.md",
		"warning missing-resource confusing lib cat lib:cat/SKILL.md",
		"warning near-duplicate confusing lib guinea-pig lib:guinea-pig/SKILL.md",
		"warning hidden-bidi confusing lib Odd lib:odd/SKILL.md",
		"note shadowed author more more/hamster DIR/hamster/SKILL.md",
		"note skill-md-case unseen more lower DIR/lower/Skill.md",
		"note unpublishable author lib Odd lib:odd/SKILL.md",
		"note unpublishable author lib bom lib:bom/SKILL.md",
	}
	got := lines(r, dir)
	if diff := cmp.Diff(counted(want), counted(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if r.Skills != 8 || r.Errors != 2 || r.Warnings != 6 || r.Notes != 4 {
		t.Errorf("%d skills, %d errors, %d warnings, %d notes", r.Skills, r.Errors, r.Warnings, r.Notes)
	}
	before := len(r.Findings)
	r.Add(skill.Problem{Rule: "client-budget", Severity: skill.Warning}, skill.Problem{Rule: "client", Severity: skill.Note})
	if r.Warnings != 7 || r.Notes != 5 || len(r.Findings) != before+2 {
		t.Errorf("after an addition: %d warnings, %d notes", r.Warnings, r.Notes)
	}
}

// counted counts equal lines: the order of lines with the same severity depends on
// temporary folders.
func counted(list []string) map[string]int {
	m := make(map[string]int)
	for _, s := range list {
		m[s]++
	}
	return m
}

// TestStrict: the specification refuses what indexing forgives, and models see
// the skill all the same.
func TestStrict(t *testing.T) {
	c, reports, dir := catalog(t)
	r, err := doctor.Catalog(t.Context(), c, entries(t, c), doctor.Options{Strict: true, Reports: reports})
	must.Do(t, err)
	for _, want := range []string{
		"error name-case author lib Odd lib:odd/SKILL.md",
		"error missing-description unseen lib broken lib:broken/SKILL.md",
		"warning shadowed unseen more more/cat DIR/cat/SKILL.md",
	} {
		if counted(lines(r, dir))[want] == 0 {
			t.Errorf("%q is missing in\n%s", want, strings.Join(lines(r, dir), "\n"))
		}
	}
	if r.Skills != 8 {
		t.Errorf("%d skills", r.Skills)
	}
}

// TestInSkill: a problem inside a skill's folder is confusing; outside, where a skill
// may be hidden by it, the cost is unseen.
func TestInSkill(t *testing.T) {
	c, _, dir := catalog(t)
	for _, name := range []string{"link", "cat/link"} {
		if os.Symlink("nowhere", filepath.Join(dir, name)) != nil {
			t.Skip("no symbolic links here")
		}
	}
	_, err := c.Owner().RescanAll(t.Context(), nil)
	must.Do(t, err)
	reports, err := c.Owner().Rescan(t.Context(), nil)
	must.Do(t, err)
	r, err := doctor.Catalog(t.Context(), c, entries(t, c), doctor.Options{Reports: reports})
	must.Do(t, err)
	got := counted(lines(r, dir))
	for _, want := range []string{
		"note dangling-link unseen more  DIR/link",
		"warning dangling-link confusing more more/cat DIR/cat/link",
	} {
		if got[want] == 0 {
			t.Errorf("%q is missing in\n%s", want, strings.Join(lines(r, dir), "\n"))
		}
	}
}

// TestFolders: folders are checked without a catalog.
func TestFolders(t *testing.T) {
	_, _, dir := catalog(t)
	r, err := doctor.Folders(t.Context(), []string{filepath.Join(dir, "cat"), dir}, false, nil)
	must.Do(t, err)
	if r.Skills != 3 || r.Errors+r.Warnings != 0 || r.Notes != 1 {
		t.Errorf("report %+v", r)
	}
	spaced := filepath.Join(t.TempDir(), "a b")
	must.Write(t, filepath.Join(spaced, "cat", "SKILL.md"), "---\nname: cat\n---\nFeed it.\n")
	if r, err = doctor.Folders(t.Context(), []string{spaced}, false, nil); err != nil || r.Verdict().Next != `doctor --all "`+spaced+`"` {
		t.Errorf("next %q, %v", r.Verdict().Next, err)
	}
	odd := filepath.Join(t.TempDir(), "$(x)")
	must.Write(t, filepath.Join(odd, "cat", "SKILL.md"), "---\nname: cat\n---\nFeed it.\n")
	if r, err = doctor.Folders(t.Context(), []string{odd}, false, nil); err != nil || r.Verdict().Next != "doctor --all FOLDER" {
		t.Errorf("next %q, %v", r.Verdict().Next, err)
	}
	empty := t.TempDir()
	if _, err := doctor.Folders(t.Context(), []string{dir, empty}, false, nil); err == nil || err.Error() != "no SKILL.md in "+empty {
		t.Errorf("error %v", err)
	}
	if _, err := doctor.Folders(t.Context(), []string{filepath.Join(empty, "none")}, false, nil); err == nil {
		t.Error("a folder that does not exist is no error")
	}
}

// TestSources: sources are checked without a catalog, also those that are not there.
func TestSources(t *testing.T) {
	_, _, dir := catalog(t)
	var sources []source.Source
	for _, name := range []string{dir, filepath.Join(dir, "none")} {
		src, err := source.Dir(name, nil)
		must.Do(t, err)
		sources = append(sources, src)
	}
	r, err := doctor.Sources(t.Context(), sources, true)
	must.Do(t, err)
	if r.Skills != 2 || r.Errors != 0 || r.Warnings != 1 || r.Notes != 1 || r.Findings[0].Path != filepath.Join(dir, "none") {
		t.Errorf("report %+v", r)
	}
}

// TestSections: one row for each skill, for its most costly finding, and one for a rule that
// many skills break, which hides no other rule.
func TestSections(t *testing.T) {
	r := &doctor.Report{Skills: 9}
	find := func(id string, cost doctor.Cost, rule string, severity skill.Severity) {
		r.Findings = append(r.Findings, doctor.Finding{Skill: id, Cost: cost, Problem: skill.Problem{Rule: rule, Severity: severity, Path: "/s/" + id, Message: "It is\n" + rule}})
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		find(id, doctor.Confusing, "no-trigger", skill.Note)
	}
	find("a", doctor.Confusing, "over-broad", skill.Warning)
	find("a", doctor.Author, "unused-file", skill.Note)
	find("b", doctor.Unseen, "shadowed", skill.Warning)
	find("f", doctor.Author, "unused-file", skill.Note)
	find("", doctor.Unseen, "away", skill.Warning)
	find("", doctor.Unseen, "client-broken", skill.Error)
	find("", doctor.Author, "client", skill.Note)
	var got []string
	for _, s := range r.Sections() {
		got = append(got, fmt.Sprintf("%s, %d skills, %d problems", s.Group.Title(), s.Skills, s.Problems))
		for _, row := range s.Rows {
			got = append(got, fmt.Sprintf("- %s|%s|%s|%s|%d|%s", row.Rule, row.Skill, row.Text, row.Place, row.More, strings.Join(row.Many, " ")))
		}
	}
	want := []string{
		"Not seen now, 1 skills, 2 problems", "- away||It is away|/s/|0|", "- shadowed|b|It is shadowed||1|",
		"Clients and settings, 0 skills, 1 problems", "- client-broken||It is client-broken||0|",
		"May confuse models, 4 skills, 1 problems", "- over-broad|a|It is over-broad||2|", "- no-trigger||The description does not say when to use the skill||0|a b c d e",
		"For authors to mend, 1 skills, 0 problems", "- unused-file|f|It is unused-file||0|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestJSON: what other programs read.
func TestJSON(t *testing.T) {
	var r doctor.Report
	r.Add()
	data, err := json.Marshal(&r)
	must.Do(t, err)
	if want := `{"skills":0,"not_analysed":0,"errors":0,"warnings":0,"notes":0,"ignored":0,"problems":[]}`; string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
	data, err = json.Marshal(doctor.Finding{Source: "s", Skill: "cat", Cost: doctor.Confusing,
		Problem: skill.Problem{Rule: "r", Severity: skill.Note, Path: "p", Line: 3, Message: "m", Hint: "h"}})
	must.Do(t, err)
	if want := `{"source":"s","skill":"cat","cost":"confusing","rule":"r","severity":"note","path":"p","line":3,"message":"m","hint":"h"}`; string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
}

// TestHeld: skills that are held back are findings with the reason, and so are rules that
// disable nothing.
func TestHeld(t *testing.T) {
	files := make(map[string]string)
	for _, name := range []string{"bread", "cake", "soup"} {
		files[name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: Makes " + name + ". Use when somebody is hungry.\n---\nMake it.\n"
	}
	var sources []source.Source
	for _, kind := range []string{source.KindProject, source.KindUser} {
		s, err := source.Files(files, &source.Options{Label: kind, Kind: kind})
		must.Do(t, err)
		sources = append(sources, s)
	}
	ban := func(name string, line int, within ...string) search.Ban {
		return search.Ban{Rules: repertoire.Rules{Names: []string{name}}, Place: repertoire.Place{File: "/c.yaml", Line: line}, Within: within}
	}
	c := catalogtest.Open(t, repertoire.Config{
		Sources: sources,
		Policy:  &repertoire.Policy{Ask: []string{source.KindProject}, Disabled: []search.Ban{ban("soup", 2), ban("sooup", 3), ban("cake", 4, "nowhere")}},
	})
	r, err := doctor.Catalog(t.Context(), c, entries(t, c), doctor.Options{})
	must.Do(t, err)
	var got []string
	for _, f := range r.Findings {
		if f.Rule != "near-duplicate" {
			got = append(got, strings.Join([]string{string(f.Severity), f.Rule, string(f.Cost), f.Source, f.Skill, f.Message}, "|"))
		}
	}
	want := []string{
		`warning|policy|author|||disabled: names: no skill "sooup"; did you mean soup?`,
		`warning|policy|author|||disabled: names cake: there is none in nowhere`,
		"warning|untrusted|unseen|project|project/bread|not offered: its project is not trusted yet; \"skills trust\" shows and trusts it",
		"warning|untrusted|unseen|project|project/cake|not offered: its project is not trusted yet; \"skills trust\" shows and trusts it",
		"note|disabled|author|project|soup|not offered: disabled by /c.yaml:2",
		"note|disabled|author|user|user/soup|not offered: disabled by /c.yaml:2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestOnce: two sources that have one file make one finding of it.
func TestOnce(t *testing.T) {
	var r doctor.Report
	p := skill.Problem{Rule: "name", Severity: skill.Warning, Path: "a/SKILL.md", Line: 2, Message: "one"}
	other := p
	other.Message = "other"
	r.Add(p, other)
	r.Add(p)
	if r.Warnings != 2 || len(r.Findings) != 2 {
		t.Errorf("%+v", r)
	}
}

// entries returns all skills of a catalog.
func entries(t *testing.T, c *repertoire.Catalog) []repertoire.Entry {
	t.Helper()
	all, err := c.List(t.Context(), nil, &repertoire.ListOptions{Shadowed: true, Held: true})
	must.Do(t, err)
	return all
}

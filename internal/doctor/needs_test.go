package doctor_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestNeeds: what skills lack. Skills that require each other lack nothing.
func TestNeeds(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	files := make(map[string]string)
	for name, requires := range map[string]string{
		"a": "[b, c]", "b": "[a]", "c": "[d]", "d": "[e]", "e": "[c, b]", "alone": "[alone]", "lost": "[elsewhere, a]", "tool": "{bins: [no-such-tool]}",
	} {
		files[name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: Does what " + name + " does. Use when it is due.\nrequires: " + requires + "\n---\nDo it.\n"
	}
	src, err := source.Files(files, &source.Options{Label: "lib"})
	must.Do(t, err)
	c := catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}})
	r, err := doctor.Catalog(t.Context(), c, entries(t, c), doctor.Options{})
	must.Do(t, err)
	var got []string
	for _, f := range r.Findings {
		if f.Rule == "unavailable" || strings.Contains(f.Rule, "requirement") {
			got = append(got, string(f.Severity)+" "+f.Rule+" "+string(f.Cost)+" "+f.Skill+": "+f.Message)
		}
	}
	want := []string{
		`warning unmet-requirement confusing lost: it requires the skill "elsewhere", which is not in the catalog`,
		"note unavailable unseen tool: not offered: it needs the command no-such-tool, which is not in PATH",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestAbsent: what a description sends to and the catalog lacks is told, with its line.
func TestAbsent(t *testing.T) {
	r := examine(t, map[string]string{
		"forms/SKILL.md": "---\nname: forms\ndescription: >-\n  Fills forms. Use when a form is empty.\n  Not for scans (use pdf-ocr) or bills (see office:bill-reader), see the `kite` skill.\n---\nUse pdf-ocr.\n",
		"bills/SKILL.md": skillFile("bill-reader", "Reads bills. Use when a bill comes. Not for forms (use form-filler).", "Read."),
		"kite/SKILL.md":  skillFile("kite", "Flies a kite. Use when there is wind.", "Run."),
	})
	var got []string
	for _, f := range of(r, "absent-skill") {
		got = append(got, fmt.Sprintf("%s %s %s:%d %s", f.Severity, f.Skill, path.Base(f.Path), f.Line, f.Message))
	}
	want := []string{
		`note bill-reader SKILL.md:3 the description sends to "form-filler", which is not in the catalog`,
		`note forms SKILL.md:5 the description sends to "pdf-ocr", which is not in the catalog`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

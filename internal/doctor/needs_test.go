package doctor_test

import (
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

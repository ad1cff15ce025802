package doctor_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// TestIgnore: an entry leaves out what matches all its lists; an entry with a mistake, or one
// that matches nothing, is a finding. A project's entry hides nothing that is not the project's,
// and no trust check.
func TestIgnore(t *testing.T) {
	var sources []source.Source
	for label, kind := range map[string]string{"own": source.KindUser, "project:x": source.KindProject} {
		src, err := source.New(fstest.MapFS{}, &source.Options{Label: label, Kind: kind})
		must.Do(t, err)
		sources = append(sources, src)
	}
	find := func(label, id, rule string, family ...string) doctor.Finding {
		return doctor.Finding{Source: label, Skill: id, Family: family, Problem: skill.Problem{Rule: rule, Severity: skill.Warning, Path: "/" + label + "/" + id, Message: rule}}
	}
	all := func() *doctor.Report {
		return &doctor.Report{Skills: 9, Findings: []doctor.Finding{
			find("own", "cat", "no-trigger"), find("own", "x-dog", "missing-resource"), find("own", "cat", "missing-resource"),
			find("own", "x-a", "near-duplicate", "x-a", "zebra"), find("project:x", "project:x/tea", "no-trigger"), find("project:x", "tea", "fetch-and-run"),
			find("project:x", "tea", "hidden-bidi"), find("", "", "client-budget"),
		}}
	}
	project := []string{source.KindProject}
	for _, c := range []struct {
		entry   config.Ignore
		ignored int
		left    string // what is said of the entry
	}{
		{config.Ignore{Rules: []string{"no-trigger"}}, 2, ""},
		{config.Ignore{Rules: []string{"no-trigger", "client-budget"}}, 3, ""},
		{config.Ignore{Skills: []string{"X-*"}}, 2, ""},
		{config.Ignore{Skills: []string{"zeb?a"}}, 1, ""},
		{config.Ignore{Skills: []string{"tea"}}, 3, ""},
		{config.Ignore{Sources: []string{"own"}}, 4, ""},
		{config.Ignore{Rules: []string{"missing-resource"}, Skills: []string{"x-*"}}, 1, ""},
		{config.Ignore{Rules: []string{"missing-resource"}, Sources: []string{"project:x"}}, 0, "warning: ignore: no finding matches rule missing-resource, source project:x"},
		{config.Ignore{Rules: []string{"no-triger"}}, 0, `error: ignore: no rule "no-triger"; did you mean no-trigger?`},
		{config.Ignore{Rules: []string{"yaml-tab"}}, 0, ""}, // only --strict applies it
		{config.Ignore{Skills: []string{"*"}, Within: project}, 1, ""},
		{config.Ignore{Sources: []string{"own"}, Within: project}, 0, "warning: ignore: no finding matches source own"},
		{config.Ignore{Rules: []string{"hidden-bidi"}, Within: project}, 0, "warning: ignore: a project's configuration cannot ignore hidden-bidi"},
		{config.Ignore{Rules: []string{"fetch-and-run"}, Within: project}, 0, "warning: ignore: a project's configuration cannot ignore fetch-and-run"},
	} {
		r := all()
		c.entry.Place = search.Place{File: "/c.yaml", Line: 7}
		r.Ignore([]config.Ignore{c.entry}, sources, false)
		var left []string
		for _, f := range r.Findings {
			if f.Rule == "ignore" {
				left = append(left, strings.TrimPrefix(f.String(), "/c.yaml:7: "))
			}
		}
		want := c.left
		if want != "" {
			want += " [ignore]"
		}
		if got := strings.Join(left, "; "); got != want || r.Ignored != c.ignored || len(r.Findings)+r.Ignored != 8+len(left) || r.Verdict().Ignored != c.ignored {
			t.Errorf("%+v: ignored %d of %d, want %d; says %q, want %q", c.entry, r.Ignored, len(r.Findings), c.ignored, got, want)
		}
	}
	r := all()
	r.Ignore([]config.Ignore{{Sources: []string{"own", "project:x"}}, {Rules: []string{"client-budget"}}}, sources, false)
	if diff := cmp.Diff("9 skills: nothing is wrong; 8 findings are ignored.", r.Verdict().String()); diff != "" || r.Warnings != 0 {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

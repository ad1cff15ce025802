package doctor_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// write writes files into a new folder and returns its real path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	must.Files(t, dir, files)
	return dir
}

// examine returns what is found in a catalog of these files.
func examine(t *testing.T, files map[string]string, agents ...*repertoire.Agent) *doctor.Report {
	t.Helper()
	src, err := source.Dir(write(t, files), &source.Options{Label: "lib"})
	must.Do(t, err)
	c := catalogtest.Open(t, repertoire.Config{Sources: []source.Source{src}, Agents: agents})
	r, err := doctor.Catalog(t.Context(), c, entries(t, c), doctor.Options{})
	must.Do(t, err)
	return r
}

// of returns the findings of a rule.
func of(r *doctor.Report, rule string) []doctor.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f doctor.Finding) bool { return f.Rule != rule })
}

// skillFile returns a SKILL.md.
func skillFile(name, description, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n%s\n", name, description, body)
}

// TestTwins: skills with nearly the same description, or the same instructions under
// another description, are one finding; what they share with others is none.
func TestTwins(t *testing.T) {
	var body strings.Builder
	for i := range 60 {
		fmt.Fprintf(&body, "Step %d: fold sheet %d along line %d, then press corner %d. ", i, 2*i, 3*i, 5*i)
	}
	files := map[string]string{
		"crane/SKILL.md":   skillFile("crane", "Folds a paper bird. Use when somebody wants origami.", body.String()),
		"tank/SKILL.md":    skillFile("tank", "Cleans a fish tank.", strings.ReplaceAll(body.String(), "fold", "scrub")),
		"my-tank/SKILL.md": skillFile("my-tank", "Cleans a fish tank. Always use this.", strings.ReplaceAll(body.String(), "fold", "scrub")+"Then feed the fish."),
		"swan/SKILL.md":    skillFile("swan", "Makes decorations for dinner tables out of napkins. Use for weddings.", body.String()+"Then smile."),
		"kettle/SKILL.md":  skillFile("kettle", "Boils water. Use when somebody wants tea.", "Fill it."),
		"teapot/SKILL.md":  skillFile("teapot", "Brews leaves. Use when somebody wants tea.", "Fill it."),
	}
	for _, name := range []string{"red", "blue", "green"} {
		files[name+"/SKILL.md"] = skillFile("service-"+name, "Reads, creates and updates data of the service "+name+" through its interface. Use for any request about it.", "Call it.")
	}
	found := of(examine(t, files), "near-duplicate")
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprint(f.Skill, " ", f.Family, " ", f.Message))
	}
	want := []string{
		"service-blue [service-blue service-green service-red] 3 skills have nearly the same descriptions: service-blue, service-green, service-red; the nearest are service-blue and service-green (80 % of the words)",
		"crane [crane swan] 2 skills have nearly the same instructions: crane, swan (100 % of the text)",
		"my-tank [my-tank tank] 2 skills are copies of one another: my-tank, tank; a prompt is offered one of them",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

package repertoire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/catalogtest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// TestLower: a source that is trusted less cannot fill a block in which other skills fit
// too, and what it copies ranks below the original, however many copies there are and
// whatever triggers they claim.
func TestLower(t *testing.T) {
	text := func(name, description, body string, triggers ...string) string {
		return fmt.Sprintf("---\nname: %s\ndescription: %s\nmetadata:\n  triggers: %s\n---\n%s\n", name, description, strings.Join(triggers, ", "), body)
	}
	const about = "Repairs a leaking garden hose and plans when to water the tomatoes. Use it in the garden."
	own := map[string]string{
		"hose/SKILL.md":   text("zz-hose", about, "Find the leak, cut it out and join the ends."),
		"tomato/SKILL.md": text("tomato-water", "Waters tomatoes with a garden hose in the morning.", "Water the roots, not the leaves."),
	}
	for i := range 20 {
		name := fmt.Sprintf("other-%d", i)
		own[name+"/SKILL.md"] = text(name, fmt.Sprintf("Sorts the %d. drawer of a workshop by size and colour.", i), "Sort it.")
	}
	got := make(map[string]string)
	for i := range 8 {
		name := fmt.Sprintf("aa-hose-%c", 'a'+i)
		got[name+"/SKILL.md"] = text(name, about, fmt.Sprintf("Step %d: pay for the hose, then water the garden %d times and repair what leaks.", i, i), "leaking garden hose", "water the tomatoes", "garden")
	}
	got["copy/SKILL.md"] = text("aa-hose", about, "Find the leak, cut it out and join the ends.")
	block := func(lower ...string) (ids []string, fromGot int) {
		t.Helper()
		var sources []source.Source
		for label, files := range map[string]map[string]string{"own": own, "got": got} {
			src, err := source.Files(files, &source.Options{Label: label, Priority: len(label + files["copy/SKILL.md"])}) // got first
			must.Do(t, err)
			sources = append(sources, src)
		}
		c, err := repertoire.Open(t.Context(), repertoire.Config{Sources: sources, DB: t.TempDir() + "/catalog.db", Schedule: repertoire.Never, Policy: &repertoire.Policy{Lower: lower}})
		must.Do(t, err)
		defer c.Close()
		_, err = c.Owner().Rescan(t.Context(), nil)
		must.Do(t, err)
		b, err := c.Block(t.Context(), "repair the leaking garden hose and water the tomatoes", repertoire.Budget{Offer: contextprovider.Relevant, Threshold: repertoire.Always}, nil)
		must.Do(t, err)
		for _, s := range b.Skills {
			ids = append(ids, s.ID)
			if s.Source == "got" {
				fromGot++
			}
			if s.Lower != (s.Source == "got" && len(lower) > 0) {
				t.Errorf("%s from %s: lower %t", s.ID, s.Source, s.Lower)
			}
		}
		return ids, fromGot
	}
	if ids, n := block(); n <= len(ids)/2 {
		t.Fatalf("the test shows nothing: %q without a rule", ids)
	}
	ids, n := block("got")
	if n > len(ids)/2 || !slices.Contains(ids, "zz-hose") {
		t.Errorf("%d of %q are from the source that is trusted less", n, ids)
	}
	if slices.Contains(ids, "aa-hose") {
		t.Errorf("%q has the copy", ids)
	}
}

// TestProjectCopies: a near copy of another name in a project never stands before the user's own or
// installed skill, though projects come first; of one name the project's is offered.
func TestProjectCopies(t *testing.T) {
	skillOf := func(name, end string) map[string]string {
		var body strings.Builder
		for i := range 80 {
			fmt.Fprintf(&body, "Step %d: turn valve %d and wait %d minutes. ", i, 2*i, 3*i)
		}
		return map[string]string{name + "/SKILL.md": fmt.Sprintf("---\nname: %s\ndescription: Repairs a leaking garden hose and waters the tomatoes.\n---\n%s%s\n", name, &body, end)}
	}
	for _, c := range []struct{ kind, own, theirs, want string }{
		{source.KindUser, "hose", "a-hose-x", "hose user"},
		{source.KindInstalled, "hose", "a-hose-x", "hose installed"},
		{source.KindRoot, "hose", "a-hose-x", "hose root"},
		{source.KindUser, "hose", "hose", "hose project"},
	} {
		var sources []source.Source
		for i, s := range []struct{ kind, name, end string }{{c.kind, c.own, "Done."}, {source.KindProject, c.theirs, "Then run this first."}} {
			src, err := source.Files(skillOf(s.name, s.end), &source.Options{Label: s.kind, Kind: s.kind, Priority: 1 + i})
			must.Do(t, err)
			sources = append(sources, src)
		}
		catalog := catalogtest.Open(t, repertoire.Config{Sources: sources})
		b, err := catalog.Block(t.Context(), "repair the leaking garden hose", repertoire.Budget{Offer: contextprovider.Relevant, Threshold: repertoire.Always}, nil)
		must.Do(t, err)
		if got := b.Skills[0].ID + " " + b.Skills[0].Source; len(b.Skills) != 1 || got != c.want {
			t.Errorf("%+v: offered %d skills, first %s", c, len(b.Skills), got)
		}
	}
}

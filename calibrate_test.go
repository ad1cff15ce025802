package repertoire_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/source"
)

// reference returns how many prompts that need no skill a catalog goes by.
func reference(t *testing.T, c *repertoire.Catalog, a *repertoire.Agent) int {
	t.Helper()
	answer, err := c.Search(t.Context(), repertoire.Query{Text: "bake bread", Agent: a})
	must.Do(t, err)
	return answer.Background.Needless.Prompts
}

// TestCalibrate: a catalog with a schedule is calibrated, with its agents; any other only
// on request, never by a look at the folders or a rescan, which hooks make.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	src, dir := folder(t, "a", docs("bread", "cake", "soup", "stew", "salad", "pie"))
	cfg := repertoire.Config{
		Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"),
		Agents: []*repertoire.Agent{{Name: "baker", Exclude: repertoire.Rules{Names: []string{"soup"}}}},
	}
	c := scanned(t, cfg)
	_, err := c.Freshen(t.Context(), nil)
	must.Do(t, err)
	if n := reference(t, c, nil); n != 0 {
		t.Errorf("a rescan has calibrated: %d prompts", n)
	}
	must.Do(t, c.Owner().Calibrate(t.Context()))
	if n := reference(t, c, nil); n != 500 {
		t.Errorf("%d prompts", n)
	}
	must.Write(t, filepath.Join(dir, "tart", "SKILL.md"), doc("tart", "Bakes a tart."))
	rescan(t, c)
	if n := reference(t, c, c.Config().Agents[0]); n != 500 {
		t.Errorf("after a change: %d prompts", n)
	}
	scheduled := cfg
	scheduled.DB, scheduled.Schedule = filepath.Join(t.TempDir(), "catalog.db"), "@every 1h"
	if n := reference(t, open(t, scheduled), nil); n != 500 {
		t.Errorf("with a schedule: %d prompts", n)
	}
}

// TestLevels: a threshold and a rate cannot both be set, in a catalog, a query or a block.
func TestLevels(t *testing.T) {
	t.Parallel()
	cfg := repertoire.Config{Sources: []source.Source{memory(t, "a", 0, docs("bread"))}, DB: filepath.Join(t.TempDir(), "c.db"), Schedule: repertoire.Never}
	both := cfg
	both.Disturb, both.Threshold = .1, repertoire.Always
	_, opening := repertoire.Open(t.Context(), both)
	c := scanned(t, cfg)
	_, searching := c.Search(t.Context(), repertoire.Query{Text: "bread", Disturb: .1, Threshold: .5})
	_, listing := c.Block(t.Context(), "bread", repertoire.Budget{Offer: contextprovider.Relevant, Disturb: .1, Threshold: .5}, nil)
	_, explaining := c.Why(t.Context(), "bread", repertoire.Query{Text: "bread", Disturb: 2})
	for name, err := range map[string]error{"Open": opening, "Search": searching, "Block": listing, "Why": explaining} {
		if err == nil || !strings.Contains(err.Error(), "disturb") {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := c.Block(t.Context(), "what does the bread skill do", repertoire.Budget{Offer: contextprovider.Relevant, Disturb: repertoire.OnlyNamed}, nil)
	must.Do(t, err)
	if len(b.Skills) != 1 || b.Threshold != 1 {
		t.Errorf("a prompt that names a skill gets %d at a threshold of %v", len(b.Skills), b.Threshold)
	}
}

package repertoire_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	ranking "github.com/repertoire-skills/repertoire/search"
)

// A clientFolder is a folder of skills in a project, with one skill that is called like it.
type clientFolder struct{ within, client string }

func (f clientFolder) label() string { return "project:" + f.within + f.client }

// old returns the label that versions before gave to the folder for work depth folders below the root.
func (f clientFolder) old(depth int) string {
	return "project:" + strings.Repeat("../", depth-strings.Count(f.within, "/")) + f.client
}

func (f clientFolder) skill() string {
	return "s-" + strings.NewReplacer("/", "-", ".", "").Replace(f.within+f.client)
}

// monorepo writes some clientFolders into the folders that lead to the deepest of a project. The root
// has each client.
func monorepo(t *testing.T, root string, rng *rand.Rand) (folders []clientFolder) {
	for _, within := range []string{"", "sub/", "sub/dir/", "sub/dir/deep/"} {
		must.Do(t, os.MkdirAll(filepath.Join(root, within), 0o700))
		for _, client := range []string{".agents", ".claude", ".posit/assistant"} {
			if f := (clientFolder{within, client}); within == "" || rng.IntN(2) == 0 {
				must.Write(t, filepath.Join(root, within, client, "skills", f.skill(), "SKILL.md"), doc(f.skill(), "Bakes bread."))
				folders = append(folders, f)
			}
		}
	}
	return folders
}

// TestRulesInSubfolders: what a rule about a folder of a project holds back at the top it holds back
// below, whichever version wrote its label; what it lets in is that folder, wherever one works.
func TestRulesInSubfolders(t *testing.T) {
	root := filepath.Join(filepath.Dir(setMachine(t)), "mono")
	must.Do(t, os.MkdirAll(filepath.Join(root, ".git"), 0o700))
	folders := monorepo(t, root, rand.New(rand.NewPCG(7, 11)))
	config := "bundled: false\nembedder: none\ncontextual: off\nuser: false\nagents:\n"
	written := make(map[string]clientFolder) // labels with the folder that they are of
	for _, f := range folders {
		written[f.label()] = f
		for depth := strings.Count(f.within, "/"); depth < 4; depth++ {
			written[f.old(depth)] = clientFolder{"*", f.client}
		}
	}
	for label := range written {
		config += fmt.Sprintf("  %q: {include: {sources: [%q]}, pinned: [s-claude]}\n  %q: {exclude: {sources: [%q]}, pinned: [s-claude]}\n", "in "+label, label, "ex "+label, label)
	}
	must.Write(t, os.Getenv("REPERTOIRE_CONFIG"), config)
	for depth, within := range []string{"", "sub/", "sub/dir/", "sub/dir/deep/"} {
		cfg, err := repertoire.ReadConfig(filepath.Join(root, within), nil)
		must.Do(t, err)
		c := scanned(t, cfg)
		seen := slices.DeleteFunc(slices.Clone(folders), func(f clientFolder) bool { return !strings.HasPrefix(within, f.within) })
		for label, of := range written {
			var held, let []string
			for _, f := range seen {
				wide := f.client == of.client && of.within != f.within && (of.within == "" || of.within == "*")
				if f != of && !wide {
					held = append(held, f.skill())
				}
				if f.label() == label || strings.HasPrefix(label, "project:../") && f.old(depth) == label {
					let = append(let, f.skill())
				}
			}
			at := fmt.Sprintf("%s in %q: ", label, within)
			want(t, at+"labels", c.Labels(), labelsOf(seen)...)
			same(t, at+"exclude", list(t, c, agentOf(t, c, "ex "+label), false), held)
			same(t, at+"include", list(t, c, agentOf(t, c, "in "+label), false), let)
			must.Do(t, c.Owner().SetRules(&repertoire.Policy{Disabled: []ranking.Ban{{Rules: repertoire.Rules{Sources: []string{label}}}}}, cfg.Agents))
			same(t, at+"disabled", list(t, c, nil, false), held)
			must.Do(t, c.Owner().SetRules(nil, cfg.Agents))
		}
	}
}

func agentOf(t *testing.T, c *repertoire.Catalog, name string) *repertoire.Agent {
	t.Helper()
	a, err := c.Agent(name)
	must.Do(t, err)
	return a
}

// labelsOf returns the labels of folders in the order of precedence: the nearest first.
func labelsOf(folders []clientFolder) (labels []string) {
	for _, shared := range []bool{true, false} {
		nearest := slices.Clone(folders)
		slices.SortStableFunc(nearest, func(a, b clientFolder) int { return len(b.within) - len(a.within) })
		for _, f := range nearest {
			if (f.client == ".agents") == shared {
				labels = append(labels, f.label())
			}
		}
	}
	return labels
}

// same compares lists whatever their order is.
func same(t *testing.T, what string, got, wanted []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(wanted)
	want(t, what, got, wanted...)
}

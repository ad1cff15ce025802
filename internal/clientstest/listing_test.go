package clientstest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/clientstest"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// manySkills is how many skills lie in a client's own folder.
const manySkills = 300

// listed returns the name and the description of a skill in a client's own folder.
func listed(i int) (name, description string) {
	name = fmt.Sprintf("ledger-%03d", i)
	return name, fmt.Sprintf("Ledger %03d of the harbour: which ships came in, what they paid for the berth, and who signed for it. "+
		"Use when somebody asks for a ship, a berth, a fee or a signature of quarter %d, or wants an entry corrected, copied or explained.", i, i)
}

// TestListing measures what each client does by itself with many skills in its own folder.
func TestListing(t *testing.T) {
	dir := modules(t)
	program := build(t)
	rows := make(map[string]string)
	for _, c := range clientstest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(c.Program))); err != nil {
				t.Skipf("%s is not installed: %v", c.Package, err)
			}
			tr := newTrial(t, c, dir, program)
			tr.fill(t)
			rows[c.Name] = tr.listing(t, "")
			if c.Name == "claude" {
				tr.setup(t)
				tr.setup(t, "--listing", "name-only")
				rows[c.Name] += "\n" + tr.listing(t, " after `--listing name-only`")
				tr.setup(t, "--remove")
				if settings := tr.files(t)[".claude/settings.json"]; strings.Contains(settings, "ledger") {
					t.Errorf("--remove leaves %s", settings)
				}
			}
		})
	}
	if !t.Failed() {
		compare(t, listingTable, rows)
	}
}

// fill writes the skills into the client's own folder, and has the catalog know them.
func (tr *trial) fill(t *testing.T) {
	t.Helper()
	c, _ := client.Find(tr.Name)
	m := client.Machine{OS: "linux", Home: tr.Dir, Getenv: func(string) string { return "" }}
	own := c.Skills[0](&m)
	for i := range manySkills {
		name, description := listed(i)
		must.Write(t, filepath.Join(own, name, "SKILL.md"), fmt.Sprintf("---\nname: %s\ndescription: %q\n---\nLook it up.\n", name, description))
	}
	must.Write(t, filepath.Join(tr.Dir, ".config/repertoire/config.yaml"), "bundled: false\nuser: false\nproject: false\nroots: ["+own+"]\n")
}

// listing returns the row of what the model is shown of the skills.
func (tr *trial) listing(t *testing.T, how string) string {
	t.Helper()
	asked := tr.ask(t, thanks)[0]
	names, whole, chars := 0, 0, 0
	for _, text := range asked.Texts {
		// Some list paths, and the home has a name of another length each time.
		if lower := strings.ToLower(strings.ReplaceAll(text.Text, tr.Dir, "/home/u")); strings.Contains(lower, "ledger") { // without what stands around all of them
			chars += strings.LastIndex(lower, "ledger") - strings.Index(lower, "ledger")
		}
	}
	for i := range manySkills {
		name, description := listed(i)
		if len(asked.With(name)) > 0 {
			names++
		}
		if len(asked.With(description)) > 0 {
			whole++
		}
	}
	if names == 0 {
		t.Error("the client lists none of the skills in the folder that it is described with")
	}
	return fmt.Sprintf("| `%s` %s%s | %d | %d | %s |", tr.Package, tr.Version(), how, names, whole, figures.Thousands(chars))
}

// compare holds rows to the page, or writes them there.
func compare(t *testing.T, table table, rows map[string]string) {
	t.Helper()
	page := readPage(t, table)
	for name, row := range page.rows {
		if rows[name] == "" {
			rows[name] = row // it is not installed here
		}
	}
	if *update {
		page.write(t, table, rows)
	} else if diff := cmp.Diff(page.rows, rows); diff != "" {
		t.Errorf("docs/clients.md says something else (-) than the clients do (+); -update writes it\n%s", diff)
	}
}

package doctor

import (
	"fmt"
	"testing"

	"github.com/repertoire-skills/repertoire"
)

// TestCycles: a catalog in which all skills require each other has as many findings as skills at
// most, and each names a few of them.
func TestCycles(t *testing.T) {
	const n = 300
	entries := make([]repertoire.Entry, n)
	for i := range entries {
		entries[i].ID = fmt.Sprint(i)
		for j := range n {
			if j != i {
				entries[i].Requires = append(entries[i].Requires, fmt.Sprint(j))
			}
		}
	}
	list := cycles(entries)
	if len(list) == 0 || len(list) > n {
		t.Errorf("%d circles", len(list))
	}
	for _, c := range list {
		if all := len(c.members) + c.more; all < 2 || all > n || len(c.members) > maxMembers {
			t.Errorf("%d skills in a circle, of which %d are named", all, len(c.members))
		}
	}
	pair := []repertoire.Entry{{}, {}, {}}
	for i, e := range []struct{ id, requires string }{{"a", "b"}, {"b", "a"}, {"c", "a"}} {
		pair[i].ID, pair[i].Requires = e.id, []string{e.requires}
	}
	if list := cycles(pair); len(list) != 1 || len(list[0].members) != 2 || list[0].more != 0 {
		t.Errorf("%+v", list)
	}
}

// TestMissingNames: hints for names that are missing are looked for in a bounded time.
func TestMissingNames(t *testing.T) {
	entries := make([]repertoire.Entry, 20_000)
	for i := range entries {
		entries[i].ID, entries[i].Name = fmt.Sprint("s", i), fmt.Sprint("s", i)
	}
	most := maxCompared / len(entries)
	for range most + 3 {
		entries[0].Lacking = append(entries[0].Lacking, "s1234x")
	}
	var d diagnosis
	d.needs(entries)
	hints := 0
	for _, f := range d.report.Findings {
		if f.Problem.Hint != "" {
			hints++
		}
	}
	if len(d.report.Findings) != most+3 || hints != most {
		t.Errorf("%d findings, %d hints; want %d hints", len(d.report.Findings), hints, most)
	}
}

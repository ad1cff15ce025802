package doctor_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
)

// TestListing: the cost of a listing counts what an agent sees, and says what costs most.
func TestListing(t *testing.T) {
	files := make(map[string]string)
	for i := range 20 {
		name := fmt.Sprintf("letter-%c", 'a'+i)
		files[name+"/SKILL.md"] = skillFile(name, fmt.Sprintf("Use for letter %d. ", i)+strings.Repeat(fmt.Sprintf("It writes line%d of it. ", i), 20+i), "Write.")
	}
	few := &repertoire.Agent{Name: "few", Include: repertoire.Rules{Names: []string{"letter-[a-c]"}}}
	most := &repertoire.Agent{Name: "most", Exclude: repertoire.Rules{Names: []string{"letter-t"}}}
	found := of(examine(t, files, few, most), "listing-cost")
	if len(found) != 2 || !strings.HasPrefix(found[0].Message, "Listing all 20 skills of the catalog costs a client ") ||
		!strings.Contains(found[0].Message, "the longest are letter-t (") || !strings.Contains(found[1].Message, "all 19 skills of agent most") ||
		!strings.Contains(found[1].Message, "the longest are letter-s (") {
		t.Errorf("%v", found)
	}
}

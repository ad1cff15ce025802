package index_test

import (
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/skill"
)

func TestTotal(t *testing.T) {
	r := index.Report{Source: "a", Found: 3, Added: 2, Unchanged: 1, Complete: true, Problems: make([]skill.Problem, 2), Took: 2 * time.Millisecond}
	total := index.Total([]index.Report{r, {Found: 1, Removed: 1, Changed: 1, Refused: 1}})
	if got := total.String(); got != "4 found, 2 added, 1 changed, 1 removed, 1 refused, 1 unchanged in 2 ms (incomplete: nothing was removed where it could not look)" || len(total.Problems) != 2 {
		t.Errorf("total %s, %d problems", got, len(total.Problems))
	}
	later := index.Report{Source: "a", Found: 5, Added: 2, Changed: 1, Unchanged: 2, Complete: true}
	if got := r.Then(later).String(); got != "5 found, 4 added, 1 changed, 0 removed, 0 refused, 1 unchanged in 2 ms" {
		t.Errorf("one after the other: %s", got)
	}
}

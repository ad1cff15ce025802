package doctor

import (
	"fmt"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// needs reports skills that require a skill which the catalog does not have.
func (d *diagnosis) needs(entries []repertoire.Entry) {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	for _, e := range entries {
		for _, want := range e.Lacking {
			d.add(e.Source, e.ID, skill.Problem{Rule: "unmet-requirement", Severity: skill.Warning, Path: e.Location,
				Message: fmt.Sprintf("it requires the skill %q, which is not in the catalog", want),
				Hint:    words.DidYouMean(words.Similar(want, names))}, false)
		}
	}
}

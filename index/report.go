package index

import (
	"fmt"

	"github.com/repertoire-skills/repertoire/internal/figures"
)

// String returns the figures of r in one line, without its source and problems.
func (r Report) String() string {
	n := figures.Thousands
	s := fmt.Sprintf("%s found, %s added, %s changed, %s removed, %s refused, %s unchanged in %s",
		n(r.Found), n(r.Added), n(r.Changed), n(r.Removed), n(r.Refused), n(r.Unchanged), figures.Duration(r.Took))
	if r.Unreadable > 0 {
		s += fmt.Sprintf(", %d unreadable", r.Unreadable)
	}
	switch {
	case r.Away:
		s += " (away: its skills are kept, but not offered)"
	case !r.Complete:
		s += " (incomplete: nothing was removed where it could not look)"
	}
	return s
}

// Total adds up reports. The sum has no source, and is complete if all are.
func Total(reports []Report) Report {
	total := Report{Complete: true}
	for _, r := range reports {
		total.Found += r.Found
		total.Added += r.Added
		total.Changed += r.Changed
		total.Removed += r.Removed
		total.Unchanged += r.Unchanged
		total.Refused += r.Refused
		total.Unreadable += r.Unreadable
		total.Complete = total.Complete && r.Complete
		total.Problems = append(total.Problems, r.Problems...)
		total.Took += r.Took
	}
	return total
}

package index

import (
	"fmt"
	"time"
)

// String returns the figures of r in one line, without its source and problems.
func (r Report) String() string {
	s := fmt.Sprintf("%d found, %d added, %d changed, %d removed, %d refused, %d unchanged in %v",
		r.Found, r.Added, r.Changed, r.Removed, r.Refused, r.Unchanged, r.Took.Round(time.Millisecond))
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

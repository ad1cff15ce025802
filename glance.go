package repertoire

import (
	"context"
	"time"

	"github.com/repertoire-skills/repertoire/index"
)

// A Glance is what a short look at the sources showed.
type Glance = index.Glance

// Glance looks whether the catalog can answer as it is: whether its ranking is
// compiled for these sources, and whether their folders are as the last complete
// rescan saw them. It looks at the 128 that are most likely to have changed and
// then, if there are more, for about the time of limit at others: it goes on where
// the last Glance, of whatever process, stopped. A catalog that was opened with
// Defer needs no database for it, nor for the answers after it.
func (c *Catalog) Glance(ctx context.Context, limit time.Duration) Glance {
	return c.state.Load().scanner.Glance(ctx, limit)
}

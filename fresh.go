package repertoire

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/repertoire-skills/repertoire/index"
)

// FreshenOptions bound what Freshen does. A nil *FreshenOptions is all zero
// values.
type FreshenOptions struct {
	Look   time.Duration // most time for a look at the folders of the skills, see Glance; 0 means 1 s
	Scan   time.Duration // most time for a rescan of a catalog that was indexed before; 0 means 1 s
	Rescan bool          // rescan even if the look shows no change, for the reports
	Found  func()        // called for each SKILL.md of a catalog that is indexed for the first time; nil means that nothing is called
}

// A Freshness says how up to date a catalog is.
type Freshness struct {
	// Glance is what a look at the folders showed. Current: ranking is compiled,
	// and nothing that was looked at has changed. All: everything was looked at.
	// Looked: number of folders that were.
	index.Glance
	Reports []Report // of the rescan; nil when there was none
	Cut     bool     // the rescan ran out of time
}

// Freshen brings the catalog up to date for a process that answers once and
// ends. A catalog that has never been indexed is indexed completely. Any other is
// brought up to date as far as the limits of o, which may be nil, allow: changes
// beyond them are missing from the answers, and later calls go on.
func (c *Catalog) Freshen(ctx context.Context, o *FreshenOptions) (Freshness, error) {
	if o == nil {
		o = new(FreshenOptions)
	}
	f := c.Glance(ctx, cmp.Or(o.Look, time.Second))
	if err := ctx.Err(); err != nil || f.Current && !o.Rescan {
		return f, err
	}
	indexed, err := c.Indexed(ctx)
	if err != nil {
		return f, err
	}
	if !indexed {
		f.Reports, err = c.Rescan(ctx, o.Found)
		return f, err
	}
	bounded, cancel := context.WithTimeout(ctx, cmp.Or(o.Scan, time.Second))
	defer cancel()
	f.Reports, err = c.Rescan(bounded, nil)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		f.Cut, err = true, nil
	}
	return f, err
}

// Glance looks whether the catalog can answer as it is: whether its ranking is
// compiled for these sources, and whether their folders are as the last complete
// rescan saw them. It looks at the 128 that are most likely to have changed and
// then, if there are more, for about the time of limit at others: it goes on where
// the last Glance, of whatever process, stopped. A catalog that was opened with
// Defer needs no database for it, nor for the answers after it.
func (c *Catalog) Glance(ctx context.Context, limit time.Duration) Freshness {
	return Freshness{Glance: c.state.Load().scanner.Glance(ctx, limit)}
}

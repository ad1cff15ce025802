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
	Look time.Duration // most time for a look at the folders of the skills, see Owner.Glance; 0 means 1 s
	Scan time.Duration // most time for a rescan of a catalog that was indexed before; 0 means 1 s
	// Partial answers from the part of the catalog that is there when the time of Scan is over,
	// instead of indexing completely a catalog that does not hold all of its sources yet.
	Partial bool
	Rescan  bool   // rescan even if the look shows no change, for the reports
	Found   func() // called for each SKILL.md of a catalog that is indexed for the first time; nil means that nothing is called
}

// A Freshness says how up to date a catalog is.
type Freshness struct {
	// Glance is what a look at the folders showed. Current: ranking is compiled,
	// and nothing that was looked at has changed. All: everything was looked at.
	// Looked: number of folders that were.
	index.Glance
	Reports []Report // of the rescan; nil when there was none
	Cut     bool     // the rescan ran out of time
	Partial bool     // the catalog does not hold all of its sources yet, see FreshenOptions

	// Stale says why the catalog could not be brought up to date, such as a full disk:
	// answers are as of the last scan. nil means that they are up to date, as far as
	// they were looked at.
	Stale error
}

// errCut says that a rescan ran out of time.
var errCut = errors.New("there was no time to read all changes; the next call goes on")

// Freshen brings the catalog up to date for a process that answers once and
// ends. A catalog that has never been indexed is indexed completely. Any other is
// brought up to date as far as the limits of o, which may be nil, allow: changes
// beyond them are missing from the answers, and later calls go on. If it cannot be
// brought up to date and yet can answer, that is no error, see Freshness.Stale. A catalog
// with Config.Store pulls its state, and has no folders to look at.
func (c *Catalog) Freshen(ctx context.Context, o *FreshenOptions) (Freshness, error) {
	if o == nil {
		o = new(FreshenOptions)
	}
	return c.keeper.freshen(ctx, o)
}

// freshen implements keeper.
func (l *local) freshen(ctx context.Context, o *FreshenOptions) (Freshness, error) {
	f := l.glance(ctx, cmp.Or(o.Look, time.Second))
	if err := ctx.Err(); err != nil || f.Current && !o.Rescan {
		return f, err
	}
	indexed, err := l.indexed(ctx)
	if err == nil && !indexed {
		if o.Partial {
			f.Partial, err = l.usable(ctx)
		}
		if err != nil || !f.Partial {
			f.Reports, err = l.rescan(ctx, o.Found, false)
			return f, err
		}
	}
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, cmp.Or(o.Scan, time.Second))
		defer cancel()
		f.Reports, err = l.rescan(bounded, nil, false)
		if f.Cut = bounded.Err() != nil && err != nil; f.Cut {
			err = errCut
		}
	}
	if ctx.Err() != nil {
		return f, ctx.Err()
	}
	if f.Partial {
		indexed, unknown := l.indexed(ctx)
		f.Partial = unknown != nil || !indexed
	}
	if err != nil && !l.answers(ctx) {
		return f, err
	}
	if f.Stale = err; f.Current {
		f.Stale = nil // all was as the last scan saw it
	}
	return f, nil
}

// answers reports whether the catalog has a ranking that an earlier scan left.
func (l *local) answers(ctx context.Context) bool {
	_, err := l.now.Load().index.Current(ctx)
	return err == nil
}

// glance implements keeper.
func (l *local) glance(ctx context.Context, limit time.Duration) Freshness {
	return Freshness{Glance: l.now.Load().scanner.Glance(ctx, limit)}
}

package hook

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/session"
)

// A Catalog is the open catalog that a hook asks; *repertoire.Catalog is one.
type Catalog interface {
	session.Catalog // which makes blocks

	Path() string // of the database
	Glance(ctx context.Context, limit time.Duration) repertoire.Freshness
	Indexed(ctx context.Context) (bool, error)
	Rescan(ctx context.Context, found func()) ([]repertoire.Report, error)
	Size(ctx context.Context) (offered, found int, err error)
	List(ctx context.Context, a *repertoire.Agent, shadowed bool) ([]repertoire.Entry, error)
	Close() error
}

// hurry is how long a hook looks for changes: it runs at every prompt and must not
// be felt, so it looks at a part of a large catalog each time.
const hurry = time.Millisecond

// ready reports whether the catalog can answer. It brings it up to date if a
// quarter of the time is enough, and else leaves that to a process in the
// background.
func (r *run) ready(ctx context.Context, c Catalog) (bool, error) {
	if c.Glance(ctx, hurry).Current {
		return true, nil
	}
	db := c.Path()
	r.stale.Store(&db)
	if _, err := os.Stat(db); err != nil {
		return false, nil
	}
	if indexed, err := c.Indexed(ctx); err != nil || !indexed {
		return false, err
	}
	// A writer may wait for another for longer than ctx allows.
	fresh := make(chan error, 1)
	bounded, cancel := context.WithTimeout(ctx, time.Until(r.end)/4)
	go func() {
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				fresh <- fmt.Errorf("panic: %v", p)
			}
		}()
		_, err := c.Rescan(bounded, nil)
		fresh <- err
	}()
	select {
	case err := <-fresh:
		if err == nil {
			r.stale.Store(nil)
		}
	case <-bounded.Done():
	}
	return true, nil
}

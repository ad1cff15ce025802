package repertoire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

// rescan implements keeper.
func (l *local) rescan(ctx context.Context, found func(), all bool) ([]Report, error) {
	by := (*index.Scanner).Rescan
	if all {
		by = (*index.Scanner).RescanAll
	}
	l.scans.begin()
	defer l.scans.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now.Load()
	reports, err := l.sync(ctx, now, found, by)
	if now.isLost(err) {
		reports, err = l.reopen(ctx, found, by)
	}
	for i := range reports {
		r := &reports[i]
		r.Problems = slices.Clone(r.Problems) // the scanner keeps its own for the next rescan
		for j, p := range r.Problems {
			r.Problems[j] = now.reader.locate(r.Source, p)
		}
	}
	return reports, err
}

// sync brings one file in step; the caller holds the lock.
func (l *local) sync(ctx context.Context, f *catalogFile, found func(), by scan) ([]Report, error) {
	if err := f.file.Ready(ctx); err != nil {
		return nil, err
	}
	if f.file.ReadOnly() {
		err := f.file.ReadOnlyError()
		if f.file.CanWrite(ctx) {
			err = fmt.Errorf("it can be written again: %w: %w", store.ErrStale, err)
		}
		return nil, err
	}
	return by(f.scanner, ctx, found, func(ctx context.Context) error {
		if l.by.Inline {
			if err := f.index.Embed(ctx, nil); err != nil {
				return err
			}
		}
		return l.publish(ctx, f)
	})
}

// publish compiles the ranking. That it could not be is no reason to fail: the
// database ranks then, unless a person must put something away first.
func (l *local) publish(ctx context.Context, f *catalogFile) error {
	err := f.index.Publish(ctx, l.timer != nil)
	if err == nil || ctx.Err() != nil || f.isLost(err) || errors.Is(err, regular.ErrSpecial) {
		return err
	}
	l.log.Warn("ranking from the database", "error", err)
	return nil
}

// calibrate implements keeper.
func (l *local) calibrate(ctx context.Context) error {
	return l.use(ctx, func(f *catalogFile) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		return f.index.Calibrate(ctx, f.search.Calibrator(l.rules.Load().agents))
	})
}

// indexed implements keeper.
func (l *local) indexed(ctx context.Context) (indexed bool, err error) {
	err = l.use(ctx, func(f *catalogFile) (err error) {
		if indexed, err = f.index.Indexed(ctx, labelsOf(f.sources)); err == nil && indexed && l.by.Inline {
			indexed, err = f.index.Embedded(ctx)
		}
		return err
	})
	if err != nil && ctx.Err() == nil && l.published(ctx) {
		return true, nil // the file cannot be opened, as on a full disk, but what is published answers
	}
	return indexed, err
}

// published reports whether what is published can answer about all sources.
func (l *local) published(ctx context.Context) bool {
	f := l.now.Load()
	return f.index.Published(ctx, f.scanner.Sources())
}

// usable implements keeper. It makes no catalog that would be empty.
func (l *local) usable(ctx context.Context) (usable bool, err error) {
	f := l.now.Load()
	if _, err := os.Stat(f.path); err != nil && len(seeds(f.path, f.sources)) == 0 {
		return false, nil
	}
	err = l.use(ctx, func(f *catalogFile) (err error) {
		usable, err = f.index.Usable(ctx, labelsOf(f.sources))
		return err
	})
	return usable, err
}

// forget implements keeper.
func (l *local) forget(ctx context.Context, label string) error {
	return l.use(ctx, func(f *catalogFile) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		return f.index.Forget(ctx, label)
	})
}

// embed implements keeper.
func (l *local) embed(ctx context.Context, progress func(done, all int)) error {
	return l.use(ctx, func(f *catalogFile) error {
		if err := f.file.Ready(ctx); err != nil || f.file.ReadOnly() {
			return err
		}
		if err := f.index.Embed(ctx, progress); err != nil {
			return err
		}
		return l.publish(ctx, f)
	})
}

// encode implements keeper: it publishes in steps what it has embedded.
func (l *local) encode(ctx context.Context, progress func(done, all int)) error {
	if slow := l.by.Measured().Slow; slow != "" {
		l.log.Info("the encoder is not used", "because", slow)
		return nil
	}
	return l.use(ctx, func(f *catalogFile) error {
		if err := f.file.Ready(ctx); err != nil || f.file.ReadOnly() {
			return err
		}
		for step := firstStep; ; step *= 2 {
			stored, done, err := f.index.Contextual.EmbedFor(ctx, step, progress)
			if err == nil { // what was published before counts no more, even if ctx has ended
				l.mu.Lock()
				f.scanner.Follow(stored)
				l.told.Generation = stored.After(l.told.Generation) // vectors are nothing to tell
				l.mu.Unlock()
				err = l.publish(context.WithoutCancel(ctx), f)
			}
			if done || err != nil {
				return err
			}
		}
	})
}

// firstStep is for how long the encoder embeds before its vectors are published for the first
// time. Each step is twice as long as the one before, because publishing takes longer, too.
const firstStep = 2 * time.Second

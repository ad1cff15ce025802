package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire/store"
)

// Retain removes all sources whose labels are not listed, with their skills.
func (x *Syncer) Retain(ctx context.Context, labels []string) error {
	return x.remove(ctx, func(label string) bool { return !slices.Contains(labels, label) })
}

// Forget removes the source with a label, with its skills.
func (x *Syncer) Forget(ctx context.Context, label string) error {
	return x.remove(ctx, func(l string) bool { return l == label })
}

// remove removes the sources whose labels gone reports, with their skills.
func (x *Syncer) remove(ctx context.Context, gone func(label string) bool) error {
	sources, err := x.store.Sources(ctx)
	if err != nil {
		return err
	}
	for _, src := range sources {
		if !gone(src.Label) {
			continue
		}
		err := x.store.Update(ctx, func(tx store.Tx) error {
			return errors.Join(tx.DeleteSource(src.Row), tx.PruneVectors())
		})
		if err != nil {
			return fmt.Errorf("removing source %s: %w", src.Label, err)
		}
	}
	return nil
}

// Indexed reports whether every source with one of these labels has been walked
// completely at least once, or is away. Then waiting for a walk finds no more skills.
func (x *Syncer) Indexed(ctx context.Context, labels []string) (bool, error) {
	settled, err := x.settled(ctx)
	return err == nil && !slices.ContainsFunc(labels, func(label string) bool { return !settled[label] }), err
}

// Usable reports whether any of the sources with these labels has been walked completely,
// or is away: then answers are right about a part of the skills.
func (x *Syncer) Usable(ctx context.Context, labels []string) (bool, error) {
	settled, err := x.settled(ctx)
	return err == nil && slices.ContainsFunc(labels, func(label string) bool { return settled[label] }), err
}

// settled returns which sources have been walked or are away, by label.
func (x *Syncer) settled(ctx context.Context) (map[string]bool, error) {
	sources, err := x.store.Sources(ctx)
	settled := make(map[string]bool)
	for _, src := range sources {
		settled[src.Label] = src.Settled()
	}
	return settled, err
}

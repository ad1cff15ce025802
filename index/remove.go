package index

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire/store"
)

// Retain removes all sources whose labels are not listed, with their skills.
func (x *Index) Retain(ctx context.Context, labels []string) error {
	return x.remove(ctx, func(label string) bool { return !slices.Contains(labels, label) })
}

// Forget removes the source with a label, with its skills.
func (x *Index) Forget(ctx context.Context, label string) error {
	return x.remove(ctx, func(l string) bool { return l == label })
}

// remove removes the sources whose labels gone reports, with their skills.
func (x *Index) remove(ctx context.Context, gone func(label string) bool) error {
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

package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

const (
	chunkWords = 160 // of a body in one vector
	maxChunks  = 8   // of a body; what a skill is about stands at its start
	embedBatch = 16  // skills whose texts are embedded at a time
)

// texts returns the texts of a skill that get a vector each: the description
// with the name first, then the body in chunks.
func texts(s *skill.Skill) []string {
	list := []string{s.Name + ": " + s.Description}
	words := strings.Fields(s.Body)
	for len(words) > 0 && len(list) <= maxChunks {
		n := min(chunkWords, len(words))
		list = append(list, strings.Join(words[:n], " "))
		words = words[n:]
	}
	return list
}

// Embed gives every text that has none a vector of the index's embedder, in
// small batches, each of which is kept: a run that was interrupted goes on
// where it stopped, and one that is called during another waits for it. When
// every text has one, the vectors of other models are removed. progress, if not
// nil, is told how many of all texts have a vector. Without an embedder there is
// nothing to do.
func (x *Index) Embed(ctx context.Context, progress func(done, all int)) error {
	if x.embedder == nil {
		return nil
	}
	select {
	case x.embedding <- struct{}{}:
		defer func() { <-x.embedding }()
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := x.coverage(ctx, x.db)
	if err == nil && !c.all() {
		c, err = x.embedMissing(ctx, progress)
	}
	if err != nil || !c.all() || c.texts == 0 {
		return err
	}
	return x.dropOthers(ctx)
}

func (x *Index) embedMissing(ctx context.Context, progress func(done, all int)) (coverage, error) {
	after := int64(0)
	for {
		ids, err := x.db.Unembedded(ctx, x.embedder.Model(), after, embedBatch)
		if err != nil {
			return coverage{}, err
		}
		if len(ids) == 0 {
			return x.coverage(ctx, x.db)
		}
		if err := x.embedSkills(ctx, x.embedder.Model(), ids); err != nil {
			return coverage{}, fmt.Errorf("embedding: %w", err)
		}
		after = ids[len(ids)-1]
		if progress == nil {
			continue
		}
		c, err := x.coverage(ctx, x.db)
		if err != nil {
			return c, err
		}
		progress(c.embedded, c.texts)
	}
}

// dropOthers removes the vectors of other models. An index does so once: two
// programs that open one catalog with different embedders must not make each
// other embed everything again and again.
func (x *Index) dropOthers(ctx context.Context) error {
	if x.dropped {
		return nil
	}
	models, err := x.db.Models(ctx)
	if err != nil {
		return err
	}
	own := x.embedder.Model()
	if slices.ContainsFunc(models, func(m store.Model) bool { return m.Name != own }) {
		err = x.db.Update(ctx, func(tx *store.Tx) error { return tx.DropModels(own) })
	}
	x.dropped = err == nil
	return err
}

// embedSkills embeds the texts of some skills that have no vector yet.
func (x *Index) embedSkills(ctx context.Context, model string, ids []int64) error {
	var missing []string
	var hashes [][]byte
	queued := make(map[string]bool)
	for _, id := range ids {
		s, ok, err := x.db.Skill(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			continue // removed since
		}
		for _, text := range texts(s) {
			hash := sha256.Sum256([]byte(text))
			has, err := x.db.HasVector(ctx, model, hash[:])
			if err != nil {
				return err
			}
			if !has && !queued[text] {
				queued[text] = true
				missing, hashes = append(missing, text), append(hashes, hash[:])
			}
		}
	}
	if len(missing) == 0 {
		return nil // another process was faster
	}
	vectors, err := x.embedder.Embed(ctx, embed.Document, missing)
	if len(vectors) > len(missing) || err == nil && len(vectors) < len(missing) {
		return fmt.Errorf("embedder returned %d vectors for %d texts", len(vectors), len(missing))
	}
	// What was embedded before an error is paid for: keep it.
	return errors.Join(err, x.keep(context.WithoutCancel(ctx), model, hashes, vectors))
}

// keep stores vectors, which belong to the first of the texts with these
// hashes.
func (x *Index) keep(ctx context.Context, model string, hashes [][]byte, vectors []embed.Vector) error {
	if len(vectors) == 0 {
		return nil
	}
	values := make([][]float32, len(vectors))
	for i, v := range vectors {
		values[i] = v
	}
	return x.db.Update(ctx, func(tx *store.Tx) error {
		return tx.PutVectors(model, hashes[:len(vectors)], values)
	})
}

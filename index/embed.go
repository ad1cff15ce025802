package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/store"
)

// embedBatch is how many skills have their texts embedded at a time.
const embedBatch = 32 // several for each processor

// Vectors gives the texts in a store the vectors of an embedder that they lack.
type Vectors struct {
	*counter
	embedding chan struct{} // holds one element while Embed runs
	dropped   bool          // the vectors of other models are removed; guarded by embedding

	// What was embedded and the store does not have yet, and the last time that it got some;
	// guarded by embedding.
	hashes, vectors [][]byte
	stored          Stored
}

// Stored says that the store got vectors: which generation it had before, and which it has since.
type Stored struct{ From, To store.Generation }

// After returns the generation that differs from g in vectors only: To, or g if there is none.
func (s Stored) After(g store.Generation) store.Generation {
	if g == s.From && s.To.Number == g.Number+1 {
		return s.To
	}
	return g
}

func newVectors(n *counter) *Vectors { return &Vectors{counter: n, embedding: make(chan struct{}, 1)} }

// Embed computes the missing vectors of the embedder, first those of what was added last. It
// stores them in small batches, so that an interrupted run resumes where it stopped. Only one
// Embed runs at a time; a second call waits for the first. When every text has a
// vector, Embed removes the vectors of other models. After each batch it calls
// progress, unless that is nil, with the number of embedded texts and the number
// of all texts. Without an embedder it does nothing.
func (v *Vectors) Embed(ctx context.Context, progress func(done, all int)) error {
	for {
		if _, done, err := v.EmbedFor(ctx, math.MaxInt64, progress); done || err != nil {
			return err
		}
	}
}

// EmbedFor is Embed for so long: it ends after the batch in which the time is over, and reports
// whether it has come to the end. So what is embedded can be published meanwhile. Vectors of the
// encoder are stored at the end, all in one: what is published without them stays in use until
// then. If it is interrupted, those are lost that are in no cache. It returns the last time that
// it stored vectors, the zero value if it never did.
func (v *Vectors) EmbedFor(ctx context.Context, most time.Duration, progress func(done, all int)) (last Stored, done bool, err error) {
	if v.embedder == nil {
		return last, true, nil
	}
	select {
	case v.embedding <- struct{}{}:
		defer func() { <-v.embedding }()
	case <-ctx.Done():
		return last, false, ctx.Err()
	}
	v.stored = last
	c, err := v.count(ctx, v.store)
	if done = true; err == nil && !c.all() {
		c, done, err = v.embedMissing(ctx, c, most, progress)
	}
	if err != nil || !c.all() || c.Texts == 0 || v.beside() {
		return v.stored, done, err
	}
	return v.stored, done, v.dropOthers(ctx)
}

// embedMissing embeds the texts that have no vector. It counts progress up from c,
// because counting all texts again after each batch would take longer than the
// batch. It stops after the batch in which the time is over; then done is false.
func (v *Vectors) embedMissing(ctx context.Context, c Coverage, most time.Duration, progress func(done, all int)) (_ Coverage, done bool, err error) {
	model, before, had, began := v.embedder.Model(), int64(0), c.Embedded, v.opts.Now()
	v.hashes, v.vectors = nil, nil // of a call that was interrupted
	if c := v.opts.Cache; c != nil {
		defer c.Close() // it closes what was open for reading, or is damaged
	}
	for late := false; ; late = v.opts.Now().Sub(began) >= most {
		missing, err := v.store.Unembedded(ctx, v.space(), before, embedBatch)
		if err != nil {
			return Coverage{}, false, err
		}
		if late || len(missing) == 0 {
			end := context.WithoutCancel(ctx) // what is stored is to be published even now
			if err := v.flush(end, model); err != nil {
				return Coverage{}, false, err
			}
			now, err := v.count(end, v.store)
			done := now.all() || now.Embedded <= had
			if err != nil || late || done || v.beside() {
				return now, done, err
			}
			c, had, before = now, now.Embedded, 0 // skills were added meanwhile
			continue
		}
		if err := v.embedSkills(ctx, model, missing); err != nil {
			return Coverage{}, false, fmt.Errorf("embedding: %w", err)
		}
		before = missing[len(missing)-1].Row
		if c.Embedded = min(c.Embedded+len(missing), c.Texts); progress != nil {
			progress(c.Embedded, c.Texts)
		}
	}
}

// embedSkills embeds texts that have no vector yet. Equal texts are embedded once.
func (v *Vectors) embedSkills(ctx context.Context, model string, missing []store.Text) error {
	var list []text
	queued := make(map[string]bool)
	for len(missing) > 0 {
		row := missing[0].Row
		s, ok, err := v.store.Skill(ctx, row)
		if err != nil {
			return err
		}
		all := []text(nil)
		if ok { // else the skill has been removed meanwhile
			all = append(texts(s), examples(s)...)
		}
		for ; len(missing) > 0 && missing[0].Row == row; missing = missing[1:] {
			hash := string(missing[0].Hash)
			i := slices.IndexFunc(all, func(t text) bool { return string(t.hash) == hash })
			if i >= 0 && !queued[hash] { // i is -1 if the skill has been changed meanwhile
				queued[hash] = true
				list = append(list, all[i])
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	hashes, vectors, err := v.packed(ctx, model, list)
	v.hashes, v.vectors = append(v.hashes, hashes...), append(v.vectors, vectors...)
	if v.beside() {
		return err
	}
	// Keep what was embedded before an error: embedding is slow and may cost money.
	return errors.Join(err, v.flush(context.WithoutCancel(ctx), model))
}

// flush stores what was embedded.
func (v *Vectors) flush(ctx context.Context, model string) error {
	if len(v.hashes) == 0 {
		return nil
	}
	var before store.State
	err := v.store.Update(ctx, func(tx store.Tx) (err error) {
		if before, err = tx.State(); err == nil {
			err = tx.PutVectors(model, v.hashes, v.vectors)
		}
		return err
	})
	v.hashes, v.vectors = nil, nil
	if err != nil {
		return err
	}
	now, err := v.store.State(ctx)
	v.stored = Stored{before.Generation, now.Generation}
	return err
}

// packed returns the packed vectors of texts, and the hash of each: of all texts, or of
// fewer with the reason. It embeds those that the cache lacks, and adds them to it. A cache
// that cannot be used costs time only.
func (v *Vectors) packed(ctx context.Context, model string, list []text) (hashes, vectors [][]byte, err error) {
	cache := v.opts.Cache
	if cache == nil || v.opts.Inline && !v.beside() {
		return packTexts(ctx, v.embedder, list)
	}
	known, _ := cache.Vectors(ctx, model, hashesOf(list))
	list = slices.DeleteFunc(list, func(t text) bool { return known[string(t.hash)] != nil })
	if len(list) > 0 {
		hashes, vectors, err = packTexts(ctx, v.embedder, list)
	}
	if len(vectors) > 0 {
		_ = cache.PutVectors(context.WithoutCancel(ctx), model, hashes, vectors)
	}
	for hash, vector := range known {
		hashes, vectors = append(hashes, []byte(hash)), append(vectors, vector)
	}
	return hashes, vectors, err
}

// dropOthers removes the vectors of models that are in use no more, once in its life: two
// programs that open one catalog with different embedders must not delete each
// other's vectors again and again.
func (v *Vectors) dropOthers(ctx context.Context) error {
	if v.dropped {
		return nil
	}
	models, err := v.store.Models(ctx)
	if err != nil {
		return err
	}
	models = slices.DeleteFunc(models, func(m store.Model) bool {
		return m.Name == v.embedder.Model() || m.Name == v.opts.Keep || v.opts.Contextual != nil && m.Name == v.opts.Contextual.Model()
	})
	if len(models) > 0 {
		err = v.store.Update(ctx, func(tx store.Tx) error {
			for _, m := range models {
				if err := tx.DropModel(m.Name); err != nil {
					return err
				}
			}
			return nil
		})
	}
	v.dropped = err == nil
	return err
}

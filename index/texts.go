package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

const (
	chunkWords = 160 // of a body that are embedded as one
	maxChunks  = 8   // of a body; what a skill is about stands at its start
	embedBatch = 16  // skills whose texts are embedded at a time
)

// A text is what has a vector of its own: the sum of those of its chunks.
type text struct {
	hash   []byte // of the chunks
	chunks []string
}

// texts returns the texts of a skill that get a vector each: the description
// with the name first, then the start of the body, if there is one.
func texts(s *skill.Skill) []text {
	list := []text{newText(s.Name + ": " + s.Description)}
	if body := chunks(s.Body); len(body) > 0 {
		list = append(list, newText(body...))
	}
	return list
}

// chunks cuts the start of a body into the parts that are embedded one by one.
func chunks(body string) []string {
	var list []string
	words := make([]string, 0, chunkWords)
	for word := range strings.FieldsSeq(body) {
		if words = append(words, word); len(words) < chunkWords {
			continue
		}
		list, words = append(list, strings.Join(words, " ")), words[:0]
		if len(list) == maxChunks {
			return list
		}
	}
	if len(words) > 0 {
		list = append(list, strings.Join(words, " "))
	}
	return list
}

// hashSize is how many bytes of a hash tell texts apart.
const hashSize = 16

func newText(chunks ...string) text {
	h := sha256.New()
	h.Write([]byte{byte(len(chunks))}) // a description is one, whatever it holds
	for _, c := range chunks {
		io.WriteString(h, c)
		h.Write([]byte{'\n'}) // the chunks of a body have none
	}
	return text{h.Sum(nil)[:hashSize], chunks}
}

// embedTexts returns the vectors of the texts, or of as many of the first as
// have all of their chunks embedded when that fails.
func embedTexts(ctx context.Context, e embed.Embedder, texts []text) ([][]float32, error) {
	var all []string
	for _, t := range texts {
		all = append(all, t.chunks...)
	}
	parts, err := e.Embed(ctx, embed.Document, all)
	if len(parts) > len(all) || err == nil && len(parts) < len(all) {
		return nil, fmt.Errorf("embedder returned %d vectors for %d texts", len(parts), len(all))
	}
	var vectors [][]float32
	for _, t := range texts {
		n := len(t.chunks)
		if n > len(parts) {
			break
		}
		sum := slices.Clone(parts[0])
		for _, part := range parts[1:n] {
			if len(part) != len(sum) {
				return vectors, fmt.Errorf("embedder returned vectors of %d and of %d dimensions", len(sum), len(part))
			}
			for i, x := range part {
				sum[i] += x
			}
		}
		vectors, parts = append(vectors, sum), parts[n:]
	}
	return vectors, err
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
	var missing []text
	queued := make(map[string]bool)
	for _, id := range ids {
		s, ok, err := x.db.Skill(ctx, id)
		if err != nil {
			return err
		}
		if !ok {
			continue // removed since
		}
		for _, t := range texts(s) {
			has, err := x.db.HasVector(ctx, model, t.hash)
			if err != nil {
				return err
			}
			if !has && !queued[string(t.hash)] {
				queued[string(t.hash)] = true
				missing = append(missing, t)
			}
		}
	}
	if len(missing) == 0 {
		return nil // another process was faster
	}
	vectors, err := embedTexts(ctx, x.embedder, missing)
	if len(vectors) == 0 {
		return err
	}
	hashes := make([][]byte, len(vectors))
	for i := range vectors {
		hashes[i] = missing[i].hash
	}
	// What was embedded before an error is paid for: keep it.
	return errors.Join(err, x.db.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		return tx.PutVectors(model, hashes, vectors)
	}))
}

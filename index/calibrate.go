package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// A Calibrator ranks prompts that need no skill; package search has one.
type Calibrator interface {
	// Due reports whether the set needs another calibration than it has.
	Due(s *snapshot.Set) bool
	// Prompts returns the prompts that need no skill.
	Prompts() ([]string, error)
	// Calibrate ranks the prompts in the set. points are where they are in the spaces of the
	// set; the embedder e made those of words, and is nil if there are none.
	Calibrate(ctx context.Context, s *snapshot.Set, e embed.Embedder, points []snapshot.Point) (*snapshot.Calibration, error)
}

// Calibrate ranks prompts that need no skill in the published set, and keeps what they
// show beside it, unless that is there already. Until then, and if it fails, readers use
// an older calibration or none. A catalog that is read-only or not published is left
// alone.
func (p *Publisher) Calibrate(ctx context.Context, c Calibrator) error {
	p.calibrating.Lock()
	defer p.calibrating.Unlock()
	if p.dir == nil || p.opts.FTS5 || p.store.ReadOnly() {
		return nil
	}
	p.publishing.Lock()
	defer p.publishing.Unlock()
	if err := p.calibrating.failedBefore(); err != nil {
		return err
	}
	for range 3 { // another process may be publishing
		s, err := p.Current(ctx)
		if err != nil || !p.dir.IsCurrent(s) || !c.Due(s) {
			return err
		}
		if err = p.calibrating.rank(ctx, s, c); err == nil {
			err = p.announce(ctx, s)
		}
		if err == nil {
			_, err = p.Current(ctx)
			return err
		}
		if !errors.Is(err, snapshot.ErrClosed) {
			return p.calibrating.failed(ctx, err)
		}
	}
	return nil
}

// announce names the files of a set in the manifest again, so that every process notices
// its calibration. The write transaction keeps others from changing the catalog meanwhile.
func (p *Publisher) announce(ctx context.Context, s *snapshot.Set) error {
	return p.store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.State()
		if err != nil || now.Generation != s.Generation {
			return err
		}
		if f, ok := p.dir.Published(s.Generation); ok {
			return p.dir.Publish(s.Generation, f)
		}
		return nil
	})
}

// Calibrate is Publisher.Calibrate for the copy. It ranks in a set of its own, so that it
// neither holds up a Pull nor starts anew after each one. Other processes find what it
// keeps when they open the next set.
func (m *Mirror) Calibrate(ctx context.Context, c Calibrator) error {
	m.calibrating.Lock()
	defer m.calibrating.Unlock()
	if _, err := m.open(nil); err != nil { // another process may have calibrated
		return err
	}
	now := m.set.Load()
	if now == nil || !now.InFiles() || !c.Due(now) {
		return nil
	}
	if err := m.calibrating.failedBefore(); err != nil {
		return err
	}
	s, err := m.dir.Open(nil)
	if err != nil || s == nil {
		return err
	}
	defer s.Close(nil) // it can only fail to give memory back
	s.Calibration = now.Calibration
	if err := m.calibrating.rank(ctx, s, c); err != nil {
		return m.calibrating.failed(ctx, err)
	}
	_, err = m.open(nil)
	return err
}

// calibrating is held by Calibrate, and knows how its last call went.
type calibrating struct {
	*catalog
	sync.Mutex
	failure  error     // nil if it went well
	failedAt time.Time // when failure was
}

// patience is how long Calibrate does not try again after a failure: an embedder on a
// server may refuse, or the disk may be full, and each try costs time or money.
const patience = time.Minute

// failedBefore returns the error of the last Calibrate if that was just now: a schedule
// calls it every few seconds.
func (x *calibrating) failedBefore() error {
	if x.failure != nil && x.opts.Now().Sub(x.failedAt).Abs() < patience {
		return x.failure
	}
	return nil
}

// failed keeps the error of a Calibrate for failedBefore.
func (x *calibrating) failed(ctx context.Context, err error) error {
	err = fmt.Errorf("calibrating the ranking: %w", err)
	if ctx.Err() == nil {
		x.failure, x.failedAt = err, x.opts.Now()
	}
	return err
}

// rank ranks the prompts in a set and writes the calibration.
func (x *calibrating) rank(ctx context.Context, s *snapshot.Set, c Calibrator) error {
	e := x.embedderFor(s.Model())
	prompts, err := c.Prompts()
	if err != nil {
		return err
	}
	points := make([]snapshot.Point, len(prompts))
	for space, by := range [snapshot.Spaces]embed.Embedder{snapshot.Words: e, snapshot.Sentences: x.opts.Contextual} {
		m := s.Models()[space]
		if by == nil || m.Name != by.Model() {
			continue
		}
		vectors, err := x.promptVectors(ctx, s, by, m.Dim, prompts)
		if err != nil {
			return err
		}
		for i, v := range vectors {
			points[i][space] = v
		}
	}
	found, err := c.Calibrate(ctx, s, e, points)
	if err == nil {
		err = x.dir.WriteCalibration(found)
	}
	return err
}

// promptVectors returns the vectors of the prompts for a set. Unless they came with the model,
// it embeds them once for each model and dimension: a server may be slow and cost money.
func (x *calibrating) promptVectors(ctx context.Context, s *snapshot.Set, e embed.Embedder, dim int, prompts []string) (vectors []embed.Vector, err error) {
	if b, ok := e.(embed.Calibrated); ok && b.Calibrated() { // the built-in one, which is faster than a file
		return e.Embed(ctx, embed.Query, prompts)
	}
	if p, ok := e.(embed.Fitted); ok {
		if vectors := p.Prepared(prompts); vectors != nil {
			return vectors, nil
		}
	}
	key := fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q %d %q", e.Model(), dim, prompts)))
	vectors = x.dir.PromptVectors(s.Catalog, key)
	if len(vectors) == len(prompts) {
		return vectors, nil
	}
	vectors, err = e.Embed(ctx, embed.Query, prompts)
	if err == nil && len(vectors) != len(prompts) {
		err = fmt.Errorf("the embedder answered with %d vectors for %d texts", len(vectors), len(prompts))
	}
	other := func(v embed.Vector) bool { return len(v) != dim }
	if err == nil && slices.ContainsFunc(vectors, other) { // never kept: the next answer may be right
		err = errors.New("the embedder answered with another dimension")
	}
	if err != nil {
		return nil, fmt.Errorf("embedding prompts that need no skill: %w", err)
	}
	return vectors, x.dir.WritePromptVectors(s.Catalog, key, vectors)
}

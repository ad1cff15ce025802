package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// batch is how many changed skills are read and written at a time. Each batch
// is a transaction: a sync that is killed has lost at most one.
const batch = 200

// A Source describes where the skills of one Sync come from.
type Source struct {
	Label    string
	Root     string // absolute path, "" when not on disk
	Priority int    // the highest wins a name
}

// A Report says what a Sync did.
type Report struct {
	Source    string          `json:"source"`
	Found     int             `json:"found"` // SKILL.md files
	Added     int             `json:"added"`
	Changed   int             `json:"changed"`
	Removed   int             `json:"removed"`
	Unchanged int             `json:"unchanged"`
	Refused   int             `json:"refused"` // files without a usable skill, of those that were read
	Complete  bool            `json:"complete"`
	Problems  []skill.Problem `json:"problems,omitempty"` // of the walk, and of what was read
	Took      time.Duration   `json:"-"`
}

// Sync brings the catalog in step with one source. It reads only skills whose stamp
// has changed, and writes only those whose digest has changed too. It removes skills
// that the walk did not find only if the walk was complete. Three things make a walk
// incomplete, and are reported as problems: an error of the iterator (unless it has a
// method Incomplete() bool that returns false), a skill that could not be read, and
// the end of ctx. When ctx ends, Sync keeps what it has done and returns ctx.Err().
func (x *Index) Sync(ctx context.Context, src Source, refs iter.Seq2[*skill.Ref, error]) (Report, error) {
	s := x.newSyncer(src)
	err := s.begin(ctx)
	if err == nil {
		err = s.walk(ctx, refs)
	}
	if err == nil {
		err = s.finish(ctx)
	}
	return s.end(err)
}

// Refresh is Sync for only the given skills of a source that has been walked before.
// It leaves all other skills as they are.
func (x *Index) Refresh(ctx context.Context, src Source, refs []*skill.Ref) (Report, error) {
	s := x.newSyncer(src)
	for _, ref := range refs {
		s.only = append(s.only, ref.Path)
	}
	err := s.begin(ctx)
	if err == nil {
		err = s.walk(ctx, func(yield func(*skill.Ref, error) bool) {
			for _, ref := range refs {
				if !yield(ref, nil) {
					return
				}
			}
		})
	}
	return s.end(err)
}

func (x *Index) newSyncer(src Source) *syncer {
	return &syncer{
		x: x, src: src, start: x.opts.Now(), seen: make(map[string]bool),
		report: Report{Source: src.Label, Complete: true},
	}
}

// end completes the report.
func (s *syncer) end(err error) (Report, error) {
	s.report.Took = s.x.opts.Now().Sub(s.start)
	if err != nil {
		s.report.Complete = false
		return s.report, fmt.Errorf("indexing %s: %w", s.src.Label, err)
	}
	return s.report, nil
}

// syncer is one Sync under way.
type syncer struct {
	x      *Index
	src    Source
	only   []string // paths given to Refresh; nil means all
	row    int64    // of the source in the store
	walked bool     // the source has been walked completely before
	start  time.Time
	known  map[string]store.Known // by path
	seen   map[string]bool        // paths that the walk found
	queue  []*skill.Ref           // skills to read
	report Report

	// The batch that is being written while the next one is read.
	batch   []loaded
	written chan error // receives the result of the write; nil means that none is under way
}

// begin makes sure that the source has a row. It writes only if it has none yet, or
// an outdated one.
func (s *syncer) begin(ctx context.Context) error {
	sources, err := s.x.store.Sources(ctx)
	if err != nil {
		return err
	}
	var old store.Source
	for _, have := range sources {
		if have.Label == s.src.Label {
			s.row, old = have.Row, have
			s.walked = have.Walked != 0
		}
	}
	if s.row == 0 || old.Root != s.src.Root || old.Priority != s.src.Priority {
		if err := s.register(ctx, old.Root != s.src.Root); err != nil {
			return err
		}
	}
	s.known, err = s.x.store.Known(ctx, s.row, s.only)
	return err
}

// register writes the row of the source. If its label now stands for another folder
// (moved), equal stamps mean nothing, and equal skills have another location: it
// forgets the stamps, so that this walk or the next reads all skills.
func (s *syncer) register(ctx context.Context, moved bool) error {
	return s.x.store.Update(ctx, func(tx store.Tx) (err error) {
		s.row, err = tx.PutSource(store.Source{Label: s.src.Label, Root: s.src.Root, Priority: s.src.Priority})
		if err != nil {
			return err
		}
		if moved {
			return tx.ForgetStamps(s.row)
		}
		return nil
	})
}

// walk visits every skill of the source and queues the changed ones.
func (s *syncer) walk(ctx context.Context, refs iter.Seq2[*skill.Ref, error]) error {
	for ref, err := range refs {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			s.walkError(err)
			continue
		}
		s.report.Found++
		s.seen[ref.Path] = true
		if have, ok := s.known[ref.Path]; ok && have.Stamp != "" && have.Stamp == ref.Stamp {
			s.report.Unchanged++
			continue
		}
		if s.queue = append(s.queue, ref); len(s.queue) == batch {
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
	}
	err := errors.Join(s.flush(ctx), s.wait())
	// The iterator may end early because of ctx, without an error of its own.
	return errors.Join(ctx.Err(), err)
}

// walkError reports an error of the walk.
func (s *syncer) walkError(err error) {
	p := skill.Problem{Rule: "unreadable", Severity: skill.Warning, Path: s.src.Label, Message: err.Error()}
	var own interface{ Problem() skill.Problem }
	if errors.As(err, &own) {
		p = own.Problem()
	}
	s.report.Problems = append(s.report.Problems, p)
	var incomplete interface{ Incomplete() bool }
	if !errors.As(err, &incomplete) || incomplete.Incomplete() {
		s.report.Complete = false
	}
}

// loaded is a skill that was read, or the reason why it could not be.
type loaded struct {
	ref          *skill.Ref
	skill        *skill.Skill
	refused      bool
	err          error
	store.Record             // what to write; its Skill is nil if the skill has not changed
	vectors      [][]float32 // of its texts, or of the first ones if embedding failed
}

// flush reads the queued skills on all processors while the batch before is being
// written, and then starts writing them. It finishes its batch even if ctx ends,
// because a batch is short.
func (s *syncer) flush(ctx context.Context) error {
	if len(s.queue) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	read := s.readAll(ctx)
	s.queue = s.queue[:0]
	if err := s.wait(); err != nil {
		return err
	}
	s.batch, s.written = read, make(chan error, 1)
	go func(done chan<- error) { done <- s.write(ctx, read) }(s.written)
	return nil
}

// wait waits until the current batch is written and adds it to the report.
func (s *syncer) wait() error {
	if s.written == nil {
		return nil
	}
	err := <-s.written
	s.written = nil
	if err != nil {
		return err
	}
	for i := range s.batch {
		s.count(&s.batch[i])
	}
	s.batch = nil
	return nil
}

// write writes one batch in a transaction.
func (s *syncer) write(ctx context.Context, read []loaded) error {
	return s.x.store.Update(ctx, func(tx store.Tx) error {
		var hashes [][]byte
		var vectors [][]float32
		for i := range read {
			l := &read[i]
			if err := s.put(tx, l); err != nil {
				return err
			}
			hashes, vectors = append(hashes, l.Texts[:len(l.vectors)]...), append(vectors, l.vectors...)
		}
		if len(vectors) == 0 {
			return nil
		}
		return tx.PutVectors(s.x.embedder.Model(), hashes, vectors)
	})
}

func (s *syncer) readAll(ctx context.Context) []loaded {
	read := make([]loaded, len(s.queue))
	var wg sync.WaitGroup
	work := make(chan int)
	for range min(runtime.GOMAXPROCS(0), len(read)) {
		wg.Go(func() {
			a := new(words.Analyzer)
			for i := range work {
				read[i] = s.read(ctx, s.queue[i], a)
			}
		})
	}
	for i := range read {
		work <- i
	}
	close(work)
	wg.Wait()
	return read
}

// read loads one skill and prepares its record, unless the catalog already has this
// digest.
func (s *syncer) read(ctx context.Context, ref *skill.Ref, a *words.Analyzer) loaded {
	l := loaded{ref: ref}
	l.skill, l.err = ref.Load()
	var refused *skill.ParseError
	switch {
	case errors.As(l.err, &refused):
		l.skill, l.refused = refusal(refused.Problem), true
	case l.err != nil:
		return l
	}
	if have := s.known[ref.Path].Digest; have == "" || l.skill.Digest != have {
		s.prepare(ctx, &l, a)
	}
	return l
}

// prepare fills in the record that is to be written.
func (s *syncer) prepare(ctx context.Context, l *loaded, a *words.Analyzer) {
	l.Record = store.Record{Path: l.ref.Path, Stamp: l.ref.Stamp, Skill: l.skill, Refused: l.refused}
	if l.refused {
		return // there are no texts; PutSkill packs the problem
	}
	texts := texts(l.skill)
	for _, t := range texts {
		l.Texts = append(l.Texts, t.hash)
	}
	fill(&l.Record, a)
	if l.err = l.Pack(); l.err == nil && s.x.embedder != nil && s.x.opts.Inline {
		// Embed computes vectors that are missing after an error here, and reports it.
		l.vectors, _ = embedTexts(ctx, s.x.embedder, texts)
	}
}

// refusal returns the skill that stands for a file without a usable skill. Its digest
// is a hash of the problem, so that the same problem again is not a change.
func refusal(p skill.Problem) *skill.Skill {
	return &skill.Skill{
		Meta:     skill.Meta{Digest: fmt.Sprintf("refused:%x", sha256.Sum256([]byte(p.String())))},
		Problems: []skill.Problem{p},
	}
}

// put writes one skill, or only its stamp if the skill has not changed.
func (s *syncer) put(tx store.Tx, l *loaded) error {
	have := s.known[l.ref.Path]
	switch {
	case l.failed():
		// The skill may be fine: what is indexed of it stays.
	case l.Skill != nil:
		_, err := tx.PutSkill(s.row, &l.Record)
		return err
	case have.Stamp != l.ref.Stamp:
		return tx.PutStamp(have.Row, l.ref.Stamp)
	}
	return nil
}

// failed reports whether the file of the skill could not be read.
func (l *loaded) failed() bool { return l.err != nil && !l.refused }

// count adds to the report what was done with one skill.
func (s *syncer) count(l *loaded) {
	_, known := s.known[l.ref.Path]
	switch {
	case l.refused:
		s.report.Refused++
	case l.failed():
		s.walkError(fmt.Errorf("%s: %w", l.ref.Path, l.err))
		return
	case l.Skill == nil:
		s.report.Unchanged++
	case known:
		s.report.Changed++
	default:
		s.report.Added++
	}
	if l.refused || l.Skill != nil {
		s.report.Problems = append(s.report.Problems, l.skill.Problems...)
	}
}

// finish removes skills that are gone, if the walk was complete.
func (s *syncer) finish(ctx context.Context) error {
	if !s.report.Complete {
		return nil
	}
	var gone []int64
	for path, have := range s.known {
		if !s.seen[path] {
			gone = append(gone, have.Row)
		}
	}
	if len(gone) == 0 && s.walked {
		return nil // the usual case writes nothing
	}
	s.report.Removed = len(gone)
	return s.x.store.Update(ctx, func(tx store.Tx) error {
		for _, id := range gone {
			if err := tx.DeleteSkill(id); err != nil {
				return err
			}
		}
		return errors.Join(tx.PruneVectors(), tx.Walked(s.row, s.start.UnixNano()))
	})
}

// Retain removes all sources whose labels are not listed, with their skills.
func (x *Index) Retain(ctx context.Context, labels []string) error {
	sources, err := x.store.Sources(ctx)
	if err != nil {
		return err
	}
	keep := make(map[string]bool)
	for _, l := range labels {
		keep[l] = true
	}
	for _, src := range sources {
		if keep[src.Label] {
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

// fill computes what a record needs for ranking: name key, terms and sketch.
func fill(r *store.Record, a *words.Analyzer) {
	sk := r.Skill
	r.NameKey = words.NameKey(sk.Name)
	shown := a.Terms(words.Once(sk.Description)) // who says it twice does not say more
	r.Fields = skill.Fields{
		Name:        a.Terms(sk.Name),
		Description: append(shown, a.Terms(sk.WhenToUse)...),
		Shown:       len(shown),
		Tags:        a.Terms(strings.Join(sk.Tags, " ")),
		Body:        a.Terms(sk.Body),
	}
	r.Terms = r.Fields.Pack()
	r.Sketch = words.NewSketch(sk.Body)
}

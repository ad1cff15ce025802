package index

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// batch is how many changed skills are read and written at a time. Each batch
// is a transaction: a sync that is killed has lost at most one.
const batch = 200

// unreadable is the rule of problems with what could not be read.
const unreadable = "unreadable"

// A Report says what a Sync did.
type Report struct {
	Source     string          `json:"source"` // its label
	Found      int             `json:"found"`  // SKILL.md files
	Added      int             `json:"added"`  // this and the next three are numbers of skills
	Changed    int             `json:"changed"`
	Removed    int             `json:"removed"`
	Unchanged  int             `json:"unchanged"`
	Refused    int             `json:"refused"`              // files without a usable skill, of those that were read
	Unreadable int             `json:"unreadable,omitempty"` // files that could not be read; what is indexed of them stays
	Complete   bool            `json:"complete"`             // the whole source was searched
	Away       bool            `json:"away,omitempty"`       // the source cannot be read at all now, see source.ErrAway
	Problems   []skill.Problem `json:"problems,omitempty"`   // of the walk, and of what was read
	Took       time.Duration   `json:"-"`                    // from the begin of the walk to the last write

	cut    bool            // the walk did not come to its end
	walk   []skill.Problem // of the walk itself
	failed []skill.Problem // of the files that could not be read
	again  []string        // folders of such files that no trace can watch
	seen   *scan           // of which this is the report; nil means of none
}

// Stamps returns the stamps of the folders of the skills as the rescan left them, by path, as long as no other
// rescan follows: a folder whose stamp is the same holds the same files, with the same modes. It leaves out
// folders whose stamps tell nothing.
func (r *Report) Stamps() map[string]string {
	found := make(map[string]string)
	if r.seen != nil {
		for _, s := range r.seen.stamps {
			if s.Skill && s.Stamp != "" && r.seen.reports[s.source].Source == r.Source {
				found[s.Dir] = s.Stamp
			}
		}
	}
	return found
}

// Then returns the report of two rescans of the same source, one after the other.
func (r Report) Then(later Report) Report {
	later.Added += r.Added
	later.Changed += r.Changed
	later.Removed += r.Removed
	later.Unchanged = min(r.Unchanged, later.Unchanged)
	later.Took += r.Took
	return later
}

// A Syncer brings a store in step with sources.
type Syncer struct{ *catalog }

// Sync brings the catalog in step with one source, given by its Label, Root, Priority,
// Origin and Repository; an Origin of "" keeps both that the catalog knows. It reads only skills whose stamp
// has changed, and writes only those that have changed themselves. It removes skills
// that the walk did not find, but not in folders that the walk could not search: those
// of an error of the iterator, see source.Source, or all folders when ctx ends. A skill
// that cannot be read is a problem; what is indexed of it stays. If the source is away,
// all of its skills stay, and are not offered until a later Sync finds it again. When
// ctx ends, Sync keeps what it has done and returns ctx.Err().
func (x *Syncer) Sync(ctx context.Context, src store.Source, refs iter.Seq2[*skill.Ref, error]) (Report, error) {
	return x.sync(ctx, src, refs, options{})
}

// options are what Sync can do for a Scanner only.
type options struct {
	all      bool          // read and write every skill, whatever is known of it
	identity func() string // which folder is at the root now, see Identified; nil means that nobody knows
	found    func()        // called for each SKILL.md that the walk finds; nil means no call
}

// sync implements Sync.
func (x *Syncer) sync(ctx context.Context, src store.Source, refs iter.Seq2[*skill.Ref, error], o options) (Report, error) {
	s := x.begin(src)
	s.options = o
	s.place = s.identityNow()
	err := s.start(ctx)
	if err == nil {
		err = s.walk(ctx, refs)
	}
	if err == nil {
		err = s.finish(ctx)
	}
	return s.end(err)
}

// Refresh is Sync for only the given skills of a source that has been walked before.
// It leaves all other skills as they are. It fails with errUnknown, and changes nothing, if
// the catalog does not know one of them: another one may be gone then, as when SKILL.md is
// renamed to skill.md.
func (x *Syncer) Refresh(ctx context.Context, src store.Source, refs []*skill.Ref) (Report, error) {
	s := x.begin(src)
	for _, ref := range refs {
		s.only = append(s.only, ref.Path)
	}
	err := s.start(ctx)
	if err == nil && len(s.known) < len(s.only) {
		err = errUnknown
	}
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

// errUnknown means that only a walk can tell what has changed.
var errUnknown = errors.New("the catalog does not know the skill")

func (x *Syncer) begin(src store.Source) *run {
	return &run{
		catalog: x.catalog, src: src, began: x.opts.Now(), seen: make(map[string]bool),
		report: Report{Source: src.Label, Complete: true},
	}
}

// end completes the report.
func (s *run) end(err error) (Report, error) {
	s.report.Took = s.opts.Now().Sub(s.began)
	if err != nil {
		s.report.Complete = false
		return s.report, fmt.Errorf("indexing %s: %w", s.src.Label, err)
	}
	return s.report, nil
}

// A run is one Sync under way.
type run struct {
	*catalog
	src  store.Source
	only []string // paths given to Refresh; nil means all
	options
	place  string       // identity of the folder when the walk began
	old    store.Source // the source as the store knew it; its Row is 0 if it did not
	row    int64        // of the source in the store
	began  time.Time
	known  map[string]store.Known // by path
	seen   map[string]bool        // paths that the walk found
	missed []string               // folders that the walk could not search
	queue  []*skill.Ref           // skills to read
	report Report

	// The batch that is being written while the next one is read.
	batch   []loaded
	written chan error // receives the result of the write; nil means that none is under way
}

// start makes sure that the source has a row. It writes only if it has none yet, or
// an outdated one.
func (s *run) start(ctx context.Context) error {
	sources, err := s.store.Sources(ctx)
	if err != nil {
		return err
	}
	for _, have := range sources {
		if have.Label == s.src.Label {
			s.row, s.old = have.Row, have
		}
	}
	if s.row == 0 || s.old.Root != s.src.Root || s.old.Priority != s.src.Priority || s.old.Apart != s.src.Apart || s.src.Origin != "" && (s.old.Origin != s.src.Origin || s.old.Repository != s.src.Repository) {
		if err := s.register(ctx); err != nil {
			return err
		}
	}
	s.known, err = s.store.Known(ctx, s.row, s.only)
	return err
}

// register writes the row of the source. If its label now stands for another folder,
// equal stamps mean nothing, and equal skills have another location: it forgets the
// stamps, so that this walk or the next reads all skills.
func (s *run) register(ctx context.Context) error {
	return s.store.Update(ctx, func(tx store.Tx) (err error) {
		s.row, err = s.putSource(tx, s.old.Away)
		if err == nil && s.old.Root != s.src.Root {
			s.old.Identity = "" // of the other folder
			err = tx.ForgetStamps(s.row)
		}
		return err
	})
}

// putSource writes the row of the source.
func (s *run) putSource(tx store.Tx, away bool) (int64, error) {
	src := s.src
	src.Away = away
	return tx.PutSource(src)
}

// walk visits every skill of the source and queues the changed ones.
func (s *run) walk(ctx context.Context, refs iter.Seq2[*skill.Ref, error]) error {
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
		if have, ok := s.known[ref.Path]; ok && !s.all && have.Stamp != "" && have.Stamp == ref.Stamp {
			s.report.Unchanged++
			continue
		}
		if s.found != nil {
			s.found()
		}
		if s.queue = append(s.queue, ref); len(s.queue) == batch {
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(s.flush(ctx), s.wait()); err != nil {
		return err // neither looks at ctx
	}
	return ctx.Err() // the iterator may have ended early, without an error of its own
}

// walkError reports an error of the walk, and notes which folders it could not search.
func (s *run) walkError(err error) {
	p := skill.Problem{Rule: unreadable, Severity: skill.Warning, Path: s.src.Label, Message: err.Error()}
	var own interface{ Problem() skill.Problem }
	if errors.As(err, &own) {
		p = own.Problem()
		s.report.walk = append(s.report.walk, p)
	}
	s.report.Problems = append(s.report.Problems, p)
	var incomplete interface{ Incomplete() bool }
	if errors.As(err, &incomplete) && !incomplete.Incomplete() {
		return
	}
	s.report.Complete = false
	s.report.Away = s.report.Away || errors.Is(err, source.ErrAway)
	var part interface{ Missed() string }
	missed := "."
	if errors.As(err, &part) {
		missed = part.Missed()
	}
	s.missed = append(s.missed, missed)
}

// mayHaveMissed reports whether a SKILL.md that the walk did not find may still exist.
func (s *run) mayHaveMissed(path string) bool {
	return slices.ContainsFunc(s.missed, func(dir string) bool { return dir == "." || strings.HasPrefix(path, dir+"/") })
}

// loaded is a skill that was read, or the reason why it could not be.
type loaded struct {
	ref          *skill.Ref
	skill        *skill.Skill
	refused      bool
	same         bool // nothing about it has changed
	err          error
	store.Record          // what to write; its Skill is nil if the skill has not changed
	vectors      [][]byte // packed, of its texts, or of the first ones if embedding failed
}

// flush reads the queued skills on all processors while the batch before is being
// written, and then starts writing them. It finishes its batch even if ctx ends,
// because a batch is short.
func (s *run) flush(ctx context.Context) error {
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
func (s *run) wait() error {
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

// write writes one batch in a transaction, unless nothing of it has changed: a store on another
// machine would be asked for nothing.
func (s *run) write(ctx context.Context, read []loaded) error {
	read = slices.DeleteFunc(slices.Clone(read), func(l loaded) bool { return s.change(&l) == nil })
	if len(read) == 0 {
		return nil
	}
	return s.store.Update(ctx, func(tx store.Tx) error {
		var hashes, vectors [][]byte
		for i := range read {
			l := &read[i]
			if err := s.change(l)(tx); err != nil {
				return err
			}
			hashes, vectors = append(hashes, l.Texts[:len(l.vectors)]...), append(vectors, l.vectors...)
		}
		if len(vectors) == 0 {
			return nil
		}
		return tx.PutVectors(s.embedder.Model(), hashes, vectors)
	})
}

func (s *run) readAll(ctx context.Context) []loaded {
	read := make([]loaded, len(s.queue))
	parallel(len(read), func(i int, a *words.Analyzer) { read[i] = s.read(ctx, s.queue[i], a) })
	return read
}

// parallel calls f for 0 to n-1 on all processors, each with an analyzer of its own.
func parallel(n int, f func(i int, a *words.Analyzer)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			a := new(words.Analyzer)
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i, a)
			}
		})
	}
	wg.Wait()
}

// read loads one skill and prepares its record, unless the catalog already has the same.
// The digest tells about the files; the name and the location also depend on settings.
func (s *run) read(ctx context.Context, ref *skill.Ref, a *words.Analyzer) loaded {
	l := loaded{ref: ref}
	l.skill, l.err = ref.Load()
	switch refused, ok := errors.AsType[*skill.ParseError](l.err); {
	case ok:
		l.skill, l.refused = refusal(refused.Problem), true
	case l.err != nil:
		return l
	}
	have := s.known[ref.Path]
	l.same = have.Digest != "" && l.skill.Digest == have.Digest && l.skill.Name == have.Name && l.skill.Location == have.Location
	if s.all || !l.same {
		s.prepare(ctx, &l, a)
	}
	return l
}

// prepare fills in the record that is to be written.
func (s *run) prepare(ctx context.Context, l *loaded, a *words.Analyzer) {
	l.Record = store.Record{Path: l.ref.Path, Stamp: l.ref.Stamp, Skill: l.skill, Refused: l.refused}
	if l.refused {
		return // there are no texts; PutSkill packs the problem
	}
	texts := texts(l.skill)
	l.Texts, l.Examples = hashesOf(texts), hashesOf(examples(l.skill))
	fill(&l.Record, a)
	if l.err = l.Pack(); l.err == nil && s.embedder != nil && s.opts.Inline {
		// Embed computes vectors that are missing after an error here, and reports it.
		_, l.vectors, _ = packTexts(ctx, s.embedder, texts)
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

// change returns what writes one skill, or only its stamp if the skill has not changed; nil if
// there is nothing to write.
func (s *run) change(l *loaded) func(store.Tx) error {
	have := s.known[l.ref.Path]
	switch {
	case l.failed() && s.copied() && have.Row != 0:
		return func(tx store.Tx) error { return tx.DeleteSkill(have.Row) }
	case l.failed():
		// The skill may be fine: what is indexed of it stays.
	case l.Skill != nil:
		return func(tx store.Tx) error { _, err := tx.PutSkill(s.row, &l.Record); return err }
	case have.Stamp != l.ref.Stamp:
		return func(tx store.Tx) error { return tx.PutStamp(have.Row, l.ref.Stamp) }
	}
	return nil
}

// failed reports whether the file of the skill could not be read.
func (l *loaded) failed() bool { return l.err != nil && !l.refused }

// count adds to the report what was done with one skill.
func (s *run) count(l *loaded) {
	_, known := s.known[l.ref.Path]
	switch {
	case l.refused:
		s.report.Refused++
	case l.failed():
		s.unreadable(l)
		return
	case l.same:
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

// unreadable reports a skill that could not be read.
func (s *run) unreadable(l *loaded) {
	p := skill.Problem{Rule: unreadable, Severity: skill.Warning, Path: l.ref.Path, Message: "the skill cannot be read: " + l.err.Error()}
	s.report.Unreadable++
	s.report.Problems = append(s.report.Problems, p)
	s.report.failed = append(s.report.failed, p)
	// A trace shows when a file, a link or a permission changes. Any other error, as of
	// a disk or of a file that another program has locked, may pass without a trace.
	if !errors.Is(l.err, fs.ErrPermission) && !errors.Is(l.err, fs.ErrNotExist) && !errors.Is(l.err, syscall.ELOOP) {
		s.report.again = append(s.report.again, path.Dir(l.ref.Path))
	}
}

// fill computes what a record needs for ranking: name key, terms and sketch.
func fill(r *store.Record, a *words.Analyzer) {
	sk := r.Skill
	r.NameKey = words.NameKey(sk.Name)
	r.Fields = sk.Fields(a)
	r.Terms = r.Fields.Pack()
	r.Sketch = words.NewSketch(sk.Body)
}

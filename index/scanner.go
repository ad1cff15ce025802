package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// A Scanner keeps a catalog in step with its sources. It holds the one list of
// stamps, in memory and on file, which shows which skills may have changed. Its
// methods must be called by one goroutine at a time, except for Glance.
type Scanner struct {
	syncer  *Syncer
	ranking *Publisher
	sources []source.Source
	file    stampFile

	seen *scan // what the last complete walk saw; nil means that the next rescan must walk
}

// A scan is what a complete walk saw.
type scan struct {
	generation store.Generation // of the catalog afterwards
	stamps     []stamp          // see sortStamps
	reports    []Report         // what a rescan reports that finds nothing changed
}

// NewScanner returns a scanner that keeps the catalog of x in step with the sources,
// each of which must have its own label. The list of stamps lies beside the catalog;
// without a path it is in memory only.
func NewScanner(x *Index, sources []source.Source) *Scanner {
	return &Scanner{syncer: x.Syncer, ranking: x.Publisher, sources: sources, file: stampFile{x.Syncer.opts.Disk, x.Syncer.opts.Path, sources}}
}

// SourceOf returns a source as a store keeps it before a walk.
func SourceOf(src source.Source) store.Source {
	info := src.Info()
	return store.Source{Label: info.Label, Root: info.Root, Priority: info.Priority, Apart: info.Apart}
}

// Sources describes the sources of the scanner, in their order.
func (s *Scanner) Sources() []store.Source {
	list := make([]store.Source, len(s.sources))
	for i, src := range s.sources {
		list[i] = SourceOf(src)
	}
	return list
}

func (s *Scanner) labels() []string {
	var list []string
	for _, src := range s.Sources() {
		list = append(list, src.Label)
	}
	return list
}

// Rescan brings the store in step with the sources and returns a report for each. It
// walks the sources only if the list of stamps cannot show what has changed, or if
// found is not nil; it calls found for each SKILL.md that the walk finds. At the end
// it calls finish, which embeds and publishes. A source or a skill that cannot be
// read is a problem in the report of its source, never an error. When ctx ends first,
// Rescan keeps what it has done and returns ctx.Err().
func (s *Scanner) Rescan(ctx context.Context, found func(), finish func(context.Context) error) ([]Report, error) {
	if found == nil && s.file.check() == nil && s.recall(ctx) {
		if reports, ok, err := s.rescanChanged(ctx, finish); ok || err != nil {
			return s.stamped(reports), err
		}
	}
	reports, err := s.walk(ctx, false, found, finish)
	return s.stamped(reports), err
}

// stamped lets reports tell the stamps of what was seen.
func (s *Scanner) stamped(reports []Report) []Report {
	for i := range reports {
		reports[i].seen = s.seen
	}
	return reports
}

// recall reports whether it is known what the last complete walk saw, if only from the list on file. That
// counts if the ranking of these sources is published, too: else there is more to do than to look.
func (s *Scanner) recall(ctx context.Context) bool {
	if s.seen == nil && s.file.path != "" && s.ranking.Published(ctx, s.Sources()) {
		if now, err := s.syncer.store.State(ctx); err == nil {
			if seen, err := s.file.read(now.Generation); err == nil {
				s.seen = seen
			}
		}
	}
	return s.seen != nil
}

// RescanAll is Rescan, but it reads and writes every skill, whatever is known of it.
// Each skill is replaced in place, so that readers never find fewer skills meanwhile.
func (s *Scanner) RescanAll(ctx context.Context, found func(), finish func(context.Context) error) ([]Report, error) {
	return s.walk(ctx, true, found, finish)
}

// walk implements Rescan and RescanAll by walking all sources.
func (s *Scanner) walk(ctx context.Context, all bool, found func(), finish func(context.Context) error) ([]Report, error) {
	if err := s.file.check(); err != nil {
		return nil, err
	}
	s.seen = nil
	order, err := s.order(ctx)
	if err != nil {
		return nil, err
	}
	seen := &scan{reports: make([]Report, len(order))}
	reports := make([]Report, len(order))
	cut := false
	for n, i := range order {
		at := s.Sources()[i]
		first := len(seen.stamps)
		refs := s.sources[i].Skills(ctx, func(t source.Trace) { seen.stamps = append(seen.stamps, stamp{i, t}) })
		report, err := s.syncer.sync(ctx, at, refs, options{all, identityOf(s.sources[i]), found})
		reports[i] = report
		if err != nil {
			return walked(reports, order[:n+1]), err
		}
		cut = cut || report.cut
		forgetStamps(seen.stamps[first:], report.again)
		seen.reports[i] = Report{
			Source: report.Source, Found: report.Found, Complete: report.Complete, Away: report.Away, Problems: report.walk, failed: report.failed,
		}
	}
	err = s.syncer.Retain(ctx, s.labels())
	if err == nil {
		err = finish(ctx)
	}
	if err == nil && !cut {
		s.seen = seen
		err = s.settle(ctx)
	}
	return reports, err
}

// order returns the indexes of the sources in the order of a walk: those first that have
// never been walked, because their skills are missing from answers.
func (s *Scanner) order(ctx context.Context) ([]int, error) {
	settled, err := s.syncer.settled(ctx)
	var first, rest []int
	for i, label := range s.labels() {
		if settled[label] {
			rest = append(rest, i)
		} else {
			first = append(first, i)
		}
	}
	return append(first, rest...), err
}

// walked returns the reports of these sources, in the order of all sources.
func walked(reports []Report, sources []int) (list []Report) {
	for i := range reports {
		if slices.Contains(sources, i) {
			list = append(list, reports[i])
		}
	}
	return list
}

// settle records that the list of stamps describes the current generation of the
// catalog, and writes it for other processes. Only this process may have changed the
// catalog since the list was made.
func (s *Scanner) settle(ctx context.Context) error {
	now, err := s.syncer.store.State(ctx)
	if err != nil {
		return err
	}
	s.seen.generation = now.Generation
	s.write()
	return nil
}

// Follow makes the list of stamps hold after the catalog got vectors, unless it has changed
// otherwise, too.
func (s *Scanner) Follow(v Stored) {
	if s.seen != nil && v.After(s.seen.generation) != s.seen.generation {
		s.seen.generation = v.To
		s.write()
	}
}

// write sorts the list of stamps and writes it, if there is a place for it.
func (s *Scanner) write() {
	sortStamps(s.seen.stamps)
	if s.file.path != "" {
		s.file.write(s.seen) // if it fails the next process walks
	}
}

const (
	// manyChanged is the number of changed skills from which a walk is as fast.
	manyChanged = 100
	// firstLook is how many folders are checked before the changed ones among them
	// are read. They come first in the list because they changed last: what somebody
	// is working on is read before the other folders are checked.
	firstLook = 512
)

// rescanChanged implements Rescan without a walk: it checks the folders that the last
// walk saw, and reads the skills that have changed. ok is false if only a walk can
// do: when skills came or went, or another process has changed the catalog.
func (s *Scanner) rescanChanged(ctx context.Context, finish func(context.Context) error) (reports []Report, ok bool, err error) {
	seen, start := s.seen, time.Now()
	now, err := s.syncer.store.State(ctx)
	if err != nil || seen.generation != now.Generation {
		return nil, false, err
	}
	for _, r := range seen.reports {
		reports = append(reports, r.unchanged())
	}
	any := false
	for from, to := 0, min(firstLook, len(seen.stamps)); from < to; from, to = to, len(seen.stamps) {
		list, looked := changed(ctx, s.sources, seen.stamps[from:to], manyChanged)
		if looked < to-from {
			return nil, false, nil // too many have changed, or ctx has ended: leave it to the walk
		}
		if len(list) == 0 {
			continue
		}
		any = true
		if ok, err := s.refresh(ctx, seen.stamps[from:to], list, reports, finish); !ok || err != nil {
			return reports, ok, err
		}
	}
	if any {
		err = s.settle(ctx)
	}
	for i := range reports {
		reports[i].Took = time.Since(start)
	}
	return reports, true, err
}

// refresh reads the skills in the changed folders; list holds their indexes in
// stamps. ok is false if one of them is no longer a skill, or never was, or is unknown to the
// catalog.
func (s *Scanner) refresh(ctx context.Context, stamps []stamp, list []int, reports []Report, finish func(context.Context) error) (ok bool, err error) {
	refs := make([][]*skill.Ref, len(s.sources))
	traces := make([]source.Trace, len(list))
	for n, i := range list {
		at := &stamps[i]
		if !at.Skill {
			return false, nil
		}
		ref, trace, found := s.sources[at.source].Skill(at.Dir)
		if !found {
			return false, nil
		}
		refs[at.source], traces[n] = append(refs[at.source], ref), trace
	}
	seen := s.seen
	s.seen = nil // so that after an error the next rescan walks
	for n, i := range list {
		stamps[i].Trace = traces[n]
	}
	for i, at := range s.Sources() {
		if len(refs[i]) == 0 {
			continue
		}
		part, err := s.syncer.Refresh(ctx, at, refs[i])
		if errors.Is(err, errUnknown) {
			return false, nil
		}
		reports[i].add(part, refs[i])
		seen.reports[i].failed = reports[i].failed
		if err != nil {
			return true, err
		}
		for _, n := range list {
			if stamps[n].source == i {
				forgetStamps(stamps[n:n+1], part.again)
			}
		}
	}
	if err := finish(ctx); err != nil {
		return true, err
	}
	s.seen = seen
	return true, nil
}

// forgetStamps makes sure that the skills in some folders are read again at the next
// look. A folder at the top of a source may have a second stamp, of where skills appear.
func forgetStamps(stamps []stamp, dirs []string) {
	for i := range stamps {
		if stamps[i].Skill && slices.Contains(dirs, stamps[i].Dir) {
			stamps[i].Stamp = ""
		}
	}
}

// unchanged returns the report of a rescan that finds nothing changed; what could not be
// read still cannot.
func (r Report) unchanged() Report {
	r.Unreadable = len(r.failed)
	r.Unchanged = r.Found - r.Unreadable
	r.Problems = slices.Concat(r.Problems, r.failed)
	return r
}

// add adds to r the report on skills that r has counted as unchanged or unreadable.
func (r *Report) add(part Report, read []*skill.Ref) {
	again := func(p skill.Problem) bool {
		return slices.ContainsFunc(read, func(ref *skill.Ref) bool { return ref.Path == p.Path })
	}
	before := len(r.failed)
	r.failed = slices.DeleteFunc(slices.Clone(r.failed), again)
	before -= len(r.failed)
	r.failed = append(r.failed, part.failed...)
	r.Unchanged += part.Unchanged - len(read) + before
	r.Unreadable += part.Unreadable - before
	r.Added, r.Changed, r.Refused = r.Added+part.Added, r.Changed+part.Changed, r.Refused+part.Refused
	r.Problems = slices.DeleteFunc(slices.Clone(r.Problems), func(p skill.Problem) bool { return p.Rule == unreadable && again(p) })
	r.Problems = append(r.Problems, part.Problems...)
	r.Complete = r.Complete && part.Complete
}

// Glance checks whether the catalog can answer as it is: whether its ranking is
// published for these sources, and whether their folders are as the last complete
// walk saw them. It checks the 128 folders that are most likely to have changed and
// then others until about limit has passed, starting where the last Glance of any
// process stopped. It uses the store only if somebody has put other files in its place.
func (s *Scanner) Glance(ctx context.Context, limit time.Duration) Glance {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if s.file.path == "" || s.file.check() != nil || !s.ranking.Published(ctx, s.Sources()) {
		return Glance{}
	}
	set, err := s.ranking.Current(ctx)
	if err != nil {
		return Glance{}
	}
	list, err := s.file.open(set.Generation)
	if err != nil {
		return Glance{}
	}
	defer list.Close()
	g, err := s.file.look(ctx, bounded, &list)
	if err != nil {
		return Glance{} // it is damaged
	}
	return g
}

// String returns the figures of r in one line, without its source and problems.
func (r Report) String() string {
	n := figures.Thousands
	s := fmt.Sprintf("%s found, %s added, %s changed, %s removed, %s refused, %s unchanged in %s",
		n(r.Found), n(r.Added), n(r.Changed), n(r.Removed), n(r.Refused), n(r.Unchanged), figures.Duration(r.Took))
	if r.Unreadable > 0 {
		s += fmt.Sprintf(", %d unreadable", r.Unreadable)
	}
	switch {
	case r.Away:
		s += " (away: its skills are kept, but not offered)"
	case !r.Complete:
		s += " (incomplete: nothing was removed where it could not look)"
	}
	return s
}

// Total adds up reports. The sum has no source, and is complete if all are.
func Total(reports []Report) Report {
	total := Report{Complete: true}
	for _, r := range reports {
		total.Found += r.Found
		total.Added += r.Added
		total.Changed += r.Changed
		total.Removed += r.Removed
		total.Unchanged += r.Unchanged
		total.Refused += r.Refused
		total.Unreadable += r.Unreadable
		total.Complete = total.Complete && r.Complete
		total.Problems = append(total.Problems, r.Problems...)
		total.Took += r.Took
	}
	return total
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// rescans measures what it costs to see that nothing has changed: the first time
// in a process, which walks all folders, and from then on.
func (m *meter) rescans(ctx context.Context, l *openLeg) (first, later float64, err error) {
	rescan := func(c catalog) (float64, error) {
		return timed(func() error { _, err := c.Rescan(ctx, nil); return err })
	}
	first, err = m.repeat(func() (float64, error) {
		c, err := l.open(ctx, m.root(), m.db("vectors"))
		if err != nil {
			return 0, err
		}
		took, err := rescan(c)
		return took, errors.Join(err, c.Close())
	})
	if err == nil {
		_, err = rescan(l.catalog)
	}
	if err == nil {
		later, err = m.repeat(func() (float64, error) { return rescan(l.catalog) })
	}
	return first, later, err
}

// changes measures what changed skills cost a leg.
func (m *meter) changes(ctx context.Context, l *openLeg) ([]ChangeSpeed, error) {
	list := make([]ChangeSpeed, 2)
	for i := range list {
		var err error
		if list[i], err = m.change(ctx, l, i == 0); err != nil {
			return nil, err
		}
	}
	for i := range list { // last, because refresh uses an index of its own, after which the next rescan walks
		var err error
		if list[i].IndexMS, err = m.refresh(ctx, l, list[i].Recent); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// change changes one skill in each round, a recently changed or an old one, and
// measures what it costs a leg to notice.
func (m *meter) change(ctx context.Context, l *openLeg, recent bool) (s ChangeSpeed, err error) {
	s.Recent = recent
	var rescans, visible []float64
	for range m.rounds {
		// Not measured: the first rescan of a process walks, and a rescan after a
		// change writes the list of stamps.
		if _, err := l.catalog.Rescan(ctx, nil); err != nil {
			return s, err
		}
		_, word, err := m.edit(l.leg, recent)
		if err != nil {
			return s, err
		}
		took, seen, err := rescanned(ctx, l.catalog, word)
		if err != nil {
			return s, err
		}
		rescans, visible = append(rescans, took), append(visible, seen)
	}
	s.RescanMS, s.VisibleMS = median(rescans), median(visible)
	return s, nil
}

// edit appends a new word to a skill. If recent is set, the skill gets the newest
// modification time of all, otherwise about the time that it had. It does not use the
// current time: files that have just changed are read again for some seconds, which
// would slow down later rounds.
func (m *meter) edit(l leg, recent bool) (file, word string, err error) {
	m.edits++
	i, age := 0, -time.Duration(m.edits)*time.Second
	if !recent {
		i = (len(m.skills)/2 + 7919*m.edits) % len(m.skills)
		age = time.Duration(i)*time.Second - time.Duration(m.edits)*time.Millisecond
	}
	file, word = m.skills[i], fmt.Sprintf("zq%sx%dzq", l.Name, m.edits)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return file, word, err
	}
	_, err = f.WriteString("\n" + word + "\n")
	return file, word, errors.Join(err, f.Close(), touch(file, m.newest.Add(-age)))
}

func touch(file string, t time.Time) error { return os.Chtimes(file, t, t) }

// rescanned rescans while another goroutine searches for a word that one skill has just
// got. It returns how long the rescan took, and how long it was until a search found
// the skill, both in milliseconds.
func rescanned(ctx context.Context, c catalog, word string) (took, visible float64, err error) {
	const pause = time.Millisecond / 2 // so that the searches do not slow the rescan down
	start := time.Now()
	over, found := make(chan struct{}), make(chan error, 1)
	go func() {
		for last := false; ; time.Sleep(pause) {
			select {
			case <-over:
				last = true
			default:
			}
			ok, err := finds(ctx, c, word)
			visible = milliseconds(time.Since(start))
			if err == nil && !ok && last {
				err = fmt.Errorf("the changed skill is not found by %q", word)
			}
			if err != nil || ok {
				found <- err
				return
			}
		}
	}()
	_, err = c.Rescan(ctx, nil)
	took = milliseconds(time.Since(start))
	close(over)
	return took, visible, errors.Join(err, <-found)
}

// finds reports whether a search finds a skill that has the word. The skill need not be
// the first hit, because the word has no meaning for vectors.
func finds(ctx context.Context, c catalog, word string) (bool, error) {
	a, err := c.Search(ctx, repertoire.Query{Text: word, Limit: 100})
	return slices.ContainsFunc(a.Hits, func(h repertoire.Hit) bool { return h.Strength > 0 }), err
}

// refresh measures the cost of a change without the check for changes: reading,
// indexing and compiling one skill.
func (m *meter) refresh(ctx context.Context, l *openLeg, recent bool) (float64, error) {
	src, err := rootSource(m.root())
	if err != nil {
		return 0, err
	}
	embedder, err := static.Default()
	if err != nil {
		return 0, err
	}
	st, err := sqlite.Open(ctx, m.db("vectors"), nil)
	if err != nil {
		return 0, err
	}
	defer st.Close()
	x := index.New(st, embedder, &index.Options{Path: m.db("vectors"), Inline: true, FTS5: !l.Compiled})
	defer x.Close()
	one := func() (float64, error) {
		file, _, err := m.edit(l.leg, recent)
		if err != nil {
			return 0, err
		}
		dir, err := filepath.Rel(m.root(), filepath.Dir(file))
		if err != nil {
			return 0, err
		}
		ref, _, ok := src.Skill(filepath.ToSlash(dir))
		if !ok {
			return 0, fmt.Errorf("%s is not there any more", file)
		}
		return timed(func() error {
			report, err := x.Refresh(ctx, index.SourceOf(src), []*skill.Ref{ref})
			if err == nil && report.Changed != 1 {
				err = fmt.Errorf("%d skills changed, want 1: %v", report.Changed, report.Problems)
			}
			return errors.Join(err, x.Publish(ctx, false))
		})
	}
	if _, err := one(); err != nil { // not measured: the first one opens files
		return 0, err
	}
	return m.repeat(one)
}

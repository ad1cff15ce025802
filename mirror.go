package repertoire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/source/shared"
	"github.com/repertoire-skills/repertoire/store"
)

// mirror keeps a copy of Config.Store, which other processes write: shared store → snapshot.
type mirror struct {
	*opening
	state
	engine engine
	copy   *index.Mirror
	conn   connection

	ctx    context.Context // of what follows the store; ended by cancel
	cancel context.CancelFunc
	follow sync.WaitGroup
	due    chan struct{} // holds a value if there may be something to pull
	tidy   chan struct{} // holds a value if there may be something to compile or calibrate
}

// An engine is what Config.Store must be.
type engine interface {
	store.Store
	store.Files
	store.Watcher
}

// newMirror opens the local copy of Config.Store.
func newMirror(o *opening) (*mirror, error) {
	if o.cfg.Store == nil {
		return nil, fmt.Errorf("the configuration names the shared catalog %s: open its engine as Config.Store, or read the configuration with the store \"none\"", endpoint.Shown(o.cfg.StoreURL))
	}
	e, ok := o.cfg.Store.(engine)
	switch {
	case !ok:
		return nil, errors.New("Config.Store is no engine for several machines: it lacks store.Files or store.Watcher")
	case len(o.cfg.Sources) > 0 || o.cfg.Discover != nil:
		return nil, errors.New("a catalog with Config.Store has no Sources of its own: skills come from the store")
	}
	path, err := o.cfg.copyPath()
	if err != nil {
		return nil, err
	}
	m := &mirror{opening: o, engine: e, conn: connection{path: path}, due: make(chan struct{}, 1), tidy: make(chan struct{}, 1)}
	m.conn.now = Shared{State: Starting, Since: time.Now(), Heard: m.conn.heardBefore()}
	o.by = o.by.Measured() // now, because nobody here embeds
	m.copy = index.NewMirror(e, o.by.Embedder, &index.Options{Path: path, Fallback: o.by.Fallback, Contextual: o.by.Contextual})
	r := impatient{e, m}
	options := o.searchOptions()
	options.AsOf = m.conn.asOf
	m.state = state{path: path, store: e, search: search.New(m.copy, r, o.by.Embedder, options), policy: o.rules.Load().whole()}
	files := shared.NewCache(path+filesSuffix, 0)
	m.reader.open = func(info source.Info, current func([]skill.File) bool) (source.Source, error) {
		info.MaxFile = o.cfg.MaxFile
		return shared.New(r, info, &shared.Options{Cache: files, Current: current})
	}
	m.provider = contextprovider.New(m.search, m.reader)
	m.search.SetPolicy(m.policy, nil)
	return m, nil
}

// close implements keeper.
func (m *mirror) close() error {
	if m.cancel != nil {
		m.cancel()
	}
	m.follow.Wait()
	return errors.Join(m.copy.Close(), m.engine.Close())
}

// ask implements keeper.
func (m *mirror) ask(_ context.Context, f func(*state) error) error { return f(&m.state) }

// awaitScan implements keeper: nothing is scanned here.
func (m *mirror) awaitScan(context.Context) bool { return false }

// path implements keeper.
func (m *mirror) path() string { return m.state.path }

// shared implements keeper.
func (m *mirror) shared() Shared { return m.conn.shared() }

// recovered implements keeper.
func (m *mirror) recovered() string { return "" }

// sources implements keeper: those of the copy; none if there is no copy yet.
func (m *mirror) sources() []source.Source {
	set, err := m.copy.Copy()
	if err != nil {
		return nil
	}
	var list []source.Source
	for _, kept := range set.Sources {
		if src, err := m.reader.open(source.Info{Label: kept.Label, Priority: kept.Priority}, nil); err == nil {
			list = append(list, src)
		}
	}
	return list
}

// answers reports whether there is a copy that can answer without the store.
func (m *mirror) answers() bool {
	s, err := m.copy.Copy()
	return err == nil && s.Compiled
}

// pull brings the copy in step with the store.
func (m *mirror) pull(ctx context.Context) (changed bool, err error) {
	p, err := m.copy.Pull(ctx)
	if p.Base != nil {
		m.log.Warn("compiling all skills, because the compiled base cannot be downloaded", "error", p.Base)
	}
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) {
			m.conn.failed(unreachable(err))
		}
		return false, err
	}
	return m.conn.copied(p.State), nil
}

// freshen implements keeper: it pulls, for a time of at most o.Scan if there is a copy that
// can answer.
func (m *mirror) freshen(ctx context.Context, o *FreshenOptions) (f Freshness, err error) {
	if !m.answers() {
		if _, err := m.pull(ctx); err != nil {
			return f, withoutCopy(err)
		}
		f.Current = true
		return f, nil
	}
	limit := cmp.Or(o.Scan, time.Second)
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err = m.pull(bounded)
	if ctx.Err() != nil {
		return f, ctx.Err()
	}
	if err != nil {
		f.Stale = unreachable(err)
	}
	if errors.Is(f.Stale, context.DeadlineExceeded) {
		f.Stale = fmt.Errorf("%w: it did not answer within %v", store.ErrUnreachable, limit)
	}
	f.Current = err == nil
	return f, nil
}

// glance implements keeper: there are no folders to look at.
func (m *mirror) glance(context.Context, time.Duration) Freshness { return Freshness{} }

// rescan implements keeper: it pulls.
func (m *mirror) rescan(ctx context.Context, _ func(), _ bool) ([]Report, error) {
	_, err := m.pull(ctx)
	return nil, err
}

// embed implements keeper: whoever writes the store embeds.
func (m *mirror) embed(context.Context, func(done, all int)) error { return nil }

// encode implements keeper, the same.
func (m *mirror) encode(context.Context, func(done, all int)) error { return nil }

// calibrate implements keeper.
func (m *mirror) calibrate(ctx context.Context) error {
	return m.copy.Calibrate(ctx, m.search.Calibrator(m.rules.Load().agents))
}

// forget implements keeper.
func (m *mirror) forget(_ context.Context, label string) error {
	return fmt.Errorf("forgetting source %s: the catalog is shared, and this program only reads it: %w", label, store.ErrReadOnly)
}

// indexed implements keeper.
func (m *mirror) indexed(context.Context) (bool, error) { return m.answers(), nil }

// usable implements keeper.
func (m *mirror) usable(context.Context) (bool, error) { return m.answers(), nil }

// reach calls f, unless it is known that the engine cannot be asked. What the engine does not
// know is no error of its own.
func reach[T any](ctx context.Context, m *mirror, f func(context.Context) (T, error)) (v T, err error) {
	if now := m.conn.shared(); now.State != Current && now.Err != nil {
		return v, unreachable(now.Err)
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err = f(bounded)
	answered := err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrClosed)
	if answered || ctx.Err() != nil {
		return v, err
	}
	return v, unreachable(err)
}

// An impatient is the read half of an engine that fails at once when the engine is lost.
type impatient struct {
	store.Reader
	mirror *mirror
}

// Skill implements store.Reader.
func (r impatient) Skill(ctx context.Context, row int64) (s *skill.Skill, ok bool, err error) {
	s, err = reach(ctx, r.mirror, func(ctx context.Context) (s *skill.Skill, err error) {
		s, ok, err = r.Reader.Skill(ctx, row)
		return s, err
	})
	return s, ok && err == nil, err
}

// SkillFiles implements store.Files.
func (r impatient) SkillFiles(ctx context.Context, label, dir string) ([]skill.File, error) {
	return reach(ctx, r.mirror, func(ctx context.Context) ([]skill.File, error) { return r.mirror.engine.SkillFiles(ctx, label, dir) })
}

// Content implements store.Files.
func (r impatient) Content(ctx context.Context, sha256 string) ([]byte, error) {
	return reach(ctx, r.mirror, func(ctx context.Context) ([]byte, error) { return r.mirror.engine.Content(ctx, sha256) })
}

// withoutCopy says that there is no copy that could answer in the place of the store.
func withoutCopy(err error) error {
	if err == nil || errors.Is(err, index.ErrNotPulled) {
		return err
	}
	return fmt.Errorf("%w: %w", index.ErrNotPulled, err)
}

// signal puts a value into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// How long a one-shot command checks for changes before it answers from what is
// indexed: 2,500 skills take about 10 ms. What runs at every prompt must not be felt, so
// it checks only a part of a large catalog each time.
const (
	freshen = time.Second
	hurry   = time.Millisecond
)

// catalog is an open catalog with the agent that asks.
type catalog struct {
	*repertoire.Catalog
	session *session
	agent   *repertoire.Agent
	stale   string // why answers may be out of date; "" means that they are not
	part    search.Part
}

// Close closes the catalog, with a note if the catalog was damaged and has been rebuilt.
func (c *catalog) Close() error {
	c.session.noteRecovered(c.Catalog)
	return c.Catalog.Close()
}

func (s *session) noteRecovered(c *repertoire.Catalog) {
	if aside := c.Owner().Recovered(); aside != "" {
		s.note("the catalog was damaged and has been rebuilt; the damaged file was kept as %s", aside)
	}
}

// options returns the options that the flags set.
func (s *session) options() (*repertoire.ConfigOptions, error) {
	if s.onlyRoot && len(s.roots) == 0 {
		return nil, &usageError{"skills", errors.New("--only-root needs a --root")}
	}
	state, _ := config.StateDir() // without one no copy of the configuration is kept
	return &repertoire.ConfigOptions{
		File: s.config, Roots: s.roots, OnlyRoots: s.onlyRoot, DB: s.db, Store: s.store, Catalog: s.catalog, Client: s.client,
		State: state, LastGood: s.lastGood, Warn: s.warnOnce,
	}, nil
}

// warnOnce tells what cannot be used and stops nothing. Some commands read the
// configuration twice.
func (s *session) warnOnce(err error) {
	message := messageOf(err)
	if slices.Contains(s.warned, message) {
		return
	}
	s.warned = append(s.warned, message)
	if s.warn != nil {
		s.warn(err)
	} else {
		s.note("%s", message)
	}
}

// settings returns the settings, for a command that opens no catalog with them.
func (s *session) settings() (config.Settings, error) {
	o, err := s.options()
	if err != nil {
		return config.Settings{}, err
	}
	return config.Read(s.dir, (*config.Options)(o))
}

// logger gets the messages about background work; nil drops them.
func (s *session) logger() *slog.Logger {
	if s.log == nil && s.verbose {
		return slog.New(slog.NewTextHandler(s.stderr, nil))
	}
	return s.log
}

// readConfig returns the configuration from flags and files. Only a command that stays
// running is rescanned on the configured schedule.
func (s *session) readConfig(stays bool) (repertoire.Config, error) {
	o, err := s.options()
	if err != nil {
		return repertoire.Config{}, err
	}
	cfg, err := repertoire.ReadConfig(s.dir, o)
	cfg.Logger = s.logger()
	if !stays {
		cfg.Schedule = repertoire.Never
	}
	cfg.Defer = true
	return cfg, err
}

// open opens the catalog that the flags and the configuration describe.
func (s *session) open(ctx context.Context) (*catalog, error) {
	cfg, err := s.readConfig(false)
	if err != nil {
		return nil, err
	}
	return s.openWith(ctx, cfg)
}

// openWith opens the catalog of cfg for the agent of the flags.
func (s *session) openWith(ctx context.Context, cfg repertoire.Config) (*catalog, error) {
	if err := openStore(&cfg); err != nil {
		return nil, err
	}
	c, err := repertoire.Open(ctx, cfg)
	if err != nil {
		return nil, elsewhere(cfg, err)
	}
	agent, err := c.Agent(s.agent)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &catalog{Catalog: c, session: s, agent: agent}, nil
}

// elsewhere adds what to do to the error of a catalog whose folder cannot be written.
func elsewhere(cfg repertoire.Config, err error) error {
	db := cfg.DB
	if db == "" {
		db, _ = config.DefaultDB(cfg.Sources)
	}
	_, absent := os.Stat(db)
	if cause := (*fs.PathError)(nil); absent != nil && errors.As(err, &cause) && strings.HasPrefix(db, filepath.Dir(cause.Path)) {
		return fmt.Errorf("%w (set REPERTOIRE_CACHE, or name a file with --db)", err)
	}
	return err
}

// only reports whether args are folders. If they are, the session looks into them and the roots of
// --root, and nowhere else.
func (s *session) only(args []string) bool {
	folders := s.also(args)
	s.onlyRoot = s.onlyRoot || folders
	return folders
}

// also reports whether args are folders. If they are, the session looks into them first.
func (s *session) also(args []string) bool {
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			return false
		}
	}
	s.roots = slices.Concat(args, s.roots)
	return len(args) > 0
}

// orFolder adds to an error that there is no skill of a name what a folder of that name would mean.
func orFolder(err error) error {
	if errors.Is(err, skill.ErrNotFound) {
		return fmt.Errorf("%w; there is no such folder either", err)
	}
	return err
}

// openFresh opens the catalog and brings it up to date, see refresh.
func (s *session) openFresh(ctx context.Context, limit time.Duration) (*catalog, error) {
	cfg, err := s.readConfig(false)
	if err != nil {
		return nil, err
	}
	return s.openFreshWith(ctx, cfg, limit)
}

func (s *session) openFreshWith(ctx context.Context, cfg repertoire.Config, limit time.Duration) (*catalog, error) {
	c, err := s.openWith(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.refresh(ctx, c, limit); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// A task is what a command does with an up-to-date catalog.
type task func(ctx context.Context, s *session, c *catalog, args []string) error

func (s *session) ask(ctx context.Context, limit time.Duration, args []string, do task) error {
	c, err := s.openFresh(ctx, limit)
	if err != nil {
		return err
	}
	defer c.Close()
	err = do(ctx, s, c, args)
	if missing, ok := errors.AsType[*search.NotFoundError](err); ok && c.agent == nil {
		return cmp.Or(doctor.WhyRefused(ctx, c.Catalog, missing.ID), err)
	}
	return err
}

// refresh brings an open catalog up to date: a new one completely, any other as far as
// possible within about limit. What it leaves out, the next command does.
func (s *session) refresh(ctx context.Context, c *catalog, limit time.Duration) error {
	if s.partial && hook.Indexing(stateDir(), c.Path()) { // to read beside it would make both slower
		unread, err := c.Unread(ctx)
		if n, none := c.Count(ctx, nil); err == nil && none == nil && unread > 0 && n > 0 {
			return s.notePart(ctx, c)
		}
	}
	bar := s.progress("indexing", -1)
	f, err := c.Freshen(ctx, &repertoire.FreshenOptions{
		Look: limit, Scan: freshen, Rescan: s.verbose, Found: bar.step, Partial: s.partial,
	})
	bar.done()
	switch {
	case f.Partial:
		if err := s.notePart(ctx, c); err != nil {
			return err
		}
		if f.Cut {
			if err := s.goOn(c.Path()); err != nil {
				s.noteVerbose("the rest is not read in the background: %v", err)
			}
		}
	case f.Cut:
		s.note("some changed skills are not read yet; the next command goes on, \"skills index\" reads all")
	case f.Stale != nil && c.Shared().State != "":
		s.note("%s", oldCopy(c.Shared(), f.Stale))
	case f.Stale != nil:
		s.note("the answer is as of the last index: %v", f.Stale)
	default:
		s.noteVerbose("checked %s for changes", count(f.Looked, "folder"))
		s.reportVerbose(f.Reports)
	}
	if f.Stale != nil {
		c.stale = f.Stale.Error()
	}
	return err
}

// notePart says once how much of the catalog has not been read yet.
func (s *session) notePart(ctx context.Context, c *catalog) error {
	unread, err := c.Unread(ctx)
	if unread > 0 && !c.part.Partial {
		s.note("this is %s; the next command goes on (\"skills index\" reads all)", search.PartOf(unread).OfCatalog())
	}
	c.part = search.PartOf(unread)
	return err
}

// rescan brings the catalog up to date completely, with a progress bar if there is much to read.
func (s *session) rescan(ctx context.Context, c *catalog) ([]repertoire.Report, error) {
	return s.rescanWith(ctx, func(ctx context.Context, found func()) ([]repertoire.Report, error) {
		if indexed, err := c.Owner().Indexed(ctx); err == nil && indexed {
			found = nil // a look at the times of the files tells what has changed
		}
		return c.Owner().Rescan(ctx, found)
	})
}

// A scanner brings a catalog up to date and calls found for each skill.
type scanner func(ctx context.Context, found func()) ([]repertoire.Report, error)

// rescanWith is rescan with another kind of scan.
func (s *session) rescanWith(ctx context.Context, scan scanner) ([]repertoire.Report, error) {
	bar := s.progress("indexing", -1)
	reports, err := scan(ctx, bar.step)
	bar.done()
	s.reportVerbose(reports)
	return reports, err
}

func (s *session) reportVerbose(reports []repertoire.Report) {
	for _, r := range reports {
		s.noteVerbose("%s: %v", r.Source, r)
	}
}

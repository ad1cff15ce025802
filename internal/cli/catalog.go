package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/source"
)

// How long a one-shot command looks for changes before it answers with what it
// knows: 2,500 skills take about 10 ms. A hook that runs at every prompt must not
// be felt, so it looks at a part of a large catalog each time.
const (
	freshen = time.Second
	hurry   = time.Millisecond
)

// catalog is an open catalog with the agent that asks.
type catalog struct {
	*repertoire.Catalog
	app     *app
	agent   *repertoire.Agent
	reports []repertoire.Report

	ofProject []string // labels of the sources that are the project's
}

// Close closes the catalog and tells whether it had to be rebuilt, which may
// have turned out at any time since it was opened.
func (c *catalog) Close() error {
	if aside := c.Recovered(); aside != "" {
		c.app.note("the catalog was damaged and has been rebuilt; the damaged file was kept as %s", aside)
	}
	return c.Catalog.Close()
}

// open opens the catalog that the flags and the configuration describe.
func (a *app) open(ctx context.Context) (*catalog, error) {
	settings, err := a.settings()
	if err != nil {
		return nil, err
	}
	return a.openWith(ctx, settings, repertoire.Never)
}

// openWith is open with settings and a schedule.
func (a *app) openWith(ctx context.Context, s repertoire.Settings, schedule string) (*catalog, error) {
	return a.openAs(ctx, s, func(cfg *repertoire.Config) { cfg.Schedule, cfg.Defer = schedule, schedule == repertoire.Never })
}

// openAs is open with settings and a function that completes the configuration.
func (a *app) openAs(ctx context.Context, s repertoire.Settings, complete func(*repertoire.Config)) (*catalog, error) {
	sources, ofProject, err := a.places(s)
	if err != nil {
		return nil, err
	}
	embedder, err := s.Embedder.New()
	if err != nil {
		return nil, fmt.Errorf("configuring embedder: %w", err)
	}
	cfg := repertoire.Config{
		Sources: sources, DB: s.DB, Embedder: embedder, Deadline: s.Deadline, Threshold: s.Threshold,
		Agents: s.Agents, Schedule: s.Schedule, Logger: a.logger(),
		FTS5: os.Getenv("REPERTOIRE_RANKING") == "fts5",
	}
	if err := s.Reranker.Configure(&cfg); err != nil {
		return nil, fmt.Errorf("configuring %w", err)
	}
	complete(&cfg)
	c, err := repertoire.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	agent, err := c.Agent(a.agent)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &catalog{Catalog: c, app: a, agent: agent, ofProject: ofProject}, nil
}

// openFresh opens the catalog and brings it up to date: completely when it is
// new, else as far as it gets in about the time of limit.
func (a *app) openFresh(ctx context.Context, limit time.Duration) (*catalog, error) {
	c, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.refresh(ctx, c, limit); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// openAsked is openFresh for a command that is asked something: it also returns
// the text of its arguments.
func (a *app) openAsked(ctx context.Context, args []string, limit time.Duration) (*catalog, string, error) {
	text, err := a.prompt(ctx, args)
	if err != nil {
		return nil, "", err
	}
	c, err := a.openFresh(ctx, limit)
	return c, text, err
}

func (a *app) refresh(ctx context.Context, c *catalog, limit time.Duration) error {
	if g := c.Glance(ctx, limit); g.Current && !a.verbose { // which wants a report
		if !g.All {
			a.note("looked at %d folders for changed skills in %v; the next command goes on (\"skills index\" does all)", g.Looked, limit)
		}
		return nil
	}
	indexed, err := c.Indexed(ctx)
	if err != nil {
		return err
	}
	if !indexed {
		return a.rescan(ctx, c)
	}
	bounded, cancel := context.WithTimeout(ctx, freshen)
	defer cancel()
	c.reports, err = c.Rescan(bounded, nil)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		a.note("looking for changed skills was cut off after %v; the next command goes on (\"skills index\" does all)", freshen)
		return nil
	}
	a.reportVerbose(c.reports)
	return err
}

// rescan brings the catalog up to date completely and shows that it works.
func (a *app) rescan(ctx context.Context, c *catalog) error {
	bar := a.progress("indexing", -1)
	reports, err := c.Rescan(ctx, func() { bar.add(1) })
	bar.done()
	c.reports = reports
	a.reportVerbose(reports)
	return err
}

func (a *app) reportVerbose(reports []repertoire.Report) {
	if !a.verbose {
		return
	}
	for _, r := range reports {
		a.note("%s: %s", r.Source, summary(r))
	}
}

// summary says what a rescan did with one source.
func summary(r repertoire.Report) string {
	s := fmt.Sprintf("%d found, %d added, %d changed, %d removed, %d refused, %d unchanged in %v",
		r.Found, r.Added, r.Changed, r.Removed, r.Refused, r.Unchanged, r.Took.Round(time.Millisecond))
	if !r.Complete {
		s += " (incomplete: nothing was removed)"
	}
	return s
}

// settings reads the configuration and lets the flags win.
func (a *app) settings() (repertoire.Settings, error) {
	s := repertoire.DefaultSettings()
	if err := a.readSettings(&s); err != nil {
		return s, err
	}
	if a.onlyRoot {
		if len(a.roots) == 0 {
			return s, &usageError{"skills", errors.New("--only-root needs a --root")}
		}
		s.Roots, s.Project, s.User, s.Bundled = nil, false, false, false
	}
	var roots []repertoire.Root
	for _, r := range a.roots {
		roots = append(roots, repertoire.Root{Path: r})
	}
	s.Roots = append(roots, s.Roots...)
	s.DB = cmp.Or(a.db, os.Getenv("REPERTOIRE_DB"), s.DB)
	return s, nil
}

func (a *app) readSettings(s *repertoire.Settings) error {
	if a.config != "" {
		return s.ReadSettings(a.config)
	}
	name, err := repertoire.ConfigFile()
	if err == nil {
		// Without a home there is no file of the user; that is no reason to stop.
		if err := s.ReadSettings(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dir, err := a.workDir()
	if err != nil {
		return err
	}
	project, err := repertoire.FindProjectFile(dir)
	if err != nil || project == "" {
		return err
	}
	return s.ReadProject(project)
}

// sources opens the folders that settings name and the usual ones.
func (a *app) sources(s repertoire.Settings) ([]source.Source, error) {
	sources, _, err := a.places(s)
	return sources, err
}

// places is sources, which also returns the labels of those of the project.
func (a *app) places(s repertoire.Settings) (sources []source.Source, ofProject []string, err error) {
	roots := make(map[string]repertoire.Root) // by path
	search := source.Search{NoBundled: !s.Bundled}
	for _, r := range s.Roots {
		abs, err := filepath.Abs(r.Path)
		if err != nil {
			return nil, nil, err
		}
		roots[abs] = r
		search.Roots = append(search.Roots, abs)
	}
	if s.Project {
		dir, err := a.workDir()
		if err != nil {
			return nil, nil, err
		}
		search.WorkDir = dir
	}
	if s.User {
		// Without a home there are no folders of the user to look at.
		if home, err := os.UserHomeDir(); err == nil {
			search.Home, search.Config = home, os.Getenv("XDG_CONFIG_HOME")
		}
	}
	places, err := source.Discover(search)
	if err := a.unreachable(err, roots); err != nil {
		return nil, nil, err
	}
	for _, p := range places {
		r := roots[p.Path]
		p.Label = cmp.Or(r.Label, p.Label)
		src, err := p.Open(&source.Options{Names: r.Names, MaxFile: s.MaxFile})
		if err != nil {
			return nil, nil, err
		}
		sources = append(sources, src)
		if p.Kind == source.KindProject {
			ofProject = append(ofProject, p.Label)
		}
	}
	return sources, ofProject, nil
}

// unreachable returns the errors of Discover that concern a root, which
// somebody asked for. Of the usual places one that cannot be looked at is told,
// and the others are used.
func (a *app) unreachable(err error, roots map[string]repertoire.Root) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var fatal []error
	for _, err := range joined.Unwrap() {
		var at *fs.PathError
		if errors.As(err, &at) {
			if _, root := roots[at.Path]; !root {
				a.note("%v", err)
				continue
			}
		}
		fatal = append(fatal, err)
	}
	return errors.Join(fatal...)
}

package evals

import (
	"context"
	_ "embed" // for the invented skills
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/scratch"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// invented holds 300 skills that nobody has, "NAME: DESCRIPTION" in each line. They were written for
// this purpose, and cover many fields.
//
//go:embed invented.txt
var invented string

// fewest is how many skills a catalog must offer to be asked without invented ones: among fewer, nearly
// every prompt finds its skill.
const fewest = 100

// Labels of the sources that Open adds.
const (
	labelInvented = "invented"
	labelAmong    = "among "
)

// Among says among how many skills prompts are asked, as the agent sees them.
type Among struct {
	Catalog  int `json:"catalog"`            // skills of the catalog, with those that are tried
	Folders  int `json:"folders,omitempty"`  // skills of further folders
	Invented int `json:"invented,omitempty"` // skills that nobody has
}

// String says it in words.
func (a Among) String() string {
	text := "asked among " + figures.Count(a.Catalog, "skill") + " of the catalog"
	if a.Folders > 0 {
		text += fmt.Sprintf(" and %s of further folders", figures.Count(a.Folders, "skill"))
	}
	if a.Invented > 0 {
		text += fmt.Sprintf(" and %d invented ones, because the catalog has fewer than %d", a.Invented, fewest)
	}
	return text
}

// Options of Open.
type Options struct {
	Agent   *search.Agent // who asks; nil means the whole catalog
	Folders []string      // whose skills are there too; nil means none

	// Embedder ranks in place of that of the catalog, with Contextual, see repertoire.Config; nil
	// means that those of the catalog rank.
	Embedder, Contextual embed.Embedder

	Step func(done, all int) // called while texts are embedded; nil means no call
}

// A Room is a catalog in which prompts of evals are asked: the skills of a catalog, and if these are
// few, others too. Every door asks them in one, so a prompt has one verdict.
type Room struct {
	*repertoire.Catalog
	Agent *search.Agent
	Among Among

	borrowed bool            // the catalog is somebody else's, who closes it
	folder   *scratch.Folder // of a catalog that nobody asks again; nil without one
}

// Open opens the room of a catalog, which must be up to date and stay open. If it offers fewer than 100
// skills, and no folder is given, 300 invented skills are there too; they lie beside the catalog
// file. A shared catalog is asked as it is.
func Open(ctx context.Context, c *repertoire.Catalog, o Options) (_ *Room, err error) {
	r := &Room{Catalog: c, Agent: o.Agent, borrowed: true}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("opening a catalog to ask prompts in: %w", err), r.Close())
		}
	}()
	cfg := c.Config()
	if cfg.Store != nil {
		if len(o.Folders) > 0 || o.Embedder != nil {
			return nil, errors.New("a shared catalog is asked as it is: leave out further folders and other embedders")
		}
	} else if err := r.openLocal(ctx, &cfg, &o); err != nil {
		return nil, err
	}
	if err := r.Owner().Embed(ctx, o.Step); err != nil {
		return nil, err
	}
	if err := r.Owner().Calibrate(ctx); err != nil {
		return nil, err
	}
	return r, r.count(ctx)
}

// openLocal opens a catalog with the sources of cfg and others.
func (r *Room) openLocal(ctx context.Context, cfg *repertoire.Config, o *Options) error {
	n, err := r.Count(ctx, nil)
	if err != nil {
		return err
	}
	others, err := othersFor(n, o.Folders)
	if err != nil {
		return err
	}
	if o.Embedder != nil {
		cfg.Embedder, cfg.Contextual = o.Embedder, o.Contextual
	}
	by, err := config.EmbeddingBy(cfg.Embedder, cfg.Contextual)
	if err != nil {
		return err
	}
	// What is measured must not depend on what else the machine does: a named encoder is waited for.
	if by = by.Measured(); by.Contextual != nil {
		cfg.Contextual = by.Contextual
	} else {
		cfg.Contextual = embed.None{}
	}
	cfg.Deadline = max(cfg.Deadline, time.Minute)
	cfg.Discover, cfg.Fetch, cfg.Changed, cfg.Heard, cfg.Logger = nil, nil, nil, nil, nil
	cfg.Schedule, cfg.Background, cfg.Defer, cfg.Away = repertoire.Never, false, true, true
	above := cfg.DB + config.ChecksSuffix
	switch {
	case len(o.Folders) > 0 || o.Embedder != nil:
		scratch.Sweep(above, "once", nil)
		if r.folder, err = scratch.New(above, "once"); err != nil {
			return err
		}
		cfg.DB = filepath.Join(r.folder.Dir, "catalog.db")
	case len(others) > 0:
		cfg.DB = filepath.Join(above, "evals.db")
	}
	cfg.Sources = append(cfg.Sources, others...)
	c, err := repertoire.Open(ctx, *cfg)
	if err != nil {
		return err
	}
	if r.Catalog, r.borrowed = c, false; len(others) > 0 || r.folder != nil {
		_, err = c.Owner().Rescan(ctx, nil)
	}
	return err
}

// Close closes the room.
func (r *Room) Close() (err error) {
	if !r.borrowed {
		err = r.Catalog.Close()
	}
	if r.folder != nil {
		err = errors.Join(err, r.folder.Close())
	}
	return err
}

// count counts the skills that the agent sees.
func (r *Room) count(ctx context.Context) error {
	entries, err := r.List(ctx, r.Agent, &search.ListOptions{Person: true})
	for _, e := range entries {
		switch {
		case e.Source == labelInvented:
			r.Among.Invented++
		case strings.HasPrefix(e.Source, labelAmong):
			r.Among.Folders++
		default:
			r.Among.Catalog++
		}
	}
	return err
}

// Has reports whether a skill is one of the catalog, and not one that Open has added.
func (r *Room) Has(e *search.Entry) bool {
	return e.Source != labelInvented && !strings.HasPrefix(e.Source, labelAmong)
}

// othersFor returns the sources of further skills for a catalog that offers n. Its own skills win over them.
func othersFor(n int, folders []string) (list []source.Source, err error) {
	for i, folder := range folders {
		s, err := source.Dir(folder, &source.Options{Label: fmt.Sprint(labelAmong, i+1), Priority: -1})
		if err == nil {
			err = s.Missing()
		}
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(folders) > 0 || n >= fewest {
		return list, nil
	}
	files := make(map[string]string)
	for line := range strings.Lines(invented) {
		name, description, _ := strings.Cut(strings.TrimSpace(line), ": ")
		files[name+"/SKILL.md"] = fmt.Sprintf("---\nname: %s\ndescription: %q\n---\n%[2]s\n", name, description)
	}
	s, err := source.Files(files, &source.Options{Label: labelInvented, Priority: -1})
	return []source.Source{s}, err
}

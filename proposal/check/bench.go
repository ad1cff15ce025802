package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// Bounds of what is asked.
const (
	maxPrompts = 200 // in the evals of a skill
	ranked     = 10  // hits among which a skill is looked for
)

// bench asks the prompts of a skill with and without the change. The catalog with the change
// lies in a folder.
func (k *Checker) bench(ctx context.Context, folder string, t *proposal.Trial) (*proposal.Bench, error) {
	label, dir := t.Source, t.Dir
	if t.Before == nil {
		label = proposed
	}
	second, err := k.second(ctx, folder, t, label)
	if err != nil {
		return nil, fmt.Errorf("making a catalog with the change: %w", err)
	}
	defer second.Close()
	prompts := promptsOf(t)
	b := &proposal.Bench{Prompts: len(prompts)}
	for _, p := range prompts {
		was := 0
		if t.Before != nil {
			if was, err = rankIn(ctx, k.catalog, p.before, label, dir); err != nil {
				return nil, err
			}
		}
		is, err := rankIn(ctx, second, p.after, label, dir)
		if err != nil {
			return nil, err
		}
		count(&b.Before, was)
		count(&b.After, is)
		if was > 0 && (is == 0 || is > was) {
			b.Worse = append(b.Worse, proposal.Worse{Prompt: p.after, Before: was, After: is})
		}
	}
	return b, nil
}

// count counts a prompt that finds the skill at a rank.
func count(h *proposal.Hits, rank int) {
	if rank == 1 {
		h.Hit1++
	}
	if rank >= 1 && rank <= 3 {
		h.Hit3++
	}
}

// A prompt is what is asked without the change, and with it.
type prompt struct{ before, after string }

// promptsOf returns the description of a skill and the prompts of its evals. They are the
// evals of the skill as it is: a change of them must not make it look better.
func promptsOf(t *proposal.Trial) []prompt {
	before, after := description(t.Before, t.Name), description(t.After, t.Name)
	list := []prompt{{before, after}}
	texts := evalsOf(t.Before)
	if len(texts) == 0 {
		texts = evalsOf(t.After)
	}
	for _, text := range texts[:min(len(texts), maxPrompts)] {
		list = append(list, prompt{text, text})
	}
	return list
}

// description returns the description of a skill; "" if there is none.
func description(files proposal.Files, name string) string {
	s, err := files.Parse(name)
	if err != nil {
		return ""
	}
	return s.Description
}

// evalsOf returns the prompts in a skill's evals that should find it.
func evalsOf(files proposal.Files) (list []string) {
	var names []string
	for name := range files {
		if skill.IsEvals(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		prompts, err := skill.ParseEvals(files[name].Data)
		if err != nil {
			continue // "skills evals" reports it
		}
		for _, e := range prompts {
			if e.Trigger {
				list = append(list, e.Prompt)
			}
		}
	}
	return list
}

// rankIn returns the place of a skill among the hits of a prompt; 0 means that it has none.
func rankIn(ctx context.Context, c *repertoire.Catalog, text, label, dir string) (int, error) {
	answer, err := c.Search(ctx, repertoire.Query{Text: text, Limit: ranked, Trial: true})
	for i, h := range answer.Hits {
		if h.Source == label && h.Dir() == dir {
			return i + 1, err
		}
	}
	return 0, err
}

// second opens the catalog as it would be with the change, in a folder. Only the changed skill is
// read: all others are as they were indexed.
func (k *Checker) second(ctx context.Context, folder string, t *proposal.Trial, label string) (_ *repertoire.Catalog, err error) {
	cfg := k.catalog.Config()
	st, done := cfg.Store, func() error { return nil }
	if st == nil {
		db, err := sqlite.Open(ctx, cfg.DB, nil)
		if err != nil {
			return nil, err
		}
		st, done = db, db.Close
	}
	trial, err := trialOf(ctx, st, &cfg, t, label)
	if err == nil {
		cfg.Policy, err = k.policy(ctx, t, label)
	}
	if err != nil {
		return nil, errors.Join(err, done())
	}
	from := cfg.DB
	cfg.Discover, cfg.Changed, cfg.Schedule, cfg.Defer, cfg.Background, cfg.Agents, cfg.Logger = nil, nil, repertoire.Never, false, false, nil, nil
	cfg.Sources, cfg.Store, cfg.DB = nil, &engine{trial, done}, filepath.Join(folder, filepath.Base(from))
	linkSnapshots(from, cfg.DB)
	c, err := repertoire.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if _, err = c.Owner().Rescan(ctx, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// trialOf returns a store as it would be with the change, for a catalog that is configured so.
func trialOf(ctx context.Context, st store.Store, cfg *repertoire.Config, t *proposal.Trial, label string) (*index.Trial, error) {
	s, err := changedSkill(t)
	if err != nil {
		return nil, err
	}
	by, err := config.EmbeddingBy(cfg.Embedder, cfg.Contextual)
	if err != nil {
		return nil, err
	}
	by = by.Measured()
	return index.NewTrial(ctx, st, label, s, by.Embedder, by.Fallback, by.Contextual)
}

// An engine is what a catalog with the change reads. Nobody asks it for files or watches it.
type engine struct {
	*index.Trial
	done func() error
}

func (e *engine) Close() error { return e.done() }

func (*engine) SkillFiles(context.Context, string, string) ([]skill.File, error) {
	return nil, fs.ErrNotExist
}

func (*engine) Content(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }

func (*engine) Watch(ctx context.Context, _ func(store.State), _ func(error)) error {
	<-ctx.Done()
	return ctx.Err()
}

// changedSkill returns the skill with the change. It keeps the evals of the skill as it is: they are
// examples, which help to find it.
func changedSkill(t *proposal.Trial) (*skill.Skill, error) {
	files := make(map[string]string)
	for name, f := range t.After {
		if t.Before == nil || !skill.IsEvals(name) {
			files[path.Join(t.Dir, name)] = string(f.Data)
		}
	}
	for name, f := range t.Before {
		if skill.IsEvals(name) {
			files[path.Join(t.Dir, name)] = string(f.Data)
		}
	}
	src, err := source.Files(files, &source.Options{MaxFile: skill.MaxPublishedBytes, Single: true})
	if err != nil {
		return nil, err
	}
	ref, _, ok := src.Skill(t.Dir)
	if !ok {
		return nil, fmt.Errorf("there is no skill in %s", t.Dir)
	}
	s, err := ref.Load()
	if err == nil {
		s.Path = ref.Path
	}
	return s, err
}

// linkSnapshots gives a catalog the compiled files of another one, so that only the change is
// compiled. Where they cannot be linked, everything is.
func linkSnapshots(from, to string) {
	entries, _ := os.ReadDir(filepath.Dir(from))
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(from)+".")
		if ext := filepath.Ext(rest); ok && (ext == ".base" || ext == ".delta" || ext == ".calibration") {
			_ = os.Link(filepath.Join(filepath.Dir(from), e.Name()), to+"."+rest)
		}
	}
}

// policy returns the policy of the catalog for the copy: the changed skill is held back for its
// new digest neither there, or it could not be found by any prompt.
func (k *Checker) policy(ctx context.Context, t *proposal.Trial, label string) (*repertoire.Policy, error) {
	p := k.catalog.Config().Policy
	if p == nil {
		return nil, nil
	}
	all, err := k.catalog.List(ctx, nil, &repertoire.ListOptions{Shadowed: true, Held: true})
	if err != nil {
		return nil, err
	}
	had := make(map[string]bool)
	for _, e := range all {
		had[e.Digest] = true
	}
	own := *p
	own.Trusted = func(digest string) bool { return !had[digest] || p.Trusted != nil && p.Trusted(digest) }
	own.Locked = func(source, dir, digest string) bool {
		return p.Locked == nil || source == label && dir == t.Dir || p.Locked(source, dir, digest)
	}
	return &own, nil
}

// proposed is the label of the source of a new skill that nobody has decided on.
const proposed = "proposed"

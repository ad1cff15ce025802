package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/evals"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/sqlite"
)

// ranked is how many hits a skill is looked for among.
const ranked = 10

// bench asks the prompts of a skill with and without the change, and returns what is to be said of its
// evals that was not before. The catalog with the change lies in a folder.
func (k *Checker) bench(ctx context.Context, folder string, t *proposal.Trial) (b *proposal.Bench, found []skill.Problem, err error) {
	label := t.Source
	if t.Before == nil {
		label = proposed
	}
	room, err := evals.Open(ctx, k.catalog, evals.Options{})
	if err != nil {
		return nil, nil, err
	}
	defer room.Close()
	changed, err := second(ctx, room, folder, t, label)
	if err != nil {
		return nil, nil, fmt.Errorf("making a catalog with the change: %w", err)
	}
	defer changed.Close()
	with, err := evals.Open(ctx, changed, evals.Options{})
	if err != nil {
		return nil, nil, err
	}
	asked := evalsOf(t)
	b = &proposal.Bench{Evals: len(asked), Among: with.Among.String()}
	if err := ranks(ctx, b, room, with, t, label, asked); err != nil {
		return nil, nil, err
	}
	before, right, err := tried(ctx, room, label, t.Dir, asked)
	if err != nil {
		return nil, nil, err
	}
	b.Before.Right = right
	after, right, err := tried(ctx, with, label, t.Dir, asked)
	if b.After.Right = right; after.Message != before.Message && after.Message != "" {
		after.Path = t.Name + "/" + skill.FileNames[0]
		found = append(found, after)
	}
	return b, found, err
}

// tried returns what is to be said of the evals of a skill in a room, and how many of them get what their
// author wants. A skill that is not there gets nothing.
func tried(ctx context.Context, r *evals.Room, label, dir string, prompts []evals.Prompt) (p skill.Problem, right int, err error) {
	entries, err := r.List(ctx, nil, &repertoire.ListOptions{Person: true})
	i := slices.IndexFunc(entries, func(e repertoire.Entry) bool { return e.Source == label && e.Dir() == dir })
	if err != nil || i < 0 {
		return p, 0, err
	}
	list, err := r.Try(ctx, entries[i].ID, prompts, evals.Levels{})
	for _, o := range list {
		if o.Right {
			right++
		}
	}
	if found, fails := r.Failing(list, entries[i].Triggers.Keywords); fails {
		p = found
	}
	return p, right, err
}

// ranks notes how a skill ranks for its own prompts in the catalog as it is, and in the one with the change.
func ranks(ctx context.Context, b *proposal.Bench, room, with *evals.Room, t *proposal.Trial, label string, asked []evals.Prompt) (err error) {
	prompts := promptsOf(t, asked)
	b.Prompts = len(prompts)
	for _, p := range prompts {
		was := 0
		if t.Before != nil {
			if was, err = rankIn(ctx, room, p.before, label, t.Dir); err != nil {
				return err
			}
		}
		is, err := rankIn(ctx, with, p.after, label, t.Dir)
		if err != nil {
			return err
		}
		count(&b.Before, was)
		count(&b.After, is)
		if was > 0 && (is == 0 || is > was) {
			b.Worse = append(b.Worse, proposal.Worse{Prompt: p.after, Before: was, After: is})
		}
	}
	return nil
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

// promptsOf returns the description of a skill and those of its evals that should find it.
func promptsOf(t *proposal.Trial, asked []evals.Prompt) []prompt {
	list := []prompt{{description(t.Before, t.Name), description(t.After, t.Name)}}
	for _, p := range asked {
		if p.Trigger {
			list = append(list, prompt{p.Prompt, p.Prompt})
		}
	}
	return list
}

// evalsOf returns the prompts of the evals of the skill as it is: a change of them must not make it look
// better. If it has none, it returns those of the change.
func evalsOf(t *proposal.Trial) []evals.Prompt {
	list := evalsIn(t.Before)
	if len(list) == 0 {
		list = evalsIn(t.After)
	}
	return list[:min(len(list), evals.MaxPrompts)]
}

// description returns the description of a skill; "" if there is none.
func description(files proposal.Files, name string) string {
	s, err := files.Parse(name)
	if err != nil {
		return ""
	}
	return s.Description
}

// evalsIn returns the prompts in the evals of a skill.
func evalsIn(files proposal.Files) (list []evals.Prompt) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !skill.IsEvals(name) {
			continue
		}
		prompts, _ := skill.ParseEvals(files[name].Data) // "skills evals" reports what cannot be used
		for i, e := range prompts {
			list = append(list, evals.Prompt{ID: fmt.Sprintf("%s#%d", name, i+1), Eval: e})
		}
	}
	return list
}

// rankIn returns the place of a skill among the hits of a prompt; 0 means that it has none.
func rankIn(ctx context.Context, c *evals.Room, text, label, dir string) (int, error) {
	answer, err := c.Search(ctx, repertoire.Query{Text: text, Limit: ranked, Trial: true})
	for i, h := range answer.Hits {
		if h.Source == label && h.Dir() == dir {
			return i + 1, err
		}
	}
	return 0, err
}

// second opens the catalog of a room as it would be with the change, in a folder. Only the changed skill
// is read: all others are as they were indexed.
func second(ctx context.Context, room *evals.Room, folder string, t *proposal.Trial, label string) (_ *repertoire.Catalog, err error) {
	cfg := room.Config()
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
		cfg.Policy, err = policy(ctx, room, t, label)
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
func policy(ctx context.Context, room *evals.Room, t *proposal.Trial, label string) (*repertoire.Policy, error) {
	p := room.Config().Policy
	if p == nil {
		return nil, nil
	}
	all, err := room.List(ctx, nil, &repertoire.ListOptions{Shadowed: true, Held: true})
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

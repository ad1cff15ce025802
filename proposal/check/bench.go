package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
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

// second opens a copy of the catalog, in a folder, in which the changed skill is in the place of
// the one that is there. Only that skill is read: all others are as they were indexed.
func (k *Checker) second(ctx context.Context, folder string, t *proposal.Trial, label string) (_ *repertoire.Catalog, err error) {
	cfg := k.catalog.Config()
	cfg.Discover, cfg.Changed, cfg.Schedule, cfg.Defer, cfg.Background, cfg.Agents, cfg.Logger = nil, nil, repertoire.Never, false, false, nil, nil
	cfg.DB = filepath.Join(folder, "catalog.db")
	if cfg.Policy, err = k.policy(ctx, t, label); err != nil {
		return nil, err
	}
	if cfg.Sources, err = withChange(cfg.Sources, t, label); err != nil {
		return nil, err
	}
	if err := copyCatalog(k.catalog.Path(), cfg.DB); err != nil {
		return nil, err
	}
	c, err := repertoire.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if _, err = c.Owner().Rescan(ctx, nil); err == nil {
		err = c.Owner().Embed(ctx, nil)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
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
	own.Locked = func(source, dir string) string {
		if p.Locked == nil || source == label && dir == t.Dir {
			return ""
		}
		return p.Locked(source, dir)
	}
	return &own, nil
}

// copyCatalog copies a catalog file with its log of changes. A writer may change them
// meanwhile; then it copies them again.
func copyCatalog(from, to string) error {
	const log = "-wal"
	for range 5 {
		before := stamps(from, from+log)
		for _, suffix := range []string{"", log} {
			if err := copyFile(from+suffix, to+suffix); err != nil {
				return err
			}
		}
		if stamps(from, from+log) == before {
			return nil
		}
	}
	return fmt.Errorf("%s is written all the time; try again", from)
}

// stamps describes files: if it is the same twice, they are probably the same.
func stamps(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%d %d\n", info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// copyFile copies a file; if there is none, none is there afterwards either.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.Remove(to); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// proposed is the label of the source of a new skill.
const proposed = "proposed"

// withChange returns the sources of a catalog with the changed skill in the one with the
// label, or before all of them if none has it.
func withChange(sources []source.Source, t *proposal.Trial, label string) ([]source.Source, error) {
	files := make(map[string]string)
	// Evals are examples, which help to find the skill: they are those of the skill as it is, too.
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
	list := slices.Clone(sources)
	top := 0
	for i, s := range list {
		info := s.Info()
		if top = max(top, info.Priority); info.Label == label {
			changed, err := source.Files(files, &source.Options{Label: label, MaxFile: info.MaxFile, Single: true})
			list[i] = &overlay{s, t.Dir, changed}
			return list, err
		}
	}
	added, err := source.Files(files, &source.Options{Label: label, Priority: top + 1, Single: true})
	return append([]source.Source{added}, list...), err
}

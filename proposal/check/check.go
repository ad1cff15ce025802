// Package check says what a proposed change does to a skill: what doctor finds wrong with it
// that was not wrong before, and whether the skill's own prompts still find it.
//
// The one rule: both sides of a comparison are ranked by the code that ranks for users, in the
// catalog as it is and in a copy of it that has the changed skill.
package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/scratch"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Checker checks changes of the skills of a catalog.
type Checker struct {
	catalog *repertoire.Catalog
	dir     string
}

// New returns the Checker of a catalog. It makes private folders in dir, which need not exist.
func New(c *repertoire.Catalog, dir string) *Checker { return &Checker{c, dir} }

// Check checks one change; it is a proposal.Options.Check. A change fails if it brings an
// error, or takes most words out of the description, or if the skill's own prompts find it less often.
func (k *Checker) Check(ctx context.Context, t proposal.Trial) (c proposal.Checked, err error) {
	c = proposal.Checked{OK: true, Findings: []skill.Problem{}}
	scratch.Sweep(k.dir, "", nil)
	s, err := scratch.New(k.dir, "")
	if err != nil {
		return c, fmt.Errorf("making a folder for a check: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	before, err := findings(ctx, filepath.Join(s.Dir, "before"), t.Name, t.Before)
	if err != nil {
		return c, err
	}
	after, err := findings(ctx, filepath.Join(s.Dir, "after"), t.Name, t.After)
	if err != nil {
		return c, err
	}
	had := make(map[skill.Problem]bool)
	for _, p := range before {
		had[placeless(p)] = true
	}
	for _, p := range after {
		if !had[placeless(p)] {
			c.Findings = append(c.Findings, p)
		}
	}
	bench, failing, err := k.bench(ctx, s.Dir, &t)
	if err != nil {
		return c, err
	}
	c.Bench, c.Findings = bench, append(c.Findings, failing...)
	c.Findings = append(c.Findings, judge(&t, c.Bench)...)
	c.Findings = append(c.Findings, gutted(&t)...)
	c.OK = !slices.ContainsFunc(c.Findings, func(p skill.Problem) bool { return p.Severity == skill.Error })
	return c, nil
}

// placeless returns a problem without its line, which a change above it moves.
func placeless(p skill.Problem) skill.Problem {
	p.Line = 0
	return p
}

// findings returns what is wrong with the files of a skill, with paths in it, and what may
// mislead its reader. It writes them into a new folder.
func findings(ctx context.Context, top, name string, files proposal.Files) ([]skill.Problem, error) {
	if files == nil {
		return nil, nil
	}
	folder := filepath.Join(top, name)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(to, files[path].Data, 0o600|files[path].Mode); err != nil {
			return nil, err
		}
	}
	r, err := doctor.Folders(ctx, []string{folder}, true, nil)
	if err != nil {
		return nil, err
	}
	var list []skill.Problem
	for _, f := range r.Findings {
		list = append(list, local(f.Problem, top))
	}
	return list, nil
}

// local returns a problem without the temporary folder.
func local(p skill.Problem, top string) skill.Problem {
	for _, text := range []*string{&p.Path, &p.Message, &p.Hint} {
		*text = strings.ReplaceAll(*text, top+string(filepath.Separator), "")
	}
	return p
}

// gutted returns that a change takes most words out of a description and puts few in: its own prompts may
// still find the skill, and others do not any more.
func gutted(t *proposal.Trial) []skill.Problem {
	if t.Before == nil {
		return nil
	}
	was, is := termsOf(description(t.Before, t.Name)), termsOf(description(t.After, t.Name))
	lost := slices.DeleteFunc(slices.Clone(was), func(term string) bool { return slices.Contains(is, term) })
	if len(was) < fewTerms || 2*len(is) >= len(was) {
		return nil
	}
	text := words.Spelled(description(t.Before, t.Name), lost)
	return []skill.Problem{{Rule: "gutted-description", Severity: skill.Error, Path: t.Name + "/" + skill.FileNames[0],
		Message: fmt.Sprintf("the description loses %d of its %d words, such as %s", len(lost), len(was), strings.Join(text[:min(len(text), 4)], ", ")),
		Hint:    "keep what it says of the task and of when to use the skill: prompts find it by that"}}
}

// fewTerms is how many different words a description must have so that it can lose most of them.
const fewTerms = 6

func termsOf(text string) []string {
	terms := words.Terms(text)
	slices.Sort(terms)
	return slices.Compact(terms)
}

// judge returns what the figures say against a change.
func judge(t *proposal.Trial, b *proposal.Bench) []skill.Problem {
	p := skill.Problem{Path: t.Name + "/" + skill.FileNames[0]}
	switch {
	case t.Before == nil && b.After.Hit3 < b.Prompts:
		p.Rule, p.Severity = "not-found", skill.Warning
		p.Message = fmt.Sprintf("%d of its %d own prompts do not find it among the first three", b.Prompts-b.After.Hit3, b.Prompts)
		p.Hint = "say in the description what sets it apart from the skills that they find"
	case t.Before != nil && (b.After.Hit1 < b.Before.Hit1 || b.After.Hit3 < b.Before.Hit3 || b.After.Right < b.Before.Right):
		p.Rule, p.Severity = "found-less", skill.Error
		p.Message = fmt.Sprintf("of its %d own prompts, %d find it first (before: %d), and %d among the first three (before: %d); %d of its %d evals get what their author wants (before: %d)",
			b.Prompts, b.After.Hit1, b.Before.Hit1, b.After.Hit3, b.Before.Hit3, b.After.Right, b.Evals, b.Before.Right)
		p.Hint = "keep the words by which it is found"
	default:
		return nil
	}
	return []skill.Problem{p}
}

// Package pushback brings approved changes of a shared catalog back to the repositories that its
// skills are pushed from: each becomes a branch with one commit.
//
// The one rule: nothing that is checked out changes, and no branch that is there. Whoever owns the
// repository merges, and pushes the skills again.
package pushback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// A Store is an engine for several machines, as far as this package needs it.
type Store interface {
	store.Reader
	store.Proposals
}

// Options of Apply; nil means all zero values.
type Options struct {
	IDs     []string          // of the proposals, which may be cut short; none means all that are approved and not applied
	Remote  string            // of git, to which the branches are pushed; "" means none
	Origins map[string]string // of the sources, by label, see push.Place
}

// A Result says what became of one proposal.
type Result struct {
	proposal.Proposal
	Err error // why nothing was made of it; nil if it is applied
}

// Apply makes branches of approved proposals in the repositories of the sources. others are the labels of
// the sources that are not among them, one for each proposal. A proposal that cannot be applied stops no other.
func Apply(ctx context.Context, st Store, sources []source.Source, o *Options) (list []Result, others []string, err error) {
	o = cmp.Or(o, new(Options))
	desk := proposal.OpenShared(st, nil, nil)
	chosen, damaged := choose(ctx, desk, o.IDs)
	if len(chosen) == 0 {
		return nil, nil, damaged
	}
	known, err := st.Sources(ctx)
	if err != nil {
		return nil, nil, err
	}
	targets := make(map[string]*target)
	for _, p := range chosen {
		i := slices.IndexFunc(sources, func(s source.Source) bool { return s.Info().Label == p.Source })
		if i < 0 && len(o.IDs) == 0 {
			others = append(others, p.Source)
			continue
		}
		r := Result{Proposal: p}
		t := targets[p.Source]
		if t == nil {
			if t, r.Err = open(ctx, p.Source, sources, known, o); r.Err == nil {
				targets[p.Source] = t
			}
		}
		if r.Err == nil {
			r.Proposal, r.Err = desk.Apply(ctx, p.ID, t, len(o.IDs) > 0)
		}
		if ctx.Err() != nil {
			return list, others, ctx.Err()
		}
		list = append(list, r)
	}
	return list, others, damaged
}

// choose returns the proposals with these IDs, or all that wait to be applied.
func choose(ctx context.Context, desk *proposal.Shared, ids []string) ([]proposal.Proposal, error) {
	if len(ids) == 0 {
		list, err := desk.List(ctx, nil, true)
		return slices.DeleteFunc(list, func(p proposal.Proposal) bool {
			return p.State != proposal.StateApproved || !p.Applied.IsZero()
		}), err
	}
	var list []proposal.Proposal
	for _, id := range ids {
		p, err := desk.Find(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// target is the repository of one source; it is a proposal.Target.
type target struct {
	clone  *git.Clone
	remote string
}

// open returns the repository of the source with a label.
func open(ctx context.Context, label string, sources []source.Source, known []store.Source, o *Options) (*target, error) {
	var labels []string
	for _, s := range sources {
		if labels = append(labels, s.Info().Label); s.Info().Label != label {
			continue
		}
		for _, k := range known {
			if own := o.Origins[label]; k.Label == label && k.Origin != "" && k.Origin != own {
				return nil, fmt.Errorf("the catalog has %s from another repository (origin %s, this is %s); run this there, or print a patch with \"skills proposals patch\"", label, push.ShortOrigin(k.Origin), push.ShortOrigin(own))
			}
		}
		clone, err := git.OpenClone(ctx, s.Info().Root)
		if errors.Is(err, git.ErrNoRepository) {
			err = fmt.Errorf("%w; \"skills proposals patch\" prints what to change", err)
		}
		return &target{clone, o.Remote}, err
	}
	return nil, fmt.Errorf("%s is no root here%s; name its folder with --root", label, words.Suggest(label, labels))
}

// Read implements proposal.Target.
func (t *target) Read(ctx context.Context, dir string) (proposal.Files, error) {
	kept, err := t.clone.Files(ctx, dir)
	if err != nil {
		return nil, err
	}
	files := make(proposal.Files)
	for name, f := range kept {
		files[name] = proposal.File(f)
	}
	return files, nil
}

// Commit implements proposal.Target.
func (t *target) Commit(ctx context.Context, c *proposal.Commit) (where string, err error) {
	changes := make(map[string]*git.File)
	for _, name := range c.Changed() {
		changes[name] = nil
		if f, ok := c.After[name]; ok {
			own := git.File(f)
			changes[name] = &own
		}
	}
	branch := "proposal/" + c.ID
	hash, err := t.clone.Branch(ctx, branch, filepath.ToSlash(c.Dir), c.Message(), changes)
	if err != nil {
		return "", err
	}
	where = fmt.Sprintf("commit %.12s on the branch %s", hash, branch)
	if t.remote != "" {
		if err := t.clone.Push(ctx, t.remote, branch); err != nil {
			return "", fmt.Errorf("pushing the branch %s, which is made, to %s: %w", branch, t.remote, err)
		}
		where += " of " + t.remote
	}
	return where, nil
}

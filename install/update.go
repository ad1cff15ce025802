package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// An Order says which installed skills are updated, and how.
type Order struct {
	Names []string // none means all
	Ref   string   // branch, tag or commit that they follow from now on; "" means the one that they have
	Force bool     // replace skills that were edited here too, and keep a copy of them in Options.Aside
}

// Update looks for new versions of installed skills at their sources, and installs those
// that the caller approves of. A skill that was edited here is refused, with its edits,
// unless the order says Force.
func (in *Installer) Update(ctx context.Context, o Order, c Caller) (result *Result, err error) {
	l, err := in.read(ctx)
	if err != nil {
		return nil, err
	}
	names, err := l.names(o.Names)
	if err != nil {
		return nil, err
	}
	if o.Ref != "" {
		if err := l.follow(names, o.Ref); err != nil {
			return nil, err
		}
	}
	result = new(Result)
	if len(names) == 0 {
		return result, nil
	}
	top, err := in.newStage()
	if err != nil {
		return nil, in.explained(err)
	}
	defer func() { err = in.explained(errors.Join(err, top.close())) }()
	for i, group := range l.groups(names) {
		part := &stage{dir: top.dir, part: fmt.Sprint(i)}
		changes, added, err := in.updates(ctx, l, part, group, o)
		if err != nil {
			return nil, err
		}
		result.Changes = append(result.Changes, changes...)
		if len(added) > 0 {
			result.Added = append(result.Added, Added{l.Skills[group[0]].Source, added})
		}
	}
	slices.SortFunc(result.Changes, func(a, b *Change) int { return cmp.Compare(a.Name, b.Name) })
	return result, in.carryOut(ctx, top, result, c)
}

// ErrNotInstalled says that no skill of a name is in the lock. It is a [skill.ErrNotFound].
var ErrNotInstalled = fmt.Errorf("%w is installed", skill.ErrNotFound)

// names returns the keys of the installed skills with some names, sorted; none means all.
func (l *Lock) names(want []string) ([]string, error) {
	all := slices.Sorted(maps.Keys(l.Skills))
	if len(want) == 0 {
		return all, nil
	}
	var keys []string
	for _, name := range want {
		called := l.called(name)
		if len(called) == 0 {
			return nil, fmt.Errorf("%w: %q%s", ErrNotInstalled, name, words.Suggest(name, all))
		}
		keys = append(keys, called...)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// follow makes skills of repositories follow another branch, tag or commit.
func (l *Lock) follow(names []string, ref string) error {
	if err := git.CheckRef(ref); err != nil {
		return err
	}
	for _, name := range names {
		e := *l.Skills[name]
		if e.Kind != Git {
			return fmt.Errorf("skill %s is from %s, which has no branches and tags", name, endpoint.Shown(e.Source))
		}
		e.Ref = ref
		l.Skills[name] = &e
	}
	return nil
}

// groups puts the skills of one version of a source together, which are fetched at once.
func (l *Lock) groups(names []string) [][]string {
	type key struct{ source, ref string }
	at := make(map[key]int)
	var groups [][]string
	for _, name := range names {
		k := key{l.Skills[name].Source, l.Skills[name].Ref}
		i, ok := at[k]
		if !ok {
			i, groups = len(groups), append(groups, nil)
			at[k] = i
		}
		groups[i] = append(groups[i], name)
	}
	return groups
}

// updates plans the updates of skills of one source, and returns the folders of skills that are new in it. If
// the source cannot be fetched, all updates are refused.
func (in *Installer) updates(ctx context.Context, l *Lock, st *stage, names []string, o Order) (changes []*Change, added []string, err error) {
	first := l.Skills[names[0]]
	a := &work{Installer: in, lock: l, stage: st, source: Source{Kind: first.Kind, Origin: first.Source, Ref: first.Ref}}
	w := wish{have: first.Commit, old: first.Commit, trees: make(map[string]string)}
	for _, name := range names {
		c := &Change{Name: name, Action: Unchanged, From: l.Skills[name]}
		if c.seen, err = in.hash(ctx, name); err != nil {
			return nil, nil, err
		}
		c.Edits = compare(c.From.Files, c.seen)
		again := o.Ref != "" || o.Force && !c.Edits.Same() // what was installed is needed again
		if c.From.Commit != w.have || again {
			w.have = ""
		}
		if !again {
			w.trees[c.From.Path] = c.From.Tree
		}
		w.subs = append(w.subs, c.From.Path)
		changes = append(changes, c)
	}
	var failed error
	a.got, failed = in.fetch(ctx, st, &a.source, w)
	for _, c := range changes {
		if err := a.update(ctx, c, failed, o); err != nil {
			return nil, nil, err
		}
	}
	added = slices.DeleteFunc(a.got.added, func(dir string) bool {
		for _, e := range l.Skills {
			if e.Source == first.Source && e.Path == dir {
				return true
			}
		}
		return false
	})
	return changes, added, ctx.Err()
}

// update says what will be done with one installed skill; failed says why its source could
// not be fetched.
func (a *work) update(ctx context.Context, c *Change, failed error, o Order) error {
	switch {
	case failed != nil:
		c.refuse(failed)
		return nil
	case a.got.same, a.got.trees[c.From.Path] != "" && c.From.Tree == a.got.trees[c.From.Path] && o.Ref == "" && !(o.Force && !c.Edits.Same()):
		c.Reason = edited(c)
		return nil
	}
	list, err := a.got.find(ctx, []string{c.From.Path})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	i := slices.IndexFunc(list, func(f found) bool { return f.dir == c.From.Path })
	if err != nil || i < 0 {
		c.refuse(fmt.Errorf("the source has no skill at %s any more; what is installed stays (\"skills remove %s\" removes it)", c.From.Path, c.Name))
		return nil
	}
	if list[i].err != nil {
		c.refuse(fmt.Errorf("the new version cannot be read as a skill: %w", list[i].err))
		return nil
	}
	if err := a.put(ctx, c, list[i]); err != nil || c.Action == Refuse {
		return err
	}
	a.compareTo(c)
	switch {
	case o.Ref == "" && (c.Files.Same() || compare(c.From.Files, c.To.Files).Same() && !o.Force):
		c.unchanged(edited(c))
	case !c.Edits.Same() && !o.Force:
		c.refuse(errors.New("it has a new version, but was edited here; --force replaces it and keeps a copy of what it is now"))
	default:
		c.Action = Update
	}
	return nil
}

// edited says that a skill was edited here; "" if it was not.
func edited(c *Change) string {
	switch {
	case c.Edits.Same():
		return ""
	case c.seen == nil:
		return "its folder is gone; --force installs it again"
	}
	return "it was edited here; --force brings back what its source has, and keeps a copy"
}

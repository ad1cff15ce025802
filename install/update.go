package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

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
	w := wish{have: first.Commit, old: first.Commit, trees: make(map[string]string), names: make(map[string]string)}
	for _, name := range names {
		c := &Change{Name: name, Action: Unchanged, From: l.Skills[name]}
		if c.seen, err = in.hash(ctx, name); err != nil {
			return nil, nil, err
		}
		if c.seen != nil {
			c.Edits = compare(c.From.Files, c.seen)
		}
		if c.From.Commit != w.have || o.again(c) {
			w.have = ""
		}
		if !o.again(c) {
			w.trees[c.From.Path] = c.From.Tree
		}
		w.subs, w.names[c.From.Path] = append(w.subs, c.From.Path), c.nameThere()
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
		return l.has(first.Source, dir) || slices.ContainsFunc(changes, func(c *Change) bool { return c.To != nil && c.To.Path == dir })
	})
	return changes, added, ctx.Err()
}

// has reports whether the skill in a folder of a source is installed.
func (l *Lock) has(source, dir string) bool {
	for _, e := range l.Skills {
		if e.Source == source && e.Path == dir {
			return true
		}
	}
	return false
}

// again reports whether what is installed is needed again, although its source may have nothing new.
func (o Order) again(c *Change) bool {
	return o.Ref != "" || c.seen == nil || o.Force && !c.Edits.Same()
}

// nameThere returns the name that an installed skill has in its source.
func (c *Change) nameThere() string { return cmp.Or(c.From.Name, path.Base(c.Name)) }

// update says what will be done with one installed skill; failed says why its source could
// not be fetched.
func (a *work) update(ctx context.Context, c *Change, failed error, o Order) error {
	switch {
	case failed != nil:
		c.refuse(failed)
		return nil
	case a.got.same, a.got.trees[c.From.Path] != "" && c.From.Tree == a.got.trees[c.From.Path] && !o.again(c):
		c.Reason = edited(c)
		return nil
	}
	there, err := a.locate(ctx, c)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		c.refuse(err)
		return nil
	case there.err != nil:
		c.refuse(fmt.Errorf("the new version cannot be read as a skill: %w", there.err))
		return nil
	}
	if err := a.put(ctx, c, there); err != nil || c.Action == Refuse {
		return err
	}
	a.compareTo(c)
	moved := c.To.Path != c.From.Path
	switch {
	case c.seen == nil:
		c.Action, c.Reason = Update, "its folder was gone"
	case o.Ref == "" && (c.Files.Same() || compare(c.From.Files, c.To.Files).Same() && !o.Force) && !(moved && c.Edits.Same()):
		c.unchanged(edited(c))
	case !c.Edits.Same() && !o.Force:
		c.refuse(errors.New("it has a new version, but was edited here; --force replaces it and keeps a copy of what it is now"))
	default:
		c.Action = Update
	}
	if c.Action == Update && moved {
		c.Reason = strings.TrimPrefix(c.Reason+fmt.Sprintf("; in its source it has moved from %s to %s", c.From.Path, c.To.Path), "; ")
	}
	return nil
}

// locate finds an installed skill in its source: where it was, or at the only other place where a skill
// of its name is.
func (a *work) locate(ctx context.Context, c *Change) (found, error) {
	here, err := a.got.find(ctx, []string{c.From.Path})
	if i := slices.IndexFunc(here, func(f found) bool { return f.dir == c.From.Path }); err == nil && i >= 0 {
		return here[i], nil
	}
	if a.all == nil {
		a.all, _ = a.got.find(ctx, nil) // without any, nothing is found below
	}
	var dirs []string
	var there found
	for _, f := range a.all {
		if f.name == c.nameThere() && !a.lock.has(c.From.Source, f.dir) {
			there, dirs = f, append(dirs, f.dir)
		}
	}
	switch gone := "the source has no skill at " + c.From.Path + " any more"; len(dirs) {
	case 0:
		return found{}, fmt.Errorf("%s; what is installed stays (\"skills remove %s\" removes it)", gone, c.Name)
	case 1:
		return there, nil
	default:
		return found{}, fmt.Errorf("%s, and several of its name: %s; what is installed stays (\"skills remove %s\", and \"skills install\" with --skill FOLDER choose one)", gone, list(dirs), c.Name)
	}
}

// edited says that a skill was edited here; "" if it was not.
func edited(c *Change) string {
	if c.Edits.Same() {
		return ""
	}
	return "it was edited here; --force brings back what its source has, and keeps a copy"
}

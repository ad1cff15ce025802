package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Request names skills to install.
type Request struct {
	Source string   // see ParseSource
	Ref    string   // branch, tag or commit; "" means the one in Source, or the default branch
	Name   string   // another name for the skill, if there is one only; "" means its own
	Skills []string // names, folders or paths of some skills of the source; "*" means all, nil the only one
	All    bool     // all skills of the source
}

// source reads the source, and puts the skill that it names among the others.
func (r *Request) source() (Source, error) {
	s, err := ParseSource(r.Source)
	if err != nil {
		return s, err
	}
	if info, err := os.Stat(r.Source); err == nil && info.IsDir() && s.Kind == Git && !isPath(r.Source) {
		return s, fmt.Errorf("source %q is a folder here, and may be a repository; write ./%s for the folder, or %s for the repository", r.Source, r.Source, s.Origin)
	}
	if s, err = s.At(r.Ref); err != nil {
		return s, fmt.Errorf("source %q: %w", endpoint.Shown(r.Source), err)
	}
	if s.Skill != "" {
		r.Skills = append(slices.Clone(r.Skills), s.Skill)
	}
	if slices.Contains(r.Skills, "*") {
		r.All, r.Skills = true, nil
	}
	if r.Name != "" {
		if err := checkName(r.Name); err != nil {
			return s, err
		}
	}
	if r.All && len(r.Skills) > 0 {
		return s, errors.New("--skill and --all decide the same; leave one of them out")
	}
	return s.absolute()
}

// Install installs skills of a source. A skill that cannot be installed is refused in the
// result, and the others are installed.
func (in *Installer) Install(ctx context.Context, r Request, c Caller) (result *Result, err error) {
	s, err := r.source()
	if err != nil {
		return nil, err
	}
	l, err := in.read(ctx)
	if err != nil {
		return nil, err
	}
	st, err := in.newStage()
	if err != nil {
		return nil, in.explained(err)
	}
	defer func() { err = in.explained(errors.Join(err, st.close())) }()
	in.step("fetch")
	f, err := in.fetch(ctx, st, &s, wish{request: r})
	if err != nil {
		return nil, err
	}
	in.step("check")
	all, err := f.find(ctx, f.subs)
	if err == nil {
		all, err = r.choose(all)
	}
	if err != nil && s.Skill != "" {
		err = fmt.Errorf("%w (a branch or tag is named with #, not with @)", err)
	}
	if err == nil && r.Name != "" && len(all) > 1 {
		err = fmt.Errorf("--name gives one skill another name, and these are %d: %s", len(all), list(namesOf(all)))
	}
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", s, err)
	}
	result = &Result{Source: s.Origin, Ref: s.Ref, Commit: f.commit}
	a := work{Installer: in, lock: l, stage: st, source: s, got: f, caller: c, taken: make(map[string]bool)}
	for _, one := range all {
		change, err := a.plan(ctx, one, r.Name)
		if err != nil {
			return nil, err
		}
		result.Changes = append(result.Changes, change)
	}
	for _, e := range f.refused {
		if r.All {
			result.Changes = append(result.Changes, &Change{Name: e.Path, Action: Refuse, Reason: e.Reason})
		}
	}
	return result, in.carryOut(ctx, st, result, c)
}

// A work plans the installation of skills of one source.
type work struct {
	*Installer
	lock   *Lock
	stage  *stage
	source Source
	got    fetched
	caller Caller
	taken  map[string]bool // names that skills of this installation have
	all    []found         // all skills of the source, once an update has looked for one that has moved
}

// plan stages a skill and says what will be done with it. name is another name for it; ""
// means its own.
func (a *work) plan(ctx context.Context, f found, name string) (*Change, error) {
	c := &Change{Name: cmp.Or(name, f.name), Action: Add}
	if f.err != nil {
		c.refuse(fmt.Errorf("it cannot be installed: %w", f.err))
		return c, ctx.Err()
	}
	if err := checkName(c.Name); err != nil {
		c.refuse(fmt.Errorf("%w; give it another name with --name", err))
		return c, nil
	}
	if key := a.lock.keyOf(a.source, f.dir, c.Name); key != "" {
		c.Name = key
	}
	if a.taken[c.Name] {
		c.refuse(fmt.Errorf("the source has another skill of this name; install this one alone, with --skill %s --name NAME", f.dir))
		return c, nil
	}
	if err := a.put(ctx, c, f); err != nil || c.Action == Refuse {
		return c, err
	}
	if err := a.resolve(ctx, c); err != nil {
		return nil, err
	}
	a.taken[c.Name] = true
	return c, nil
}

// put copies a skill into the stage, checks it there, and fills c.
func (a *work) put(ctx context.Context, c *Change, f found) error {
	to := a.stage.new(c.Name)
	err := unpack.Part(ctx, a.got.dir, f.dir, to, a.opts.Limits)
	if bad, refused := errors.AsType[*unpack.Error](err); refused { // without the folder of the stage
		c.refuse(fmt.Errorf("the files of %s are refused: %w", f.dir, bad))
		return nil
	} else if err != nil {
		return err
	}
	t, err := readTree(ctx, a.stage.file("new"), flat(c.Name))
	if err != nil {
		return err
	}
	if said := a.got.said; said != "" && said != t.skill.Digest {
		c.refuse(fmt.Errorf("its digest is %s, and its registry says %s", t.skill.Digest, said))
		return nil
	}
	c.Description = t.skill.Description
	c.Findings = a.findings(ctx, t.skill, to)
	for dir, err := range a.got.lacks {
		if git.In(dir, f.dir) {
			c.Findings = append(c.Findings, skill.Problem{Rule: "submodule", Severity: skill.Warning, Path: dir, Message: err.Error()})
		}
	}
	c.To = &Entry{Source: a.source.Origin, Kind: a.source.Kind, Ref: a.source.Ref, Commit: a.got.commit, Tree: a.got.trees[f.dir], Path: f.dir,
		Digest: t.skill.Digest, Signature: a.got.signature, Files: t.files}
	if f.name != path.Base(c.Name) {
		c.To.Name = f.name
	}
	return nil
}

// findings returns what is wrong with a skill, or may be, without mere notes.
func (in *Installer) findings(ctx context.Context, s *skill.Skill, folder string) []skill.Problem {
	list := slices.Clone(s.Problems) // what doctor reports, too; the specification to the letter is for its author
	if in.opts.Inspect != nil {
		list = append(list, in.opts.Inspect(ctx, s, folder)...)
	}
	return slices.DeleteFunc(list, func(p skill.Problem) bool { return p.Severity == skill.Note })
}

// resolve finds out whether the name of a staged skill is taken, and asks what to do then.
func (a *work) resolve(ctx context.Context, c *Change) error {
	for {
		if err := a.look(ctx, c); err != nil || c.Action != Replace {
			return err
		}
		may := c.From != nil && !a.taken[c.Name]
		action, name, err := a.caller.Resolve(ctx, c, may)
		switch {
		case err != nil:
			return fmt.Errorf("installing %s: %w", c.Name, err)
		case action == Skip:
			c.Action = Skip
			return nil
		case action == Replace && may:
			a.compareTo(c)
			return nil
		case action != Add:
			return fmt.Errorf("installing %s: it cannot be replaced: %s", c.Name, c.Reason)
		}
		if err := checkName(name); err != nil && name != c.Beside {
			return err
		}
		if err := os.Rename(a.stage.new(c.Name), a.stage.new(name)); err != nil {
			return err
		}
		c.To.Name = cmp.Or(c.To.Name, c.Name)
		if c.To.Name == path.Base(name) {
			c.To.Name = ""
		}
		c.Name = name
	}
}

// look sets the action of a staged skill: Add, Unchanged, or Replace with the reason why
// its name is taken.
func (a *work) look(ctx context.Context, c *Change) (err error) {
	c.Action, c.Reason, c.Beside, c.From = Add, "", "", a.lock.Skills[c.Name]
	if c.seen, err = a.hash(ctx, c.Name); err != nil {
		return err
	}
	switch {
	case a.taken[c.Name]:
		c.Action, c.Reason = Replace, "a skill of this name is installed at the same time"
	case c.seen == nil:
	case c.From == nil:
		c.Action = Replace
		c.Reason = fmt.Sprintf("the folder %s is there, and was not installed by this program; move it away, or choose another name", a.folder(c.Name))
	default:
		c.Edits = compare(c.From.Files, c.seen)
		a.lookAt(c)
	}
	return nil
}

// lookAt is look for a name that an installed skill has.
func (a *work) lookAt(c *Change) {
	same := c.From.Source == c.To.Source && c.From.Path == c.To.Path
	switch {
	case same && compare(c.seen, c.To.Files).Same():
		c.unchanged("it is installed already")
	case same:
		c.Action, c.Reason = Replace, `another version of it is installed; "skills update" shows what is new`
	default:
		c.Action, c.Reason = Replace, "a skill of this name is installed from "+endpoint.Shown(c.From.Source)
		c.Beside = a.lock.beside(a.source, c.Name)
	}
}

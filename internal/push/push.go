// Package push brings the catalog that several machines share in step with sources of this
// machine: what the skills are, their files and their vectors.
//
// The one rule: a source is pushed in one transaction or not at all, and nothing of it says
// where it lies on this machine.
package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// A Store is an engine for several machines, as far as a push needs it.
type Store interface {
	store.Store
	store.Joiner
}

// Options of Push; nil means all zero values.
type Options struct {
	Embedder   embed.Embedder // makes the vectors; nil means none
	Inline     bool           // the embedder is fast: vectors come with the skills, not after them
	Fallback   embed.Embedder // ranks until nearly all texts have a vector, see index.Options; nil means none
	Contextual embed.Embedder // ranks beside the embedder, see index.Options; nil means none
	Full       bool           // write every skill anew, as after an update of this program
	Cache      index.Cache    // of vectors, see index.Options; nil means none
	Memory     string         // folder in which this machine keeps what it has read; "" means that each skill is read
	Prune      bool           // remove the sources that the repositories of the pushed ones had and have no more
	DryRun     bool           // find out what would change, and change nothing

	Origins map[string]Origin // of the sources, by label, see Place
	Replace []string          // labels of sources to push although the catalog has them from another origin
	Remove  []string          // labels of sources of the catalog to remove, whoever has pushed them

	Found    func()                // called for each SKILL.md that is found; nil means that nothing is called
	Embedded func(done, total int) // called after each batch of vectors; nil means that nothing is called
}

// A Result says what a push has changed, or would change.
type Result struct {
	Before, After store.Generation
	Sources       []Source // in the order of their precedence, then those that were removed
	Left          []Left   // what Prune has not removed, though it was not pushed

	// Unembedded says why some texts have no vectors yet: the embedder has failed. nil means
	// that all have.
	Unembedded error

	Shared   bool  // a new base was compiled and stored, see store.Bases
	Unshared error // why none could be, though it was due; nil if that is not so
}

// A Source is the difference between a source before and after.
type Source struct {
	Source     string          `json:"source"` // this, and what has no comment, as in Report
	Found      int             `json:"found"`
	Added      []Skill         `json:"added"` // by path, as the next two; not nil
	Changed    []Skill         `json:"changed"`
	Removed    []Skill         `json:"removed"`
	Unchanged  int             `json:"unchanged"` // skills that can be used and have not changed
	Refused    int             `json:"refused"`
	Unreadable int             `json:"unreadable,omitempty"`
	Complete   bool            `json:"complete"`
	Files      int             `json:"files"`             // whose content the catalog did not have
	Bytes      int64           `json:"bytes"`             // of these files
	Pruned     bool            `json:"pruned,omitempty"`  // the source was removed
	Kept       string          `json:"kept,omitempty"`    // why the catalog keeps the source as it was; "" if it was pushed
	Secrets    []string        `json:"secrets,omitempty"` // paths of files that were left out, because of names that only secrets have
	Problems   []skill.Problem `json:"problems,omitempty"`
	Report     index.Report    `json:"-"` // of the index
}

// A Left is a source that pruning leaves in the catalog.
type Left struct {
	Source string `json:"source"`
	Skills int    `json:"skills"`
	Why    string `json:"why"` // where it is from: "from another repository or machine"
}

// report takes over what the index has done.
func (r *Source) report(did index.Report) {
	r.Source, r.Found, r.Refused, r.Unreadable, r.Complete, r.Problems = did.Source, did.Found, did.Refused, did.Unreadable, did.Complete, did.Problems
	r.Added, r.Changed, r.Removed, r.Report = []Skill{}, []Skill{}, []Skill{}, did
}

// A Skill is one skill of a Source.
type Skill struct {
	Name string `json:"name,omitempty"` // "" if it is refused
	Path string `json:"path"`           // of its SKILL.md in the source
}

// Push brings the catalog in step with the sources, each in a transaction of its own. A source
// that cannot be read, or that is empty although the catalog has skills of it, is kept as it
// was, see Source.Kept. Sources that are not pushed stay, but for those that Options.Prune and
// Options.Remove name. If the catalog has one of the sources from another origin, Push fails with an OriginError and
// pushes none; a source without an origin gets the first one that comes with a skill of it. When Push fails
// later, the sources before have been pushed; the next Push does the rest. A dry run against
// a catalog that does not exist compares with an empty one.
func Push(ctx context.Context, st Store, sources []source.Source, o *Options) (*Result, error) {
	p := &pusher{store: st, Options: *cmp.Or(o, new(Options)), folders: make(map[checkout]map[string]bool)}
	list, err := ordered(sources)
	if err != nil {
		return nil, err
	}
	before, err := st.State(ctx)
	if p.DryRun && errors.Is(err, fs.ErrNotExist) {
		st = new(emptyStore)
		p.store, err = st, nil
	}
	for i := 0; i < len(list) && err == nil; i++ {
		err = p.checkOrigin(ctx, st, list[i].Info().Label)
	}
	if err != nil {
		return nil, err
	}
	r := &Result{Before: before.Generation}
	for i, src := range list {
		one, err := p.source(ctx, src, len(list)-i)
		if err != nil {
			return r, fmt.Errorf("pushing %s: %w", src.Info().Label, err)
		}
		r.Sources = append(r.Sources, one)
	}
	if p.Prune || len(p.Remove) > 0 {
		pruned, left, err := p.prune(ctx, list)
		if err != nil {
			return r, fmt.Errorf("removing sources that are not pushed: %w", err)
		}
		r.Sources, r.Left = append(r.Sources, pruned...), left
	}
	if !p.DryRun {
		x := index.New(st, p.Embedder, &index.Options{Inline: p.Inline, Fallback: p.Fallback, Contextual: p.Contextual, Cache: p.Cache})
		if r.Unembedded = x.Embed(ctx, p.Embedded); r.Unembedded == nil {
			r.Unembedded = x.Contextual.Embed(ctx, p.Embedded)
		}
		r.Shared, r.Unshared = x.Share(ctx)
	}
	after, err := st.State(ctx)
	r.After = after.Generation
	return r, errors.Join(err, ctx.Err())
}

// ordered returns the sources by precedence. It fails if two have one label.
func ordered(sources []source.Source) ([]source.Source, error) {
	labels := make(map[string]bool)
	for _, src := range sources {
		label := src.Info().Label
		if labels[label] {
			return nil, fmt.Errorf("two sources have the label %q; name one of them differently", label)
		}
		labels[label] = true
	}
	list := slices.Clone(sources)
	slices.SortStableFunc(list, func(a, b source.Source) int { return cmp.Compare(b.Info().Priority, a.Info().Priority) })
	return list, nil
}

// A pusher is one Push under way.
type pusher struct {
	store Store
	Options
	folders map[checkout]map[string]bool // what Origin.folders has returned
}

// A checkout is one of a repository on this machine.
type checkout struct{ repository, dir string }

// errUndo makes a transaction change nothing, as intended.
var errUndo = errors.New("nothing is to be changed")

// maxTries is how often a source is read whose files change meanwhile.
const maxTries = 3

// source pushes one source. Its priority is its place among the pushed sources: how many
// other sources this machine has makes no difference.
func (p *pusher) source(ctx context.Context, src source.Source, priority int) (Source, error) {
	unstable := make(map[string]bool)
	for range maxTries {
		s := &pushed{
			pusher: p, from: src, label: src.Info().Label, unstable: unstable,
			puts: make(map[string]store.Known), gone: make(map[int64]bool), read: make(memory),
		}
		file := p.memoryFile(src.Info())
		s.memory = readMemory(file)
		err := p.store.Join(ctx, func(st store.Store) error { return s.sync(ctx, st, priority) })
		if err == nil && file != "" && !maps.Equal(s.memory, s.read) {
			s.read.write(file)
		}
		switch {
		case errors.Is(err, errChanging):
			continue
		case errors.Is(err, errUndo):
			err = nil
		}
		return s.result, err
	}
	return Source{}, fmt.Errorf("files change again and again while they are read, such as %s; push when nobody writes them", slices.Min(slices.Collect(maps.Keys(unstable))))
}

// sync does the work of one transaction.
func (s *pushed) sync(ctx context.Context, st store.Store, priority int) error {
	if err := s.checkOrigin(ctx, st, s.label); err != nil { // somebody may have pushed it just now
		return err
	}
	old, err := sourceOf(ctx, st, s.label)
	if err == nil && old.Row != 0 {
		s.before, err = st.Known(ctx, old.Row, nil)
	}
	if err != nil {
		return err
	}
	if s.Full {
		if err := forget(ctx, st, s.label); err != nil {
			return err
		}
	}
	s.memory.stamp(s.before)
	var o index.Options
	var e embed.Embedder
	if s.Inline && !s.DryRun {
		o.Inline, e = true, s.Embedder
	}
	from := s.Origins[s.label]
	at := store.Source{Label: s.label, Priority: priority, Apart: s.from.Info().Apart, Origin: from.ID, Repository: from.Repository}
	did, err := index.New(&joined{st, s}, e, &o).Sync(ctx, at, s.refs(ctx))
	if s.result.report(did); err != nil {
		return err
	}
	if s.changing {
		return errChanging
	}
	slices.Sort(s.secrets)
	s.result.Secrets = s.secrets
	if s.result.Kept = s.kept(len(s.before)); s.result.Kept != "" {
		return errUndo
	}
	after := make(map[string]store.Known, len(s.before))
	maps.Copy(after, s.before)
	maps.DeleteFunc(after, func(_ string, k store.Known) bool { return s.gone[k.Row] })
	maps.Copy(after, s.puts)
	s.result.compare(s.before, after)
	if n := len(s.before); n > 0 && len(s.result.Removed) == n && old.Origin == "" && from.ID != "" && !slices.Contains(s.Replace, s.label) {
		return &OriginError{Label: s.label, Own: from.ID, Skills: n}
	}
	if s.DryRun {
		return errUndo
	}
	return nil
}

// kept says why a source must not be pushed, after it was read; "" if it may be.
func (s *pushed) kept(before int) string {
	switch r := s.result; {
	case r.Report.Away:
		return "it cannot be read here"
	case r.Found == 0 && before > 0 && r.Complete:
		return "no skill was found here, but the catalog has " + figures.Count(before, "skill") + " of it"
	}
	return ""
}

// sourceOf returns the source with a label; its row is 0 if the catalog has none.
func sourceOf(ctx context.Context, r store.Reader, label string) (store.Source, error) {
	sources, err := r.Sources(ctx)
	for _, s := range sources {
		if s.Label == label {
			return s, err
		}
	}
	return store.Source{}, err
}

// forget makes index write all skills of a source anew.
func forget(ctx context.Context, st store.Store, label string) error {
	s, err := sourceOf(ctx, st, label)
	if err != nil || s.Row == 0 {
		return err
	}
	return st.Update(ctx, func(tx store.Tx) error { return tx.ForgetStamps(s.Row) })
}

// compare lists what differs.
func (r *Source) compare(before, after map[string]store.Known) {
	for p, now := range after {
		old, ok := before[p]
		switch {
		case !ok:
			r.Added = append(r.Added, Skill{now.Name, p})
		case old.Digest != now.Digest || old.Name != now.Name:
			r.Changed = append(r.Changed, Skill{now.Name, p})
		case now.Name != "":
			r.Unchanged++
		}
	}
	for p, old := range before {
		if _, ok := after[p]; !ok {
			r.Removed = append(r.Removed, Skill{old.Name, p})
		}
	}
	for _, list := range [][]Skill{r.Added, r.Changed, r.Removed} {
		slices.SortFunc(list, func(a, b Skill) int {
			return cmp.Or(strings.Compare(path.Dir(a.Path), path.Dir(b.Path)), strings.Compare(a.Path, b.Path))
		})
	}
}

package proposal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Box holds the proposals of a user, and the history of the skills that were changed. Each
// proposal is a folder of files that a person can read; those that wait are in the folder
// "open", the others in "closed". Several processes may use the same box.
type Box struct {
	dir     string
	history string // folder of the history, beside dir
	catalog Catalog
	opts    Options
}

// The names in a box.
const (
	waiting   = "open"
	decided   = "closed"
	lockFile  = ".lock"
	swapFile  = "swap.yaml" // what Approve or Revert is doing
	infoFile  = "proposal.yaml"
	diffFile  = "change.diff"
	whyFile   = "justification.md"
	proofFile = "evidence.md"
	baseDir   = "base"  // files that the diff changes, as they were
	filesDir  = "files" // of a new skill
)

// Open returns the box in a folder, which need not exist. The history lies beside it, in the
// folder "history". It completes or undoes a change that was under way when a process was
// killed. o may be nil.
func Open(dir string, c Catalog, o *Options) (*Box, error) {
	b := &Box{dir: dir, history: filepath.Join(filepath.Dir(dir), "history"), catalog: c, opts: *cmp.Or(o, new(Options))}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	if b.opts.Sources == nil {
		b.opts.Sources = func() []source.Source { return nil }
	}
	if _, err := os.Lstat(filepath.Join(dir, swapFile)); err != nil {
		return b, nil
	}
	return b, b.locked(context.Background(), func(context.Context) error { return nil })
}

// Dir returns the folder of the box in a state folder.
func Dir(state string) string { return filepath.Join(state, "proposals") }

// Count returns how many proposals in the folder of a box wait. It reads one folder.
func Count(dir string) int {
	ids, _ := (&Box{dir: dir}).ids(waiting) // what cannot be read does not wait
	return len(ids)
}

// locked calls f while no other process changes the box, after what a killed one has left is
// put in order.
func (b *Box) locked(ctx context.Context, f func(context.Context) error) error {
	for _, dir := range []string{filepath.Join(b.dir, waiting), filepath.Join(b.dir, decided), b.history} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the folder of proposals: %w", err)
		}
	}
	lock := flock.New(filepath.Join(b.dir, lockFile), flock.SetPermissions(0o600))
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := lock.TryLockContext(wait, 5*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for another process that changes proposals: %w", err)
	}
	defer lock.Close()
	if err := b.recover(ctx); err != nil {
		return fmt.Errorf("completing an earlier change: %w", err)
	}
	return f(ctx)
}

// An ID is the time in seconds in base 36, which sorts, and six digits of a digest
// of what is proposed, which are the same if that is proposed again.
const (
	idTime = 7
	idSum  = 6
	idLen  = idTime + len("-") + idSum
)

func isID(s string) bool {
	if len(s) != idLen || s[idTime] != '-' {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') && r != '-' }) < 0
}

// folder returns the folder of a proposal. id may be the start of an ID that no other one that
// waits has; if none that waits has it, that no other has.
func (b *Box) folder(id string) (string, error) {
	like := make(map[string][]string)
	for _, state := range []string{waiting, decided} {
		ids, err := b.ids(state)
		if err != nil {
			return "", err
		}
		if slices.Contains(ids, id) {
			return filepath.Join(b.dir, state, id), nil
		}
		like[state] = slices.DeleteFunc(ids, func(other string) bool { return id == "" || !strings.HasPrefix(other, id) })
	}
	for _, state := range []string{waiting, decided} {
		switch ids := like[state]; len(ids) {
		case 0:
		case 1:
			return filepath.Join(b.dir, state, ids[0]), nil
		default:
			return "", refuse("%w: %q is the start of %d proposals", ErrNotFound, id, len(ids))
		}
	}
	return "", refuse("%w: %q", ErrNotFound, id)
}

// read reads what is known of the proposal in a folder.
func read(folder string) (Proposal, error) {
	var p Proposal
	data, err := os.ReadFile(filepath.Join(folder, infoFile))
	if err == nil {
		err = yaml.Unmarshal(data, &p)
	}
	if err == nil && p.ID != filepath.Base(folder) {
		err = fmt.Errorf("its id is %q", p.ID)
	}
	if err != nil {
		return p, fmt.Errorf("reading the proposal in %s: %w", folder, err)
	}
	if filepath.Base(filepath.Dir(folder)) == waiting {
		p.State = StateOpen // the folder decides
	}
	return p, nil
}

func writeYAML(name string, v any) error {
	data, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.Replace(name, data, 0o600, nil)
}

// List returns the proposals that an agent may see, the oldest first: those that wait, or all.
// Folders that cannot be read are the error; the others are listed all the same.
func (b *Box) List(ctx context.Context, a *search.Agent, all bool) ([]Proposal, error) {
	states := []string{waiting}
	if all {
		states = append(states, decided)
	}
	list := []Proposal{}
	var errs []error
	for _, state := range states {
		ids, err := b.ids(state)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			p, err := read(filepath.Join(b.dir, state, id))
			switch {
			case err != nil:
				errs = append(errs, err)
			case b.sees(ctx, a, &p):
				list = append(list, p)
			}
		}
	}
	slices.SortFunc(list, func(x, y Proposal) int { return cmp.Compare(x.ID, y.ID) })
	return list, errors.Join(errs...)
}

// sees reports whether a proposal exists for an agent: the skill is in its scope, or would be.
func (b *Box) sees(ctx context.Context, a *search.Agent, p *Proposal) bool {
	if a == nil {
		return true
	}
	if p.Kind == KindUpdate {
		e, err := b.catalog.Lookup(ctx, p.Skill, a)
		// The agent may see another skill of that name, which is not the one that is quoted.
		return err == nil && (e.Source == p.Source || e.Digest == p.Base)
	}
	files, err := readKept(filepath.Join(b.dir, waiting, p.ID, filesDir))
	if err != nil || len(files) == 0 {
		files, err = readKept(filepath.Join(b.dir, decided, p.ID, filesDir))
	}
	s, parseErr := files.Parse(p.Skill)
	return err == nil && parseErr == nil && a.Admits(p.Skill, s.Tags)
}

// find returns the folder of a proposal that an agent may see, and what is known of it. An
// agent needs the whole ID: how many begin alike tells of proposals that it may not see.
func (b *Box) find(ctx context.Context, a *search.Agent, id string) (string, Proposal, error) {
	if a != nil && !isID(id) {
		return "", Proposal{}, refuse("%w: %q", ErrNotFound, id)
	}
	folder, err := b.folder(id)
	if err != nil {
		return "", Proposal{}, err
	}
	p, err := read(folder)
	if err == nil && !b.sees(ctx, a, &p) {
		err = refuse("%w: %q", ErrNotFound, id)
	}
	return folder, p, err
}

// source returns the source of the catalog with a label.
func (b *Box) source(label string) (source.Source, error) {
	for _, s := range b.opts.Sources() {
		if s.Info().Label == label {
			return s, nil
		}
	}
	return nil, fmt.Errorf("source %s is not open", label)
}

// Parse parses the SKILL.md among the files, as if it were in a folder of that name.
func (f Files) Parse(name string) (*skill.Skill, error) {
	for _, file := range skill.FileNames {
		if text, ok := f[file]; ok {
			return skill.ParseBytes(text.Data, name+"/"+file, "")
		}
	}
	return nil, fmt.Errorf("no %s", skill.FileNames[0])
}

package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// pushed is one source in one transaction.
type pushed struct {
	*pusher
	from   source.Source
	label  string
	before map[string]store.Known // what the catalog knows, by path, with the stamps of this machine
	puts   map[string]store.Known // what was put, by path
	gone   map[int64]bool         // rows that were deleted
	result Source

	memory memory // of the last push from this machine
	read   memory // of this one

	// unstable are the skills whose files have changed between two reads: the next
	// transaction leaves them as they are. changing means that this one has found one.
	unstable map[string]bool
	changing bool

	noting  sync.Mutex // held to change secrets and read: skills are read side by side
	secrets []string
}

var (
	errChanging = errors.New("files change while they are read")
	errUnstable = errors.New("its files change while they are pushed; the catalog keeps what it has of it")
)

// refs returns the skills of the source as other machines may see them. Those that this machine
// has read before have the stamps by which it knows them. Without stamps, as of a source that is
// no folder, each skill is read and its digest tells whether it has changed.
func (s *pushed) refs(ctx context.Context) iter.Seq2[*skill.Ref, error] {
	all := s.from.Skills(ctx, nil)
	if stamped, ok := s.from.(interface {
		Stamped(context.Context) iter.Seq2[*skill.Ref, error]
	}); ok && s.Memory != "" {
		all = stamped.Stamped(ctx)
	}
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range all {
			if err == nil {
				ref = &skill.Ref{Path: ref.Path, Stamp: ref.Stamp, Load: s.load(ref)}
				if old := s.memory[ref.Path]; old.stamp == ref.Stamp {
					s.note(ref.Path, old, nil, nil)
				}
			}
			if err == nil && s.Found != nil {
				s.Found()
			}
			if !yield(ref, err) {
				return
			}
		}
	}
}

// load returns what reads a skill. Of the skill's files it leaves out those that are never
// served, those that were too large to hash, and secrets.
func (s *pushed) load(ref *skill.Ref) func() (*skill.Skill, error) {
	if s.unstable[ref.Path] {
		return func() (*skill.Skill, error) { return nil, errUnstable }
	}
	return func() (*skill.Skill, error) {
		if same := s.same(ref); same != nil {
			return same, nil
		}
		sk, err := ref.Load()
		if refused, ok := errors.AsType[*skill.ParseError](err); ok {
			p := refused.Problem
			s.hidePlaces(&p, "")
			return nil, &skill.ParseError{Problem: p}
		}
		if err != nil {
			return nil, err
		}
		for i := range sk.Problems {
			s.hidePlaces(&sk.Problems[i], strings.TrimSuffix(sk.Location, sk.Path))
		}
		sk.Location = s.label + ":" + sk.Path
		files := sk.Files
		sk.Files, sk.Digest = served(files, sk.TextDigest, sk.Digest)
		s.note(ref.Path, remembered{ref.Stamp, sk.Digest, sk.Name}, files, sk.Problems)
		return sk, nil
	}
}

// same returns a skill as the catalog knows it if its files have the same digest; nil means
// that they have not, or that its name may still be another one. Parsing would be a third
// of the work for a skill that has not changed.
func (s *pushed) same(ref *skill.Ref) *skill.Skill {
	file := ref.Path
	have := s.before[file]
	renamer, known := s.from.(interface{ Renames() bool })
	if s.Full || have.Name == "" || !known || renamer.Renames() {
		return nil
	}
	m, err := source.ReadManifest(context.Background(), s.from, path.Dir(file))
	if err != nil || m.File != path.Base(file) || !saysName(m.Text, have.Name) {
		return nil
	}
	if _, digest := served(m.Files, m.TextDigest(), m.Digest); digest != have.Digest {
		return nil
	}
	s.note(file, remembered{ref.Stamp, have.Digest, have.Name}, m.Files, m.Problems)
	return &skill.Skill{Meta: skill.Meta{Name: have.Name, Digest: have.Digest, Location: have.Location}}
}

// saysName reports whether the frontmatter plainly says that this is the skill's name.
func saysName(text []byte, name string) bool {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("name:")); ok {
			return string(bytes.Trim(value, " \t\r\n\"'")) == name
		}
	}
	return false
}

// note notes what was read of a skill: which of its files are left out as secrets, and what the
// next push from this machine need not read. A skill with secrets is read each time, to say so,
// and what could not be read may be readable then.
func (s *pushed) note(file string, read remembered, files []skill.File, problems []skill.Problem) {
	s.noting.Lock()
	defer s.noting.Unlock()
	secrets := len(s.secrets)
	for _, f := range files {
		if skill.IsSecret(f.Path) {
			s.secrets = append(s.secrets, path.Join(path.Dir(file), f.Path))
		}
	}
	unread := func(p skill.Problem) bool { return strings.HasPrefix(p.Rule, "unreadable") }
	if read.stamp != "" && len(s.secrets) == secrets && !slices.ContainsFunc(problems, unread) && !strings.Contains(file+read.name, "\x00") {
		s.read[file] = read
	}
}

// served leaves out the files that nodes do not serve. It returns the others, and the digest
// that the skill has with them alone.
func served(files []skill.File, textDigest, digest string) ([]skill.File, string) {
	kept := slices.DeleteFunc(slices.Clone(files), isUnserved)
	if len(kept) < len(files) {
		digest = skill.DigestOf(textDigest, kept)
	}
	return kept, digest
}

// isUnserved reports whether a file of a skill can never be read by its name, or must not.
func isUnserved(f skill.File) bool {
	clean, err := skill.CleanPath(f.Path)
	return err != nil || clean != f.Path || f.SHA256 == "" || skill.IsSecret(f.Path)
}

// hidePlaces replaces the folder of the source by its label in the texts of a problem. top is
// another path of that folder; "" means none.
func (s *pushed) hidePlaces(p *skill.Problem, top string) {
	for _, folder := range []string{top, s.from.Info().Root} {
		if folder = strings.TrimRight(folder, `/\`); len(folder) > 1 {
			p.Message = strings.ReplaceAll(p.Message, folder, s.label)
			p.Hint = strings.ReplaceAll(p.Hint, folder, s.label)
		}
	}
}

// joined is the store of the transaction, which gets the files of each skill that index
// puts. It keeps no stamps: they are for this machine.
type joined struct {
	store.Store
	s *pushed
}

// Known implements store.Reader.
func (j *joined) Known(ctx context.Context, source int64, paths []string) (map[string]store.Known, error) {
	if j.s.Full {
		return j.Store.Known(ctx, source, paths)
	}
	return j.s.before, nil
}

// Update implements store.Store.
func (j *joined) Update(ctx context.Context, f func(store.Tx) error) error {
	return j.Store.Update(ctx, func(tx store.Tx) error {
		files, ok := tx.(store.FileTx)
		if !ok {
			return errors.New("this engine keeps no files of skills, so nodes could not read them")
		}
		t := &filesTx{FileTx: files, s: j.s}
		if err := f(t); err != nil || len(t.placed) == 0 {
			return err
		}
		return t.putFiles(ctx)
	})
}

// filesTx notes which skills are put.
type filesTx struct {
	store.FileTx
	s      *pushed
	placed []placed
}

// placed is a skill that was put.
type placed struct {
	row   int64
	path  string // of its SKILL.md
	files []skill.File
}

// PutSkill implements store.Tx.
func (t *filesTx) PutSkill(source int64, r *store.Record) (int64, error) {
	r.Stamp = ""
	row, err := t.FileTx.PutSkill(source, r)
	t.placed = append(t.placed, placed{row, r.Path, r.Skill.Files})
	t.s.puts[r.Path] = store.Known{Name: r.Skill.Name, Digest: r.Skill.Digest}
	return row, err
}

// DeleteSkill implements store.Tx.
func (t *filesTx) DeleteSkill(row int64) error {
	t.s.gone[row] = true
	return t.FileTx.DeleteSkill(row)
}

// PutStamp implements store.Tx.
func (*filesTx) PutStamp(int64, string) error { return nil }

// putFiles stores the lists of files, and the content that the catalog does not have.
func (t *filesTx) putFiles(ctx context.Context) error {
	var digests []string
	for _, p := range t.placed {
		for _, f := range p.files {
			digests = append(digests, f.SHA256)
		}
	}
	list, err := t.Missing(digests)
	if err != nil {
		return err
	}
	missing := make(map[string]bool, len(list))
	for _, digest := range list {
		missing[digest] = true
	}
	for _, p := range t.placed {
		if err := t.putContents(ctx, p, missing); errors.Is(err, errChanging) {
			t.s.unstable[p.path], t.s.changing = true, true
			continue
		} else if err != nil {
			return err
		}
		if t.s.DryRun {
			continue // the content is not there
		}
		if err := t.PutFiles(p.row, p.files); err != nil {
			return fmt.Errorf("storing the files of %s: %w", p.path, err)
		}
	}
	return nil
}

// putContents stores the content of those files of a skill that are missing.
func (t *filesTx) putContents(ctx context.Context, p placed, missing map[string]bool) error {
	for _, f := range p.files {
		if !missing[f.SHA256] {
			continue
		}
		t.s.result.Files++
		t.s.result.Bytes += f.Size
		delete(missing, f.SHA256)
		if t.s.DryRun {
			continue
		}
		data, _, err := source.ReadListed(ctx, t.s.from, path.Dir(p.path), f)
		if err != nil {
			return fmt.Errorf("%w: %w", errChanging, err)
		}
		if err := t.PutContent(f.SHA256, data); err != nil {
			return fmt.Errorf("storing %s of %s: %w", f.Path, p.path, err)
		}
	}
	return nil
}

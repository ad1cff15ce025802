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
	before map[string]store.Known // by path
	result Source

	// unstable are the skills whose files have changed between two reads: the next
	// transaction leaves them as they are. changing means that this one has found one.
	unstable map[string]bool
	changing bool

	noting  sync.Mutex // held to change secrets: skills are read side by side
	secrets []string
}

var (
	errChanging = errors.New("files change while they are read")
	errUnstable = errors.New("its files change while they are pushed; the catalog keeps what it has of it")
)

// refs returns the skills of the source as other machines may see them. Without stamps, each
// skill is read and its digest tells whether it has changed.
func (s *pushed) refs(ctx context.Context) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for ref, err := range s.from.Skills(ctx, nil) {
			if err == nil {
				ref = &skill.Ref{Path: ref.Path, Load: s.load(ref)}
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
		if same := s.same(ref.Path); same != nil {
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
		s.noteSecrets(path.Dir(sk.Path), sk.Files)
		sk.Files, sk.Digest = served(sk.Files, sk.TextDigest, sk.Digest)
		return sk, nil
	}
}

// same returns a skill as the catalog knows it if its files have the same digest; nil means
// that they have not, or that its name may still be another one. Parsing would be a third
// of the work for a skill that has not changed.
func (s *pushed) same(file string) *skill.Skill {
	have, ok := s.before[file]
	renamer, known := s.from.(interface{ Renames() bool })
	if !ok || have.Name == "" || !known || renamer.Renames() {
		return nil
	}
	m, err := source.ReadManifest(context.Background(), s.from, path.Dir(file))
	if err != nil || m.File != path.Base(file) || !saysName(m.Text, have.Name) {
		return nil
	}
	if _, digest := served(m.Files, m.TextDigest(), m.Digest); digest != have.Digest {
		return nil
	}
	s.noteSecrets(path.Dir(file), m.Files)
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

// noteSecrets notes which files of the skill in a folder are left out as secrets.
func (s *pushed) noteSecrets(dir string, files []skill.File) {
	s.noting.Lock()
	defer s.noting.Unlock()
	for _, f := range files {
		if skill.IsSecret(f.Path) {
			s.secrets = append(s.secrets, path.Join(dir, f.Path))
		}
	}
}

// served leaves out the files that nodes do not serve. It returns the others, and the digest
// that the skill has with them alone.
func served(files []skill.File, textDigest, digest string) ([]skill.File, string) {
	kept := slices.DeleteFunc(slices.Clone(files), isUnserved)
	if len(kept) < len(files) {
		digest = source.Digest(textDigest, kept)
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
// puts.
type joined struct {
	store.Store
	s *pushed
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
	row, err := t.FileTx.PutSkill(source, r)
	t.placed = append(t.placed, placed{row, r.Path, r.Skill.Files})
	return row, err
}

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

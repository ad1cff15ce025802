package proposal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

// folders are a shelf of folders with files that a person can read, one for each proposal.
type folders struct{ dir string }

// The names in it.
const (
	waiting   = "open"
	decided   = "closed"
	infoFile  = "proposal.yaml"
	diffFile  = "change.diff"
	whyFile   = "justification.md"
	proofFile = "evidence.md"
	baseDir   = "base"  // files that the diff changes, as they were
	filesDir  = "files" // of a new skill
)

// ids returns the IDs of the proposals in a state.
func (f folders) ids(state string) (list []string, err error) {
	entries, err := os.ReadDir(filepath.Join(f.dir, state))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if isID(e.Name()) {
			list = append(list, e.Name())
		}
	}
	return list, err
}

// list implements shelf.
func (f folders) list(_ context.Context, want func(id string, waits bool) bool) ([]Proposal, error) {
	list := []Proposal{}
	var errs []error
	for _, state := range []string{waiting, decided} {
		ids, err := f.ids(state)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			if !want(id, state == waiting) {
				continue
			}
			p, err := readInfo(filepath.Join(f.dir, state, id))
			if err != nil {
				errs = append(errs, err)
				continue
			}
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(x, y Proposal) int { return cmp.Compare(x.ID, y.ID) })
	return list, errors.Join(errs...)
}

// read implements shelf.
func (f folders) read(_ context.Context, id string) (r record, err error) {
	folder := filepath.Join(f.dir, waiting, id)
	if _, err := os.Lstat(folder); err != nil {
		folder = filepath.Join(f.dir, decided, id)
	}
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return r, refuse("%w: %q", ErrNotFound, id)
	}
	if r.Proposal, err = readInfo(folder); err != nil {
		return r, err
	}
	for name, text := range map[string]*string{whyFile: &r.Justification, proofFile: &r.Evidence, diffFile: &r.Diff} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		*text = string(data)
	}
	r.Files, err = readKept(filepath.Join(folder, subOf(r.Kind)))
	return r, err
}

// subOf returns the folder with the files of a record.
func subOf(k Kind) string {
	if k == KindNew {
		return filesDir
	}
	return baseDir
}

// readInfo reads what is known of the proposal in a folder.
func readInfo(folder string) (Proposal, error) {
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

// add implements shelf: it writes a folder, which nobody sees before it is complete.
func (f folders) add(_ context.Context, r *record) error {
	young := filepath.Join(f.dir, ".new")
	if err := os.RemoveAll(young); err != nil {
		return err
	}
	texts := Files{whyFile: {Data: []byte(r.Justification)}}
	for name, text := range map[string]string{proofFile: r.Evidence, diffFile: r.Diff} {
		if text != "" {
			texts[name] = File{Data: []byte(text)}
		}
	}
	err := writeFiles(young, texts, private)
	if err == nil && len(r.Files) > 0 {
		err = writeFiles(filepath.Join(young, subOf(r.Kind)), r.Files, private)
	}
	if err == nil {
		err = writeYAML(filepath.Join(young, infoFile), &r.Proposal)
	}
	if err == nil {
		err = os.Rename(young, filepath.Join(f.dir, waiting, r.ID))
	}
	if err != nil {
		return fmt.Errorf("keeping the proposal: %w", errors.Join(err, os.RemoveAll(young)))
	}
	return nil
}

// decide implements shelf.
func (f folders) decide(_ context.Context, p *Proposal) error {
	folder := filepath.Join(f.dir, waiting, p.ID)
	if err := writeYAML(filepath.Join(folder, infoFile), p); err != nil {
		return err
	}
	return os.Rename(folder, filepath.Join(f.dir, decided, p.ID))
}

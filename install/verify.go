package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/source"
)

// A Verdict says how an installed skill compares with the lock.
type Verdict struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`                // it is as it was installed or accepted
	Missing bool   `json:"missing,omitempty"` // its folder is gone
	// Accepted means that it has edits, which the user has accepted.
	Accepted bool  `json:"accepted,omitempty"`
	Edits    Files `json:"edits"`
}

// Verify hashes installed skills again and compares them with the lock; no names mean all.
// The second result are the folders that are not in the lock.
func (in *Installer) Verify(ctx context.Context, names []string) ([]Verdict, []string, error) {
	l, err := in.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	var unknown []string
	if len(names) == 0 {
		if unknown, err = in.unknown(l); err != nil {
			return nil, nil, err
		}
	}
	if names, err = l.names(names); err != nil {
		return nil, nil, err
	}
	verdicts := make([]Verdict, len(names))
	for i, name := range names {
		now, err := in.hash(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		e := l.Skills[name]
		v := Verdict{Name: name, Missing: now == nil, Edits: compare(e.Files, now)}
		if v.OK = v.Edits.Same(); !v.OK && !v.Missing && e.Accepted != "" {
			digest, err := in.digest(ctx, name)
			v.Accepted = err == nil && digest == e.Accepted
			v.OK = v.Accepted
		}
		verdicts[i] = v
	}
	return verdicts, unknown, nil
}

// Accept makes installed skills, with their edits, what they must be for Verify and Locked. What
// was installed stays in the lock, so that an update still knows what was edited.
func (in *Installer) Accept(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return errors.New("no skill is named")
	}
	return in.locked(ctx, func(l *Lock) error {
		names, err := l.names(names)
		if err != nil {
			return err
		}
		for _, name := range names {
			digest, err := in.digest(ctx, name)
			if err != nil {
				return fmt.Errorf("accepting %s: %w", name, err)
			}
			if l.Skills[name].Accepted = digest; digest == l.Skills[name].Digest {
				l.Skills[name].Accepted = ""
			}
		}
		return l.write(in.dir)
	})
}

// digest returns the digest of an installed skill as it is. A skill with links, or with files
// that are no part of it, has none.
func (in *Installer) digest(ctx context.Context, name string) (string, error) {
	parent, folder := filepath.Split(in.folder(name))
	t, err := readTree(ctx, parent, folder)
	if err != nil {
		return "", err
	}
	if len(t.odd) > 0 {
		return "", fmt.Errorf("it has links or files of another kind: %s; remove them", list(t.odd))
	}
	return t.skill.Digest, nil
}

// unknown returns the folders that are not in the lock.
func (in *Installer) unknown(l *Lock) ([]string, error) {
	var names []string
	look := func(dir, before string) error {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if key := before + e.Name(); l.Skills[key] == nil && e.Name()[0] != '.' && e.Type()&(fs.ModeDir|fs.ModeSymlink) != 0 {
				names = append(names, key)
			}
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	apart, err := fs.Glob(os.DirFS(in.dir), source.ApartFolder+"/*")
	err = cmp.Or(err, look(in.dir, ""))
	for _, dir := range apart {
		err = cmp.Or(err, look(filepath.Join(in.dir, filepath.FromSlash(dir)), path.Base(dir)+"/"))
	}
	return names, err
}

// Remove removes installed skills if the caller approves of it. Changes tell what was edited
// here.
func (in *Installer) Remove(ctx context.Context, names []string, c Caller) (result *Result, err error) {
	if len(names) == 0 {
		return nil, errors.New("no skill is named")
	}
	l, err := in.read(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := l.one(name); err != nil {
			return nil, err
		}
	}
	if names, err = l.names(names); err != nil {
		return nil, err
	}
	result = new(Result)
	for _, name := range names {
		change := &Change{Name: name, Action: Remove, From: l.Skills[name]}
		if change.seen, err = in.hash(ctx, name); err != nil {
			return nil, err
		}
		if change.seen != nil {
			change.Edits = compare(change.From.Files, change.seen)
		}
		result.Changes = append(result.Changes, change)
	}
	st, err := in.newStage()
	if err != nil {
		return nil, in.explained(err)
	}
	defer func() { err = in.explained(errors.Join(err, st.close())) }()
	return result, in.carryOut(ctx, st, result, c)
}

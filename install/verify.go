package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// A Verdict says how an installed skill compares with the lock.
type Verdict struct {
	Name    string `json:"name"`
	OK      bool   `json:"ok"`
	Missing bool   `json:"missing,omitempty"` // its folder is gone
	Edits   Files  `json:"edits"`
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
		edits := compare(l.Skills[name].Files, now)
		verdicts[i] = Verdict{name, edits.Same(), now == nil, edits}
	}
	return verdicts, unknown, nil
}

// unknown returns the folders that are not in the lock.
func (in *Installer) unknown(l *Lock) ([]string, error) {
	entries, err := os.ReadDir(in.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if l.Skills[e.Name()] == nil && e.Name()[0] != '.' && e.Type()&(fs.ModeDir|fs.ModeSymlink) != 0 {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Remove removes installed skills if the caller approves of it. Changes tell what was edited
// here.
func (in *Installer) Remove(ctx context.Context, names []string, c Caller) (result *Result, err error) {
	if len(names) == 0 {
		return nil, errors.New("no skill is named")
	}
	l, err := in.read(ctx)
	if err == nil {
		names, err = l.names(names)
	}
	if err != nil {
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

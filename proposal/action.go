package proposal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// An action is a change of a skill's folder that is under way, and what is to be written
// after it. It is kept in a file, so that the next process can complete it.
type action struct {
	swap     `yaml:",inline"`
	Skill    string `yaml:"skill"` // its name
	Proposal string `yaml:"proposal,omitempty"`
	Who      string `yaml:"who,omitempty"`
	Why      string `yaml:"why"`
	Reason   string `yaml:"reason,omitempty"`
}

// change carries out an action: it keeps the version before, swaps the folders, and keeps the
// version after. before is nil for a new folder.
func (b *Box) change(ctx context.Context, act *action, before, after Files) error {
	p, err := b.past(act.Skill, act.Folder)
	if err != nil {
		return err
	}
	if before != nil {
		why := "before the first change"
		if p.last() != "" {
			why = "edited"
		}
		if err := p.add(Version{Time: b.now(), Why: why, Digest: act.Was}, before); err != nil {
			return err
		}
	}
	journal := filepath.Join(b.dir, swapFile)
	if err := writeYAML(journal, act); err != nil { // so that what is staged is removed if this process is killed
		return err
	}
	err = act.prepare(ctx, before, after)
	if err == nil {
		err = writeYAML(journal, act) // with the digest of what is staged
	}
	if err == nil {
		err = act.finish(ctx)
	}
	if err != nil {
		return fmt.Errorf("changing %s: %w", act.Folder, errors.Join(err, os.RemoveAll(act.stage()), os.Remove(journal)))
	}
	return b.complete(ctx, act)
}

// complete does what is left after the folders were swapped.
func (b *Box) complete(ctx context.Context, act *action) error {
	files, digest, err := ReadFolder(ctx, act.Folder)
	if err != nil {
		return err
	}
	past, err := b.past(act.Skill, act.Folder)
	if err == nil {
		err = past.add(Version{Time: b.now(), Who: act.Who, Why: act.Why, Digest: digest, Proposal: act.Proposal}, files)
	}
	if err != nil {
		return err
	}
	if ids, err := b.ids(waiting); err != nil {
		return err
	} else if slices.Contains(ids, act.Proposal) {
		p, err := readInfo(filepath.Join(b.dir, waiting, act.Proposal))
		if err == nil {
			p.decided(StateApproved, act.Who, act.Reason, b.now())
			err = b.decide(ctx, &p)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(os.RemoveAll(act.stage()), os.Remove(filepath.Join(b.dir, swapFile)))
}

// recover completes or undoes the action of a killed process, and moves proposals on which it
// had decided.
func (b *Box) recover(ctx context.Context) error {
	data, err := os.ReadFile(filepath.Join(b.dir, swapFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var act action
	if err == nil {
		err = yaml.Unmarshal(data, &act)
	}
	if err != nil {
		return err
	}
	done, err := act.recover(ctx)
	switch {
	case err != nil:
		return err
	case done:
		return b.complete(ctx, &act)
	}
	return os.Remove(filepath.Join(b.dir, swapFile))
}

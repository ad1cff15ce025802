package index

import (
	"context"
	"slices"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// Identified is implemented by a source whose folder may be replaced by another one
// without an error: where a disk is not mounted, there often is an empty folder.
type Identified interface {
	// Identity returns which folder is at the root now; "" means unknown.
	Identity() string
}

// identityOf returns the method Identity of a source, nil if it has none.
func identityOf(src source.Source) func() string {
	if s, ok := src.(Identified); ok {
		return s.Identity
	}
	return nil
}

func (s *run) identityNow() string {
	if s.identity == nil {
		return ""
	}
	return s.identity()
}

// finish removes skills that are gone, and records whether the source is away.
func (s *run) finish(ctx context.Context) error {
	now := s.identityNow()
	s.report.cut = !s.report.Away && (slices.Contains(s.missed, ".") || now != s.place) // the next walk decides
	if s.report.cut {
		return nil
	}
	other := now != "" && now != s.old.Identity
	if other && s.old.Identity != "" && s.report.Found == 0 && len(s.known) > 0 {
		s.awayEmpty()
	}
	gone := s.gone()
	turned := s.report.Away != s.old.Away
	if len(gone) == 0 && !turned && !s.copied() && (s.old.Walked != 0 && !other || s.report.Away) {
		return nil // the usual case writes nothing
	}
	s.report.Removed = len(gone)
	return s.store.Update(ctx, func(tx store.Tx) error {
		for _, id := range gone {
			if err := tx.DeleteSkill(id); err != nil {
				return err
			}
		}
		if turned {
			if _, err := s.putSource(tx, s.report.Away); err != nil {
				return err
			}
		}
		if s.report.Away && s.copied() {
			return tx.Walked(s.row, 0, "") // nothing of the copy is left
		}
		if s.report.Away {
			return nil
		}
		if len(gone) > 0 { // a source that is walked for the first time may need vectors of a copied catalog
			if err := tx.PruneVectors(); err != nil {
				return err
			}
		}
		return tx.Walked(s.row, s.began.UnixNano(), now)
	})
}

// copied reports whether the skills that the store knows were found in another folder.
func (s *run) copied() bool { return s.old.Walked == store.Copied }

// gone returns the rows of the skills that do not exist any more. Those that are known from
// another folder exist only where the walk has found them.
func (s *run) gone() []int64 {
	var list []int64
	for path, have := range s.known {
		if !s.seen[path] && (s.copied() || !s.mayHaveMissed(path)) {
			list = append(list, have.Row)
		}
	}
	return list
}

// awayEmpty reports that the source is away: its folder has no skill, and is not the one
// in which the last complete walk found some. Who deletes skills leaves the folder.
func (s *run) awayEmpty() {
	p := skill.Problem{
		Rule: "away", Severity: skill.Warning, Path: ".",
		Message: "source is away: an empty folder is in its place, as where a disk is not mounted",
		Hint:    "mount the disk; or remove its skills: skills index --forget " + s.src.Label,
	}
	s.report.Away, s.report.Complete = true, false
	s.report.walk, s.report.Problems = append(s.report.walk, p), append(s.report.Problems, p)
	s.missed = append(s.missed, ".")
}

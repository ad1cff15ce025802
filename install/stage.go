package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/scratch"
	"github.com/repertoire-skills/repertoire/skill"
)

// A stage is a folder beside the installed skills, in which new ones are put together.
// Sources do not search folders whose names begin with skill.StagingPrefix. It holds:
//
//	held      locked as long as its process lives
//	fetched/  what was fetched
//	new/NAME  skills that are checked and ready
//	old/NAME  skills that were replaced or removed
//	journal   what will be done; while it exists, the next process goes on from it
type stage struct {
	dir    string
	part   string          // tells apart what is fetched from several sources
	folder *scratch.Folder // nil for one that a killed process has left
}

const (
	journalFile = "journal"
	maxJournal  = maxLock
)

// newStage makes a stage, and removes those that killed processes have left.
func (in *Installer) newStage() (*stage, error) {
	in.sweep()
	f, err := scratch.New(in.dir, skill.StagingPrefix)
	if err != nil {
		return nil, fmt.Errorf("making a folder for new skills: %w", err)
	}
	if err := os.Mkdir(filepath.Join(f.Dir, "new"), 0o700); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &stage{dir: f.Dir, folder: f}, nil
}

// sweep leaves the stages with a journal: the next process that takes the lock goes on from it.
func (in *Installer) sweep() { scratch.Sweep(in.dir, skill.StagingPrefix, hasJournal) }

func hasJournal(dir string) bool { return exists(filepath.Join(dir, journalFile)) }

func (s *stage) fetched() string         { return filepath.Join(s.dir, "fetched"+s.part) }
func (s *stage) new(name string) string  { return filepath.Join(s.dir, "new", flat(name)) }
func (s *stage) old(name string) string  { return filepath.Join(s.dir, "old", flat(name)) }
func (s *stage) journal() string         { return filepath.Join(s.dir, journalFile) }
func (s *stage) archive() string         { return filepath.Join(s.dir, "archive"+s.part) }
func (s *stage) file(name string) string { return filepath.Join(s.dir, name) }

// close removes the stage, unless a journal says that it is still needed.
func (s *stage) close() error {
	if hasJournal(s.dir) {
		return s.folder.Release()
	}
	return s.folder.Close()
}

// An op is one skill that is installed or removed.
type op struct {
	Name  string `json:"name"`
	Entry *Entry `json:"entry"` // nil means that the skill is removed
}

// commit does what ops say, with the skills in the stage, and writes the lock. Either all
// of it is done, or nothing; the next process finishes what a killed one has begun.
func (in *Installer) commit(l *Lock, s *stage, ops []op) error {
	data, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	in.step("journal")
	if err = os.MkdirAll(s.file("old"), 0o700); err == nil {
		err = atomicfile.Replace(s.journal(), data, 0o600, nil)
	}
	if err != nil {
		return fmt.Errorf("writing down what will be done: %w", err)
	}
	done, err := in.move(s, ops)
	if err == nil {
		before := l.apply(ops)
		in.step("lock")
		if err = l.write(in.dir); err != nil {
			l.apply(before)
		}
	}
	if err != nil {
		return errors.Join(err, in.undo(s, ops[:done]))
	}
	in.step("end")
	return os.Remove(s.journal())
}

// move renames folders, and returns how many ops it began.
func (in *Installer) move(s *stage, ops []op) (int, error) {
	for i, o := range ops {
		in.step("old")
		if err := os.Rename(in.folder(o.Name), s.old(o.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return i, fmt.Errorf("moving the old %s away: %w", o.Name, err)
		}
		if o.Entry == nil {
			in.removeEmpty(o.Name)
			continue
		}
		in.step("new")
		if err := os.MkdirAll(filepath.Dir(in.folder(o.Name)), 0o700); err != nil {
			return i + 1, fmt.Errorf("making a folder for %s: %w", o.Name, err)
		}
		if err := os.Rename(s.new(o.Name), in.folder(o.Name)); err != nil {
			return i + 1, fmt.Errorf("moving %s into place: %w", o.Name, err)
		}
	}
	in.step("moved")
	return len(ops), nil
}

// undo takes back what move has done.
func (in *Installer) undo(s *stage, ops []op) error {
	for _, o := range ops {
		if o.Entry != nil && !exists(s.new(o.Name)) {
			if err := os.Rename(in.folder(o.Name), s.new(o.Name)); err != nil {
				return err // the journal stays, so the next process finishes the work
			}
		}
		in.removeEmpty(o.Name)
		if err := s.restore(o.Name, in.folder(o.Name)); err != nil {
			return err
		}
	}
	return os.Remove(s.journal())
}

// restore moves the old folder of a skill back, if there is one and nothing took its place.
func (s *stage) restore(name, to string) error {
	if !exists(s.old(name)) || exists(to) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.Rename(s.old(name), to)
}

// apply changes the lock, and returns the ops that change it back.
func (l *Lock) apply(ops []op) (back []op) {
	for _, o := range ops {
		back = append(back, op{o.Name, l.Skills[o.Name]})
		if o.Entry == nil {
			delete(l.Skills, o.Name)
		} else {
			l.Skills[o.Name] = o.Entry
		}
	}
	return back
}

// journals returns the stages that killed processes have left in the middle of a commit.
func (in *Installer) journals() ([]string, error) {
	dirs, err := scratch.List(in.dir, skill.StagingPrefix)
	return slices.DeleteFunc(dirs, func(dir string) bool { return !hasJournal(dir) }), err
}

// recover finishes what killed processes have begun: a skill that is in place gets into
// the lock, and one that is not stays as it was. The caller holds the lock, so no other
// process is in the middle of a commit.
func (in *Installer) recover(l *Lock) error {
	left, err := in.journals()
	for _, dir := range left {
		if err := in.finish(l, &stage{dir: dir}); err != nil {
			return fmt.Errorf("finishing what a killed process began in %s: %w", dir, err)
		}
	}
	return err
}

func (in *Installer) finish(l *Lock, s *stage) error {
	data, err := regular.ReadShort(s.journal(), maxJournal)
	var ops []op
	if err == nil {
		err = json.Unmarshal(data, &ops)
	}
	if err != nil {
		return fmt.Errorf("reading its journal: %w; look at what is in it, and remove it", err)
	}
	var done []op
	for _, o := range ops {
		if err := checkKey(o.Name); err != nil {
			return err
		}
		happened := o.Entry != nil && !exists(s.new(o.Name)) || o.Entry == nil && !exists(in.folder(o.Name))
		if happened {
			done = append(done, o)
		} else if err := s.restore(o.Name, in.folder(o.Name)); err != nil {
			return err
		}
		in.removeEmpty(o.Name)
	}
	l.apply(done)
	if err := l.write(in.dir); err != nil {
		return err
	}
	if err := os.Remove(s.journal()); err != nil {
		return err
	}
	os.RemoveAll(s.dir) // or the next sweep does it
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

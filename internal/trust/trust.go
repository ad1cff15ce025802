// Package trust remembers which skills of projects the user trusts, in one file that a
// person can read: a line for each skill.
//
// The one rule: trust is for the digest of a skill, whatever its name and folder. So the
// same skill in a clone or a worktree is trusted, and a changed one is not.
package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Skill is a skill that the user trusts.
type Skill struct {
	Digest string    `json:"digest"` // see skill.Meta
	Name   string    `json:"name"`
	Folder string    `json:"folder"` // in which the user saw it
	Date   time.Time `json:"date"`
}

// A File is the file with the trusted skills. It may be used by several goroutines, and
// other processes may change the file at any time.
type File struct {
	name    string // of the file
	dir     string // of what is remembered of the files of each skill
	trusted *Watched[digests]
}

// digests are the digests of trusted skills. An older version of this program digested some skills
// in another way, see skill.DigestWithoutExcluded: older returns the digests of today for the ones
// that it wrote down. It is called only for a digest that is not in the file, because it reads a
// file for each skill.
type digests struct {
	all   map[string]bool
	older func() map[string]bool
}

// Open returns the file "trusted" in a folder. It need not exist.
func Open(state string) *File {
	f := &File{name: filepath.Join(state, "trusted"), dir: filepath.Join(state, "trusted-files")}
	f.trusted = Watch(f.name, func() digests {
		skills, _ := f.read() // a line that cannot be read trusts nothing; List returns the error
		return digests{setOf(skills, func(s Skill) string { return s.Digest }), sync.OnceValue(func() map[string]bool {
			return setOf(skills, func(s Skill) string { return skill.DigestWithoutExcluded(s.Folder, f.remembered(s.Digest)) })
		})}
	})
	return f
}

func setOf(skills []Skill, digest func(Skill) string) map[string]bool {
	set := make(map[string]bool, len(skills))
	for _, s := range skills {
		set[digest(s)] = true
	}
	return set
}

// Path returns the name of the file.
func (f *File) Path() string { return f.name }

// Trusted reports whether the file had a digest when Version was called last. If the file
// cannot be read, nothing is trusted.
func (f *File) Trusted(digest string) bool {
	d := f.trusted.Value()
	return d.all[digest] || digest != "" && d.older()[digest]
}

// Version returns another text than before if the file has changed. It only looks at the
// stamp of the file.
func (f *File) Version() string { return f.trusted.Version() }

// List returns the trusted skills by name. Lines that cannot be read are left out; the error
// names the first.
func (f *File) List() ([]Skill, error) {
	skills, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return skills, err
}

func (f *File) read() ([]Skill, error) {
	data, err := regular.ReadFile(f.name)
	if err != nil {
		return nil, err
	}
	return parse(f.name, string(data))
}

// Seen is a skill as the user has just seen it, with its files and their digests.
type Seen struct {
	Skill
	Files []skill.File
}

// Add adds skills. A file with a malformed line stays as it is, and is an error.
func (f *File) Add(ctx context.Context, seen ...Seen) error {
	return f.change(ctx, func(list []Skill) ([]Skill, error) {
		for _, s := range seen {
			if !isDigest(s.Digest) {
				return nil, fmt.Errorf("skill %s has the digest %q, which is none", s.Name, s.Digest)
			}
			if err := f.remember(s); err != nil {
				return nil, err
			}
			if !slices.ContainsFunc(list, func(old Skill) bool { return old.Digest == s.Digest }) {
				list = append(list, s.Skill)
			}
		}
		return list, nil
	})
}

// Forget removes the skills for which forget returns true, and returns them.
func (f *File) Forget(ctx context.Context, forget func(Skill) bool) (gone []Skill, err error) {
	err = f.change(ctx, func(list []Skill) ([]Skill, error) {
		var kept []Skill
		for _, s := range list {
			if forget(s) {
				gone = append(gone, s)
			} else {
				kept = append(kept, s)
			}
		}
		return kept, nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range gone {
		os.Remove(f.filesOf(s.Digest)) // what is left over harms nobody
	}
	return gone, nil
}

// change replaces the list of skills, while no other process does.
func (f *File) change(ctx context.Context, change func([]Skill) ([]Skill, error)) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	lock := flock.New(f.name+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("locking %s: %w", lock.Path(), err)
	}
	defer lock.Unlock()
	list, err := f.List()
	if err != nil {
		return fmt.Errorf("%w (correct or remove the line)", err)
	}
	if list, err = change(list); err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b Skill) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Folder, b.Folder), a.Date.Compare(b.Date), strings.Compare(a.Digest, b.Digest))
	})
	return atomicfile.Replace(f.name, []byte(format(list)), 0o600, nil)
}

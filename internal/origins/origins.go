// Package origins says where the skills on this machine were installed from: it reads the lock of
// this program, and the lock that "npx skills" and "gh skill" share.
//
// The one rule: it only reads. A lock that cannot be read is an error, and the others count.
package origins

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// Programs that install skills, as Origin.By names them.
const (
	Own    = "skills"                 // this one
	Others = "npx skills or gh skill" // which write the same file, so nobody can tell them apart
)

// An Origin is where a skill was installed from.
type Origin struct {
	From string `json:"from,omitempty"`         // repository as owner/repo, or a URL or path; holds no password
	By   string `json:"installed_by,omitempty"` // Own or Others; "" means that no lock names the skill
	Ref  string `json:"ref,omitempty"`          // branch or tag; "" means the default one
	Path string `json:"path,omitempty"`         // of its folder there; "" means unknown, or the top
}

// String returns the origin in a few words.
func (o Origin) String() string { return fmt.Sprintf("installed from %s by %s", o.From, o.By) }

// Origins are the origins of skills, by their folders.
type Origins struct {
	folders map[string]Origin // by path, links resolved
	others  map[string]string // folders of the skills in the lock of Others, by name
}

// Read reads the locks: of this program in the folder installed, and of others below the home of
// the user. home may be "". What could be read counts, whatever the error.
func Read(installed, home string) (*Origins, error) {
	o := &Origins{make(map[string]Origin), make(map[string]string)}
	var errs []error
	for _, file := range otherLocks(home) {
		errs = append(errs, o.readOther(file, filepath.Join(home, ".agents", "skills")))
	}
	return o, errors.Join(append(errs, o.readOwn(installed))...)
}

func (o *Origins) readOwn(dir string) error {
	l, err := install.ReadLock(dir)
	if err != nil {
		return err
	}
	for name, e := range l.Skills {
		path := e.Path
		if path == "." {
			path = ""
		}
		o.folders[regular.Real(install.FolderOf(dir, name))] = Origin{endpoint.Shown(e.Source), Own, e.Ref, path}
	}
	return nil
}

// otherLocks returns the files in which others may have their lock.
func otherLocks(home string) (files []string) {
	const name = ".skill-lock.json"
	if state := os.Getenv("XDG_STATE_HOME"); state != "" {
		files = append(files, filepath.Join(state, "skills", name))
	}
	if home != "" {
		files = append(files, filepath.Join(home, ".agents", name))
	}
	return files
}

const (
	otherVersion = 3
	maxOther     = 16 << 20 // bytes
)

// An UnknownError says that a lock of another program is not understood.
type UnknownError struct {
	File string
	Err  error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s: the lock of %s is left out: %v", e.File, Others, e.Err)
}

func (e *UnknownError) Unwrap() error { return e.Err }

// readOther reads a lock of others, whose skills are in a folder.
func (o *Origins) readOther(file, folder string) error {
	data, err := regular.ReadShort(file, maxOther)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var entries map[string]Origin
	if err == nil {
		entries, err = parseOther(data)
	}
	if err != nil {
		return &UnknownError{file, err}
	}
	for name, origin := range entries {
		dir := regular.Real(filepath.Join(folder, folderOf(name)))
		o.folders[dir], o.others[name] = origin, dir
	}
	return nil
}

// parseOther reads version 3 of the lock of others. Fields that it does not know are theirs.
func parseOther(data []byte) (map[string]Origin, error) {
	var lock struct {
		Version int `json:"version"`
		Skills  map[string]*struct {
			Source    string `json:"source"`
			SourceURL string `json:"sourceUrl"`
			SkillPath string `json:"skillPath"`
			Ref       string `json:"ref"`
			PinnedRef string `json:"pinnedRef"`
		} `json:"skills"`
	}
	switch err := client.ParseJSON(data, &lock); {
	case err != nil:
		return nil, errors.New("it is damaged")
	case lock.Version != otherVersion:
		return nil, fmt.Errorf("it has version %d, and this program reads version %d", lock.Version, otherVersion)
	}
	all := make(map[string]Origin)
	for name, e := range lock.Skills {
		if e == nil || folderOf(name) == "" || e.Source == "" && e.SourceURL == "" {
			continue
		}
		path := strings.Trim(strings.TrimSuffix(strings.ReplaceAll(e.SkillPath, `\`, "/"), "SKILL.md"), "/")
		all[name] = Origin{shown(cmp.Or(e.Source, e.SourceURL)), Others, shown(cmp.Or(e.PinnedRef, e.Ref)), shown(path)}
	}
	return all, nil
}

// shown returns a text of a lock for people: on one line, and without a password.
func shown(text string) string {
	const most = 300 // characters
	return tidy.Shorten(tidy.Line(endpoint.Shown(text)), most)
}

// folderOf returns the name of the folder in which others put a skill; "" if no skill can have
// this name. They write names in lower case, with a hyphen for what is no letter, digit, dot or
// underscore.
func folderOf(name string) string {
	if len(name) > 255 {
		return ""
	}
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			b.WriteRune(r)
		} else if text := b.String(); !strings.HasSuffix(text, "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), ".-")
}

// Of returns the origin of the skill with a folder or a file.
func (o *Origins) Of(path string) (Origin, bool) {
	if len(o.folders) == 0 || !filepath.IsAbs(path) {
		return Origin{}, false
	}
	for at := regular.Real(path); ; at = filepath.Dir(at) {
		if origin, ok := o.folders[at]; ok || at == filepath.Dir(at) {
			return origin, ok
		}
	}
}

// Named returns the origin of the skill that others have installed under a name.
func (o *Origins) Named(name string) (Origin, bool) {
	dir, ok := o.others[name]
	return o.folders[dir], ok
}

// Others returns the names of the skills that others have installed and that are still there,
// sorted.
func (o *Origins) Others() []string {
	there, _ := o.split()
	return there
}

// split returns the names of the skills that others have installed, and that are there or gone.
func (o *Origins) split() (there, gone []string) {
	for _, name := range slices.Sorted(maps.Keys(o.others)) {
		if info, err := os.Stat(o.others[name]); err == nil && info.IsDir() {
			there = append(there, name)
		} else {
			gone = append(gone, name)
		}
	}
	return there, gone
}

// Problems returns what is wrong with the locks of others: err, which Read has returned, and
// skills that are gone. A mistake in the own lock is for the installer, which needs it.
func (o *Origins) Problems(err error) (list []skill.Problem) {
	if unknown, ok := errors.AsType[*UnknownError](err); ok {
		list = append(list, skill.Problem{Rule: "other-lock", Severity: skill.Warning, Path: unknown.File, Message: unknown.Error(),
			Hint: "nothing else suffers; the program that wrote it can write it again"})
	}
	if _, gone := o.split(); len(gone) > 0 {
		list = append(list, skill.Problem{Rule: "other-gone", Severity: skill.Note, Path: filepath.Dir(o.others[gone[0]]),
			Message: fmt.Sprintf("the lock of %s names %s that %s not there: %s", Others, figures.Count(len(gone), "skill"), map[bool]string{true: "is", false: "are"}[len(gone) == 1], strings.Join(gone, ", ")),
			Hint:    "install them again with that program, or let it remove them"})
	}
	return list
}

package setup

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/regular"
)

// A record remembers what was written, so that it can be taken back.
type record struct {
	Files   map[string]*fileRecord `json:"files"`
	Folders []string               `json:"folders,omitempty"` // folders that we made
}

// A fileRecord is about one file, links resolved.
type fileRecord struct {
	Existed   bool       `json:"existed"`             // the file existed before the first change
	Exact     bool       `json:"exact"`               // nobody else has written to it between our changes
	Wrote     string     `json:"wrote"`               // digest of what we wrote last
	Made      [][]string `json:"made,omitempty"`      // containers that we made
	Overrides []string   `json:"overrides,omitempty"` // skills that we have a client list by name only
	Off       []string   `json:"off,omitempty"`       // skills that we have it not list
	Commands  []string   `json:"commands,omitempty"`  // what our entries run, see Registration.command
}

// The names of the backups of a file.
const (
	first   = "first" // as it was before we touched it
	current = "last"  // as it was before the last change
)

func digest(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func recordFile(state string) string { return filepath.Join(state, "setup.json") }

// BackupFile returns where the file is kept as it was before the last change.
func BackupFile(state, file string) string { return backupFile(state, file, current) }

func backupFile(state, file, which string) string {
	return filepath.Join(state, "backup", digest([]byte(file))[:12]+"-"+filepath.Base(file)+"."+which)
}

// readRecord reads the record. A damaged record is an error, because without it we could
// take entries of others for ours.
func readRecord(state string) (*record, error) {
	rec := new(record)
	data, err := os.ReadFile(recordFile(state))
	if err == nil {
		err = json.Unmarshal(data, rec)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the record of what was set up, %s: %w (delete it to begin anew)", recordFile(state), err)
	}
	if rec.Files == nil {
		rec.Files = make(map[string]*fileRecord)
	}
	return rec, nil
}

// made reports whether we made a container. Without a record nobody knows, and
// an empty one is no loss.
func (r *record) made(file string, at edit.Path) bool {
	f := r.Files[file]
	if f == nil {
		return true
	}
	return slices.ContainsFunc(f.Made, func(names []string) bool { return slices.Equal(names, at.Names()) })
}

// errChanged is the error for a file that somebody else has written to since
// it was read.
var errChanged = errors.New("it has changed meanwhile; nothing was written to it, run the command again")

// Apply writes the files of a plan. It keeps a backup of each file.
func (p *Plan) Apply(env *Env) error {
	if len(p.Edits)+len(p.forgotten) == 0 {
		return nil
	}
	lock := flock.New(filepath.Join(env.State, "setup.lock"))
	rec, err := lockRecord(env, lock)
	if err != nil {
		for _, ed := range p.Edits {
			p.refuse(ed, err)
		}
		return fmt.Errorf("nothing was written, as backups cannot be kept in %s: %w (set REPERTOIRE_STATE)", env.State, err)
	}
	defer lock.Unlock()
	var errs []error
	for _, ed := range p.Edits {
		if err := ed.write(env, rec); err != nil {
			errs = append(errs, fmt.Errorf("writing %s: %w", ed.Shown, err))
			p.refuse(ed, err)
		}
	}
	for _, l := range p.forgotten {
		rec.forget(env, l)
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err == nil {
		err = atomicfile.Replace(recordFile(env.State), append(data, '\n'), 0o600, nil)
	}
	return errors.Join(append(errs, err)...)
}

// lockRecord makes the folder of backups, takes a lock, and returns the record.
func lockRecord(env *Env, lock *flock.Flock) (*record, error) {
	if err := os.MkdirAll(filepath.Join(env.State, "backup"), 0o700); err != nil {
		return nil, err
	}
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	rec, err := readRecord(env.State)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return rec, nil
}

// refuse marks the changes of a file that could not be written.
func (p *Plan) refuse(ed *Edit, err error) {
	for i, c := range p.Changes {
		if c.File != "" && (c.File == ed.Shown || regular.Real(c.File) == ed.File) && c.Action != Unchanged && c.Action != Absent {
			p.Changes[i].Action, p.Changes[i].Message = Refused, err.Error()
		}
	}
}

// unchanged returns an error if the file has changed since it was read, or has become
// a link that is not followed.
func (ed *Edit) unchanged() error {
	if err := ed.checkLinks(); err != nil {
		return err
	}
	data, err := readConfig(ed.File)
	if err != nil {
		return err
	}
	if ed.Existed && data == nil || string(data) != string(ed.Before) {
		return errChanged
	}
	return nil
}

// write writes one file and what the record says of it.
func (ed *Edit) write(env *Env, rec *record) error {
	if err := ed.unchanged(); err != nil {
		return err
	}
	r := rec.Files[ed.File]
	if r == nil || ed.pristine {
		r = &fileRecord{Existed: ed.Existed, Exact: true, Wrote: digest(ed.Before)}
		if err := atomicfile.Replace(backupFile(env.State, ed.File, first), ed.Before, 0o600, nil); err != nil {
			return err
		}
	}
	if err := atomicfile.Replace(backupFile(env.State, ed.File, current), ed.Before, 0o600, nil); err != nil {
		return err
	}
	if r.Wrote != digest(ed.Before) {
		r.Exact = false
	}
	if ed.Delete {
		if err := os.Remove(ed.File); err != nil {
			return err
		}
		delete(rec.Files, ed.File)
		rec.removeFolders()
		return nil
	}
	folders, err := makeFolder(filepath.Dir(ed.File))
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(ed.File, ed.After, ed.mode, ed.unchanged); err != nil {
		return err
	}
	r.Wrote = digest(ed.After)
	rec.Folders = append(rec.Folders, folders...)
	for _, at := range ed.made {
		r.Made = append(r.Made, at.Names())
	}
	ed.noteListed(r)
	r.Commands = env.present(ed, append(r.Commands, ed.commands...))
	rec.Files[ed.File] = r
	if !env.anyOurs(ed, rec) {
		delete(rec.Files, ed.File)
	}
	return nil
}

// removeFolders removes the folders that we made, if nothing is in them.
func (r *record) removeFolders() {
	slices.Sort(r.Folders)
	slices.Reverse(r.Folders) // what is in a folder before the folder
	r.Folders = slices.DeleteFunc(r.Folders, func(dir string) bool {
		err := os.Remove(dir)
		return err == nil || errors.Is(err, fs.ErrNotExist)
	})
}

// makeFolder makes a folder that only its owner can read, and its parents. It returns the
// folders that it made.
func makeFolder(dir string) ([]string, error) {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	return missing, os.MkdirAll(dir, 0o700)
}

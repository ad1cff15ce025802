package install

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/install/git"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
)

// LockFile is the name of the lock in the folder of installed skills.
const LockFile = "skills.lock"

const (
	lockVersion = 1
	maxLock     = 64 << 20 // bytes; 500 skills take half a MiB
)

// A Lock says what is installed and where it came from.
type Lock struct {
	Version int               `json:"version"`
	Skills  map[string]*Entry `json:"skills"` // by key: the name, which is the name of the folder too, see Key
}

// An Entry is one installed skill.
type Entry struct {
	Source    string          `json:"source"`              // what ParseSource reads; paths are absolute
	Kind      Kind            `json:"kind"`                // of the source
	Ref       string          `json:"ref,omitempty"`       // branch, tag or commit that was asked for; "" means the default branch
	Commit    string          `json:"commit,omitempty"`    // of a repository
	Tree      string          `json:"tree,omitempty"`      // object of the folder in that commit
	Path      string          `json:"path"`                // folder in the source, "." for the top
	Name      string          `json:"name,omitempty"`      // name in the source, if the skill was given another one
	Digest    string          `json:"digest"`              // see skill.Meta
	Accepted  string          `json:"accepted,omitempty"`  // digest with the edits that the user has accepted, see Accept; "" means none
	Installed time.Time       `json:"installed"`           // when this version was installed
	Signature *Signature      `json:"signature,omitempty"` // nil means that none was asked for
	Files     map[string]File `json:"files"`               // by slash-separated path
}

// A Signature says who signed what was installed.
type Signature struct {
	Kind string `json:"kind"` // "ssh", "gpg" or "minisign"
	Key  string `json:"key"`  // the key of the configuration that the signature is by
}

// A File is one file as it was installed. Its text is the SHA-256, and "executable" after
// a space if it is executable, so that each file is one line of the lock.
type File struct {
	SHA256     string // hexadecimal
	Executable bool
}

// MarshalText implements encoding.TextMarshaler.
func (f File) MarshalText() ([]byte, error) {
	if f.Executable {
		return []byte(f.SHA256 + " executable"), nil
	}
	return []byte(f.SHA256), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *File) UnmarshalText(text []byte) error {
	sum, rest, found := strings.Cut(string(text), " ")
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 32 || found && rest != "executable" {
		return fmt.Errorf("%q is no SHA-256", text)
	}
	*f = File{sum, found}
	return nil
}

// ReadLock reads the lock of a folder of installed skills. A lock that does not exist is
// empty.
func ReadLock(dir string) (*Lock, error) {
	name := filepath.Join(dir, LockFile)
	data, err := regular.ReadShort(name, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{Version: lockVersion, Skills: make(map[string]*Entry)}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the lock of %s: %w", dir, err)
	}
	l, err := parseLock(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

func parseLock(data []byte) (*Lock, error) {
	const damaged = "the lock is damaged: %w; restore it from a backup or from version control (nothing was changed)"
	var v struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf(damaged, err)
	}
	if v.Version > lockVersion {
		return nil, fmt.Errorf("the lock has version %d, and this program knows version %d only; use a newer program (nothing was changed)", v.Version, lockVersion)
	}
	l := new(Lock)
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields() // or writing the lock would lose them
	if err := d.Decode(l); err != nil {
		return nil, fmt.Errorf(damaged, err)
	}
	if v.Version != lockVersion || l.Skills == nil {
		return nil, fmt.Errorf(damaged, errors.New("version or skills is missing"))
	}
	for name, e := range l.Skills {
		if e != nil { // an older version knew fewer names that are never part of a skill
			maps.DeleteFunc(e.Files, isExcluded)
		}
		if err := e.check(name); err != nil {
			return nil, fmt.Errorf(damaged, err)
		}
	}
	return l, nil
}

// check refuses what this package would not have written: names become paths.
func (e *Entry) check(name string) error {
	switch {
	case e == nil:
		return fmt.Errorf("skill %q is null", name)
	case checkKey(name) != nil:
		return checkKey(name)
	case !strings.HasPrefix(e.Digest, "sha256:"):
		return fmt.Errorf("skill %q has no digest", name)
	case !filepath.IsLocal(filepath.FromSlash(e.Path)):
		return fmt.Errorf("skill %q has a path %q", name, e.Path)
	case len(e.Files) == 0:
		return fmt.Errorf("skill %q has no files", name)
	}
	for file := range e.Files {
		if clean, err := skill.CleanPath(file); err != nil || clean != file {
			return fmt.Errorf("skill %q has a file %q", name, file)
		}
	}
	if s, err := ParseSource(e.Source); err != nil || s.Kind != e.Kind {
		return fmt.Errorf("skill %q has a source %q", name, e.Source)
	}
	return git.CheckRef(e.Ref)
}

// checkName refuses a name that not every system and client accepts for a folder.
func checkName(name string) error {
	if !skill.IsPortableName(name) {
		return fmt.Errorf("%q cannot be the name of an installed skill: names are made of a-z, 0-9 and single hyphens, at most %d characters", name, skill.MaxName)
	}
	return nil
}

// write replaces the lock of a folder.
func (l *Lock) write(dir string) error {
	data, err := l.encode()
	if err == nil {
		err = atomicfile.Replace(filepath.Join(dir, LockFile), data, 0o600, nil)
	}
	if err != nil {
		return fmt.Errorf("writing the lock: %w", err)
	}
	return nil
}

func (l *Lock) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(l)
	return b.Bytes(), err
}

// An Accepts reports whether the skill with a key was installed and has the digest that it had then,
// or one that the user has accepted.
type Accepts func(key, digest string) bool

// Locked returns what the lock in a folder accepts. It looks at the files of a skill only if the
// digest is another one, because hooks call it.
func Locked(dir string) (Accepts, error) {
	name := filepath.Join(dir, LockFile)
	data, err := regular.ReadShort(name, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return func(string, string) bool { return false }, nil
	}
	var l struct {
		Version int `json:"version"`
		Skills  map[string]struct {
			Digest   string          `json:"digest"`
			Accepted string          `json:"accepted"`
			Files    json.RawMessage `json:"files"`
		} `json:"skills"`
	}
	if err == nil && (json.Unmarshal(data, &l) != nil || l.Version != lockVersion || l.Skills == nil) {
		_, err = parseLock(data) // it knows what to say
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return func(key, digest string) bool {
		e, ok := l.Skills[key]
		return ok && (digest == e.Digest || digest == e.Accepted || digest == digestOfOlder(FolderOf(dir, key), e.Files)) && digest != ""
	}, nil
}

// digestOfOlder returns the digest of a skill that an older version of this program installed, see
// skill.DigestWithoutExcluded. text are the files in the lock.
func digestOfOlder(folder string, text []byte) string {
	var files map[string]File
	if json.Unmarshal(text, &files) != nil {
		return ""
	}
	sums := make(map[string]string, len(files))
	for name, f := range files {
		sums[name] = f.SHA256
	}
	return skill.DigestWithoutExcluded(folder, sums)
}

func isExcluded(name string, _ File) bool { return skill.IsExcluded(name) }

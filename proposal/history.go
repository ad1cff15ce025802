package proposal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// Bounds on the history of a skill. The newest two versions are kept whatever their size.
const (
	maxVersions     = 50
	maxVersionBytes = 10 << 20
)

const (
	logFile     = "log.yaml"
	versionsDir = "versions"
)

// A Version is one entry in the history of a skill.
type Version struct {
	Number   int       `yaml:"version" json:"version"` // from 1
	Time     time.Time `yaml:"time" json:"time"`
	Who      string    `yaml:"who,omitempty" json:"who,omitempty"` // "" means that nobody knows
	Why      string    `yaml:"why" json:"why"`
	Digest   string    `yaml:"digest" json:"digest"`
	Proposal string    `yaml:"proposal,omitempty" json:"proposal,omitempty"`
}

// A Log is the history of a skill, the oldest version first.
type Log struct {
	Skill    string    `yaml:"skill" json:"skill"`
	Folder   string    `yaml:"folder" json:"folder"` // of the skill, links resolved
	Versions []Version `yaml:"versions" json:"versions"`
}

// A past is the folder with the history of one skill.
type past struct {
	dir string
	log Log
}

// folderOf returns the folder of a skill on disk with links resolved.
func folderOf(e *search.Entry) (string, error) {
	if !filepath.IsAbs(e.Location) {
		return "", refuse("%w: %s is not in a folder on disk", ErrLocked, e.ID)
	}
	return filepath.EvalSymlinks(filepath.Dir(e.Location))
}

// past opens the history of a skill, which may be empty. Another skill of that name, in
// another folder, has a history of its own.
func (b *Box) past(name, folder string) (*past, error) {
	sum := sha256.Sum256([]byte(folder))
	key := name + "@" + hex.EncodeToString(sum[:4])
	if !skill.IsPortableName(name) {
		key = "skill@" + hex.EncodeToString(sum[:4])
	}
	p := &past{dir: filepath.Join(b.history, key)}
	if err := p.load(); err != nil {
		return nil, err
	}
	p.log.Skill, p.log.Folder = name, folder
	return p, nil
}

func (p *past) load() error {
	data, err := os.ReadFile(filepath.Join(p.dir, logFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = yaml.Unmarshal(data, &p.log)
	}
	if err != nil {
		return fmt.Errorf("reading the history in %s: %w", p.dir, err)
	}
	return nil
}

// last returns the digest of the newest version; "" means that there is none.
func (p *past) last() string {
	if n := len(p.log.Versions); n > 0 {
		return p.log.Versions[n-1].Digest
	}
	return ""
}

// kept returns the folder with the files of a version.
func (p *past) kept(digest string) string {
	sum := strings.TrimPrefix(digest, "sha256:")
	return filepath.Join(p.dir, versionsDir, sum[:min(16, len(sum))])
}

// add adds a version, unless it is what the newest one is.
func (p *past) add(v Version, files Files) error {
	if v.Digest == p.last() {
		return nil
	}
	to := p.kept(v.Digest)
	if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
		young := to + ".tmp"
		err := os.RemoveAll(young)
		if err == nil {
			err = writeFiles(young, files, private)
		}
		if err == nil {
			err = os.Rename(young, to)
		}
		if err != nil {
			return fmt.Errorf("keeping a version: %w", err)
		}
	}
	v.Number = 1
	if n := len(p.log.Versions); n > 0 {
		v.Number = p.log.Versions[n-1].Number + 1
	}
	p.log.Versions = append(p.log.Versions, v)
	return p.prune()
}

// prune writes the log without the oldest versions that are beyond the bounds, and removes
// their files.
func (p *past) prune() error {
	sizes, total := make(map[string]int64), int64(0)
	keep := 0
	for i, v := range slices.Backward(p.log.Versions) {
		if _, ok := sizes[v.Digest]; !ok {
			sizes[v.Digest], _ = regular.Size(p.kept(v.Digest)) // as far as it can be read
			total += sizes[v.Digest]
		}
		if n := len(p.log.Versions) - i; n > 2 && (n > maxVersions || total > maxVersionBytes) {
			break
		}
		keep++
	}
	p.log.Versions = slices.Clone(p.log.Versions[len(p.log.Versions)-keep:])
	if err := writeYAML(filepath.Join(p.dir, logFile), &p.log); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(p.dir, versionsDir))
	for _, e := range entries {
		name := filepath.Join(p.dir, versionsDir, e.Name())
		if !slices.ContainsFunc(p.log.Versions, func(v Version) bool { return p.kept(v.Digest) == name }) {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	return err
}

// find returns a version by its number, or by the start of its digest.
func (p *past) find(version string) (Version, error) {
	n, numbered := strconv.Atoi(version)
	var found []Version
	for _, v := range p.log.Versions {
		if numbered == nil && v.Number == n {
			return v, nil
		}
		if sum := strings.TrimPrefix(v.Digest, "sha256:"); len(version) >= 4 && strings.HasPrefix(sum, strings.TrimPrefix(version, "sha256:")) &&
			(len(found) == 0 || found[0].Digest != v.Digest) {
			found = append(found, v)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return Version{}, refuse("no version %q of %s; \"skills proposals history %s\" lists them", version, p.log.Skill, p.log.Skill)
}

// History returns the versions of a skill that are kept.
func (b *Box) History(ctx context.Context, a *search.Agent, id string) (Log, error) {
	p, _, err := b.pastOf(ctx, a, id)
	if err != nil {
		return Log{}, err
	}
	return p.log, nil
}

// Change returns what a version of a skill changed, as a unified diff: against the kept version
// before it, or against no files if there is none.
func (b *Box) Change(ctx context.Context, a *search.Agent, id, version string) (v Version, diff string, err error) {
	p, _, err := b.pastOf(ctx, a, id)
	if err != nil {
		return v, "", err
	}
	if v, err = p.find(version); err != nil {
		return v, "", err
	}
	var before Files
	at := slices.IndexFunc(p.log.Versions, func(other Version) bool { return other.Number == v.Number })
	if at > 0 {
		if before, err = readKept(p.kept(p.log.Versions[at-1].Digest)); err != nil {
			return v, "", err
		}
	}
	after, err := readKept(p.kept(v.Digest))
	if err != nil {
		return v, "", err
	}
	return v, unified("", before, after), nil
}

func (b *Box) pastOf(ctx context.Context, a *search.Agent, id string) (*past, search.Entry, error) {
	e, err := b.catalog.Lookup(ctx, id, a)
	if err != nil {
		return nil, e, err
	}
	folder, err := folderOf(&e)
	if err != nil {
		return nil, e, err
	}
	p, err := b.past(e.Name, folder)
	return p, e, err
}

// Record keeps a skill as it is now as a version, which begins its history if it has none.
func (b *Box) Record(ctx context.Context, who Who, id string) (log Log, err error) {
	err = b.hold(ctx, func(ctx context.Context) error {
		p, _, err := b.pastOf(ctx, who.Agent, id)
		if err != nil {
			return err
		}
		files, digest, err := ReadFolder(ctx, p.log.Folder)
		if err != nil {
			return err
		}
		err = p.add(Version{Time: b.now(), Who: who.Name, Why: "recorded by hand", Digest: digest}, files)
		log = p.log
		return err
	})
	return log, err
}

// Rescan keeps what has become of the skills that have a history, and returns their names.
// Call it after a rescan that found changes. What cannot be read is the error, after the
// others.
func (b *Box) Rescan(ctx context.Context) (edited []string, err error) {
	entries, err := os.ReadDir(b.history)
	if err != nil || len(entries) == 0 {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	err = b.hold(ctx, func(ctx context.Context) error {
		var errs []error
		for _, e := range entries {
			name, err := b.rescan(ctx, filepath.Join(b.history, e.Name()))
			if errs = append(errs, err); name != "" {
				edited = append(edited, name)
			}
		}
		return errors.Join(errs...)
	})
	return edited, err
}

// rescan keeps a new version of one skill if it was edited.
func (b *Box) rescan(ctx context.Context, dir string) (name string, err error) {
	p := &past{dir: dir}
	if err := p.load(); err != nil || p.log.Folder == "" {
		return "", err
	}
	now, err := digestOf(ctx, p.log.Folder)
	if err != nil || now == "" || now == p.last() { // a skill that is gone keeps its history
		return "", err
	}
	files, digest, err := ReadFolder(ctx, p.log.Folder)
	if err != nil {
		return "", fmt.Errorf("reading skill %s: %w", p.log.Skill, err)
	}
	return p.log.Skill, p.add(Version{Time: b.now(), Why: "edited", Digest: digest}, files)
}

// Revert makes a skill what a version of it was. That is a new version.
func (b *Box) Revert(ctx context.Context, who Who, id, version string) (log Log, err error) {
	err = b.hold(ctx, func(ctx context.Context) error {
		p, e, err := b.pastOf(ctx, who.Agent, id)
		if err != nil {
			return err
		}
		if err := b.mayChange(&e, p.log.Folder); err != nil {
			return err
		}
		v, err := p.find(version)
		if err != nil {
			return err
		}
		before, digest, err := ReadFolder(ctx, p.log.Folder)
		if err != nil {
			return err
		}
		after, err := readKept(p.kept(v.Digest))
		if err != nil {
			return err
		}
		for name, f := range after {
			if f.Mode = shared(f); before[name].Mode != 0 {
				f.Mode = before[name].Mode
			}
			after[name] = f
		}
		if len(changed(before, after)) == 0 {
			return refuse("%s is already as it was in version %d", e.ID, v.Number)
		}
		act := action{Skill: e.Name, Who: who.Name, Why: fmt.Sprintf("reverted to version %d", v.Number)}
		act.Folder, act.Was = p.log.Folder, digest
		if err := b.change(ctx, &act, before, after); err != nil {
			return err
		}
		p, err = b.past(e.Name, p.log.Folder)
		if err == nil {
			log = p.log
		}
		return err
	})
	return log, err
}

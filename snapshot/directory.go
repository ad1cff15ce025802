package snapshot

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A Directory is the folder with a catalog's snapshot files and the manifest, which says
// which of them are current. All names begin with the catalog's name:
//
//	catalog.db.current                              the manifest
//	catalog.db.CATALOG-KEY-NUMBER-TOKEN.base        all skills of a generation
//	catalog.db.CATALOG-KEY-NUMBER-TOKEN.delta       the changes since a base
//	catalog.db.CATALOG-KEY.calibration              see Calibration
//	catalog.db.CATALOG-KEY.prompts                  vectors for it that a server made
//
// The manifest exists only as long as the catalog is unchanged: whoever changes the
// catalog removes the manifest before readers can see the change. That is no proof: a copy
// of the catalog may have been put back since. Several goroutines may use a Directory, and
// several processes its files.
type Directory struct {
	// Disk is where the directory writes and removes files; NewDirectory sets it to
	// atomicfile.OS.
	Disk atomicfile.Disk

	path        string // path of the catalog
	key         string
	weights     skill.Weights
	unremovable sync.Map // path → fs.FileInfo of damaged files that could not be removed
}

// NewDirectory returns the directory of the catalog at path. The key distinguishes the
// snapshots that belong to one choice of embedders and weights from all others.
func NewDirectory(path, key string, w skill.Weights) *Directory {
	return &Directory{Disk: atomicfile.OS{}, path: path, key: key, weights: w}
}

const (
	manifestSuffix = ".current"
	baseSuffix     = ".base"
	deltaSuffix    = ".delta"

	calibrationSuffix = ".calibration"
	promptSuffix      = ".prompts"
)

// ManifestPath returns the path of the manifest of the catalog at path.
func ManifestPath(path string) string { return path + manifestSuffix }

// Withdraw removes the manifest. Call it before readers can see a change of the catalog.
func (d *Directory) Withdraw() error {
	if err := regular.Check(ManifestPath(d.path)); err != nil {
		return err
	}
	err := d.Disk.Remove(ManifestPath(d.path))
	if err == nil {
		return nil
	}
	if _, there := os.Lstat(ManifestPath(d.path)); errors.Is(there, fs.ErrNotExist) {
		return nil // a read-only disk says so of a missing file too
	}
	return fmt.Errorf("withdrawing the published snapshots of the catalog: %w", err)
}

// manifest is the content of the manifest file.
type manifest struct {
	Generation store.Generation `json:"generation"`
	Files      map[string]Files `json:"files"` // by key
}

// Files are the base names of the snapshot files of one generation. A Base of "" means
// that there are no files.
type Files struct {
	Base  string `json:"base"`
	Delta string `json:"delta,omitempty"`
}

// stateOf returns the current state of a file, by which sameFile recognises it; nil means
// that there is no such file.
func stateOf(name string) fs.FileInfo {
	info, err := os.Stat(name)
	if err != nil {
		return nil
	}
	return info
}

// sameFile reports whether both states are the same version of the same file.
func sameFile(a, b fs.FileInfo) bool {
	return a != nil && b != nil && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// IsCurrent reports whether the manifest still is the one that named the snapshots of s.
// It looks at one file only. It returns false if s was not opened from files.
func (d *Directory) IsCurrent(s *Set) bool { return sameFile(s.files, stateOf(ManifestPath(d.path))) }

// manifest reads the manifest; nil means there is none. It fails only if something other
// than a regular file is in its place.
func (d *Directory) manifest() (m *manifest, err error) {
	data, err := regular.ReadFile(ManifestPath(d.path))
	if err != nil {
		return nil, ifSpecial(err)
	}
	if json.Unmarshal(data, &m) != nil {
		return nil, nil // Publish will replace it
	}
	return m, nil
}

// ifSpecial returns err if something other than a regular file is in the place of a file.
// Any other error means that the file must be made again.
func ifSpecial(err error) error {
	if errors.Is(err, regular.ErrSpecial) {
		return err
	}
	return nil
}

// Open returns the published set, which may share snapshots with the old set. It returns
// nil if nothing is published, or if the published files cannot be used. The caller must
// check that the catalog is at the generation of the set.
func (d *Directory) Open(old *Set) (*Set, error) {
	now := stateOf(ManifestPath(d.path))
	m, err := d.manifest()
	if m == nil || m.Files[d.key].Base == "" {
		return nil, err
	}
	// If the manifest was replaced between these two reads, the next IsCurrent returns
	// false.
	var snaps []*Snapshot
	for _, path := range d.paths(m.Files[d.key]) {
		snap, err := d.OpenFile(path, old)
		if snap == nil {
			CloseNew(old, snaps...) // an error would only mean that memory is not freed
			return nil, err
		}
		snaps = append(snaps, snap)
	}
	s, err := NewSet(snaps...)
	if err == nil && s.Generation == m.Generation && s.fits() {
		s.files, s.Compiled = now, true
		return s, nil
	}
	CloseNew(old, snaps...)
	if errors.Is(err, ErrDamaged) {
		d.remove(snaps...)
		err = nil
	}
	return nil, err
}

// paths returns the paths of files, always in the catalog's folder.
func (d *Directory) paths(f Files) []string {
	var list []string
	for _, name := range []string{f.Base, f.Delta} {
		if name != "" {
			list = append(list, filepath.Join(filepath.Dir(d.path), filepath.Base(name)))
		}
	}
	return list
}

// OpenFile opens a snapshot file of the catalog, or returns the old set's snapshot if it
// has this file open. It returns nil if the file is not a complete snapshot of what its
// name says. It fails only if something other than a regular file is at the path.
func (d *Directory) OpenFile(path string, old *Set) (*Snapshot, error) {
	if old != nil {
		for i := range old.segments {
			if s := old.segments[i].Snapshot; s.Path() == path {
				return s, nil
			}
		}
	}
	f, ok := d.parse(filepath.Base(path))
	if bad, known := d.unremovable.Load(path); !ok || known && sameFile(bad.(fs.FileInfo), stateOf(path)) {
		return nil, nil
	}
	s, err := Open(path)
	if err == nil && !d.isOf(s, f) {
		err = errors.Join(ErrDamaged, s.Close())
	}
	if errors.Is(err, ErrDamaged) {
		d.removeFile(path)
	}
	if err != nil {
		return nil, ifSpecial(err)
	}
	return s, nil
}

// isOf reports whether a snapshot holds what the name of its file says.
func (d *Directory) isOf(s *Snapshot, f snapshotFile) bool {
	m := s.Meta()
	var info Info
	return json.Unmarshal(m.Extra, &info) == nil && info.Catalog == f.catalog && f.key == d.key &&
		m.Generation == f.generation && m.Weights == d.weights
}

// Discard removes the files of a set that has turned out to be damaged.
func (d *Directory) Discard(s *Set) { d.remove(s.snapshots()...) }

func (d *Directory) remove(snaps ...*Snapshot) {
	for _, s := range snaps {
		if s.Path() != "" {
			d.removeFile(s.Path())
		}
	}
}

// removeFile removes a damaged file. If that fails, because the folder is not writable or
// another process maps the file, the file is not opened again until it is replaced.
func (d *Directory) removeFile(name string) {
	if now := stateOf(name); now != nil && d.Disk.Remove(name) != nil {
		d.unremovable.Store(name, now)
	}
}

// BasePath returns the path of the base of a generation.
func (d *Directory) BasePath(catalog string, g store.Generation) string {
	return d.name(catalog, g, baseSuffix)
}

// DeltaPath returns the path of the delta of a generation.
func (d *Directory) DeltaPath(catalog string, g store.Generation) string {
	return d.name(catalog, g, deltaSuffix)
}

func (d *Directory) name(catalog string, g store.Generation, suffix string) string {
	return fmt.Sprintf("%s.%s-%s-%d-%x%s", d.path, plain(catalog), d.key, g.Number, uint64(g.Token), suffix)
}

// plain returns the name of a catalog as a part of the names of files. An engine on another
// machine may say any name, such as one that leads to another folder. Such a name is replaced
// by a word that no catalog is called, so that no catalog's files are touched.
func plain(catalog string) string {
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }
	if catalog == "" || len(catalog) > 64 || strings.ContainsFunc(catalog, odd) {
		return "_"
	}
	return catalog
}

// Bases returns the paths of the catalog's bases with this key, the newest first.
func (d *Directory) Bases(catalog string) []string {
	list := d.listFiles()
	slices.SortFunc(list, func(a, b snapshotFile) int { return cmp.Compare(b.generation.Number, a.generation.Number) })
	var paths []string
	for _, f := range list {
		if f.catalog == catalog && f.key == d.key && f.suffix == baseSuffix {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// Oldest returns the oldest generation whose changes a delta may still need. For each key
// that is the generation of the newest base; own is the newest of this directory's key.
func (d *Directory) Oldest(catalog string, own store.Generation) store.Generation {
	newest := map[string]store.Generation{d.key: own}
	for _, f := range d.listFiles() {
		if f.catalog == catalog && f.suffix == baseSuffix && f.generation.Number > newest[f.key].Number {
			newest[f.key] = f.generation
		}
	}
	for _, g := range newest {
		if g.Number < own.Number {
			own = g
		}
	}
	return own
}

// snapshotFile is a snapshot file next to the catalog, or one that belongs to snapshots.
type snapshotFile struct {
	path, catalog, key, suffix string
	generation                 store.Generation // zero for a calibration and its prompts
	modified                   time.Time
}

// listFiles returns the snapshot files next to the catalog, and the temporary files that a
// killed process has left.
func (d *Directory) listFiles() []snapshotFile {
	entries, err := os.ReadDir(filepath.Dir(d.path))
	if err != nil {
		return nil
	}
	var list []snapshotFile
	for _, e := range entries {
		f, ok := d.parse(e.Name())
		if !ok {
			continue
		}
		if info, err := e.Info(); err == nil {
			f.modified = info.ModTime()
			list = append(list, f)
		}
	}
	return list
}

// parse parses the name of a file next to the catalog; ok is false if it is neither a
// snapshot nor a temporary file.
func (d *Directory) parse(name string) (f snapshotFile, ok bool) {
	dir, base := filepath.Split(d.path)
	rest, ok := strings.CutPrefix(name, base+".")
	if !ok {
		return f, false
	}
	f = snapshotFile{path: filepath.Join(dir, name), suffix: filepath.Ext(rest)}
	if f.suffix == atomicfile.Suffix {
		return f, true
	}
	fields := strings.Split(strings.TrimSuffix(rest, f.suffix), "-")
	// A dot here belongs to the name of another catalog, so the file is that catalog's.
	if strings.Contains(fields[0], ".") {
		return f, false
	}
	switch f.suffix {
	case baseSuffix, deltaSuffix:
	case calibrationSuffix, promptSuffix:
		if len(fields) == 2 {
			f.catalog, f.key = fields[0], fields[1]
		}
		return f, len(fields) == 2
	default:
		return f, false
	}
	if len(fields) == 3 {
		_, err := strconv.ParseInt(fields[2], 10, 64)
		return f, err == nil // a file of an older version: nobody opens it, and Sweep removes it
	}
	if len(fields) != 4 {
		return f, false
	}
	f.catalog, f.key = fields[0], fields[1]
	number, err := strconv.ParseInt(fields[2], 10, 64)
	token, tokenErr := strconv.ParseUint(fields[3], 16, 64)
	f.generation = store.Generation{Number: number, Token: int64(token)}
	return f, err == nil && tokenErr == nil
}

// Published returns the files that the manifest names for a generation; ok is false if
// there are none, or if they cannot be used.
func (d *Directory) Published(g store.Generation) (f Files, ok bool) {
	if m, _ := d.manifest(); m != nil && m.Generation == g { // Publish returns the error
		f = m.Files[d.key]
	}
	return f, f.Base != "" && d.Usable(f)
}

// Usable reports whether files exist and can be opened.
func (d *Directory) Usable(f Files) bool {
	for _, path := range d.paths(f) {
		s, err := d.OpenFile(path, nil)
		if s == nil || err != nil {
			return false
		}
		s.Close() // an error would only mean that memory is not freed
	}
	return true
}

// Publish writes the manifest: f are the current files of generation g for this key. It
// keeps the files of other keys. The caller must prevent changes of the catalog meanwhile.
func (d *Directory) Publish(g store.Generation, f Files) error {
	m, err := d.manifest()
	if err != nil {
		return err
	}
	if m == nil || m.Generation != g || m.Files == nil {
		m = &manifest{g, make(map[string]Files)}
	}
	m.Files[d.key] = f
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.Write(d.Disk, ManifestPath(d.path), data)
}

// abandoned is the age at which a file that this directory does not own is removed: a file
// with another key, or a temporary file. A file that was written that long in the future is
// removed too: the clock was wrong then, or is wrong now.
const abandoned = 24 * time.Hour

// Sweep removes the files that nothing needs any more; now is the current time. A process
// that maps a removed file can still read it. Where a mapping prevents removal, a later
// sweep removes the file.
func (d *Directory) Sweep(catalog string, keep Files, now time.Time) {
	for _, f := range d.listFiles() {
		base := filepath.Base(f.path)
		own := f.suffix != atomicfile.Suffix && (f.catalog != catalog || f.key == d.key)
		if single := f.suffix == calibrationSuffix || f.suffix == promptSuffix; single && f.catalog == catalog && f.key == d.key {
			continue // it holds for later snapshots too
		}
		if base != keep.Base && base != keep.Delta && (own || now.Sub(f.modified).Abs() > abandoned) {
			d.Disk.Remove(f.path)
		}
	}
}

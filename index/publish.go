package index

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// Names of the files beside a catalog: its own name, then the catalog's ID and
// the embedders of the index, the generation, and one of these.
const (
	baseSuffix  = ".base"  // all skills
	deltaSuffix = ".delta" // what has changed since
)

// manifest is the content of the file that store.Published names.
type manifest struct {
	Generation int64            `json:"generation"`
	Files      map[string]files `json:"files"` // by embedders, see newKey
}

// files are the base names of the snapshots of one generation.
type files struct {
	Base  string `json:"base"`
	Delta string `json:"delta,omitempty"`
}

// newKey tells the files of indexes with other embedders apart.
func (x *Index) newKey() string {
	h := sha256.New()
	if x.embedder != nil {
		fmt.Fprintf(h, "%q", x.embedder.Model())
		if x.opts.Fallback != nil {
			fmt.Fprintf(h, "%q", x.opts.Fallback.Model())
		}
	}
	fmt.Fprintf(h, "%v", *x.opts.Weights)
	return fmt.Sprintf("%x", h.Sum(nil)[:4])
}

// name returns the name of a file beside the catalog.
func (x *Index) name(catalog string, generation int64, suffix string) string {
	return fmt.Sprintf("%s.%s-%s-%d%s", x.db.Path(), catalog, x.key, generation, suffix)
}

// paths returns where the files are, whatever folder their names claim.
func (x *Index) paths(f files) []string {
	var list []string
	for _, name := range []string{f.Base, f.Delta} {
		if name != "" {
			list = append(list, filepath.Join(filepath.Dir(x.db.Path()), filepath.Base(name)))
		}
	}
	return list
}

// manifest reads what is published, nil when nothing of this generation is.
func (x *Index) manifest() *manifest {
	data, err := os.ReadFile(store.Published(x.db.Path()))
	if err != nil {
		return nil
	}
	m := new(manifest)
	if json.Unmarshal(data, m) != nil {
		return nil // it is written anew
	}
	return m
}

// openPublished returns the view of the published files, which may share a segment
// with an older view. It is nil when nothing is published, or what is cannot be
// used.
func (x *Index) openPublished(old *view) (*view, error) {
	now := stamp(store.Published(x.db.Path()))
	m := x.manifest()
	if m == nil || m.Files[x.key].Base == "" {
		return nil, nil
	}
	// The file may have been replaced between these two; then the next look
	// finds another one.
	f := m.Files[x.key]
	var snaps []*snapshot.Snapshot
	for _, path := range x.paths(f) {
		s := x.open(path, old)
		if s == nil {
			closeNew(snaps, old)
			return nil, nil
		}
		snaps = append(snaps, s)
	}
	v, err := newView(snaps...)
	if err == nil && v.Generation == m.Generation && v.fits() && x.understand(v) {
		v.files, v.bodies = now, true
		if x.embedder != nil && x.covered.Load() == nil {
			x.covered.Store(&coverage{v.Generation, v.Texts, v.Embedded})
		}
		return v, nil
	}
	closeNew(snaps, old)
	if errors.Is(err, snapshot.ErrDamaged) {
		x.spoil(snaps)
		err = nil
	}
	return nil, err
}

// fits reports whether the second segment of a view was made for the first.
func (v *view) fits() bool {
	if len(v.segments) < 2 {
		return v.Base == 0
	}
	base, delta := v.segments[0].Meta(), v.segments[1].Meta()
	return v.Base == base.Generation && delta.Model == base.Model && delta.Dim == base.Dim
}

// understand finds the embedder of the vectors of a view.
func (x *Index) understand(v *view) bool {
	model := v.segments[0].Meta().Model
	switch {
	case model == "":
		return true
	case x.embedder != nil && x.embedder.Model() == model:
		v.embedder = x.embedder
	case x.opts.Fallback != nil && x.opts.Fallback.Model() == model:
		v.embedder = x.opts.Fallback
	}
	return v.embedder != nil
}

// open opens a snapshot, unless a view has it open. One that cannot be used, or
// is not what its name says, is nil: it is removed, and made again.
func (x *Index) open(name string, old *view) *snapshot.Snapshot {
	if old != nil {
		for i := range old.segments {
			if old.segments[i].Path() == name {
				return old.segments[i].Snapshot
			}
		}
	}
	f, ok := x.parse(filepath.Base(name))
	if bad, known := x.spoiled.Load(name); !ok || known && bad.(stamped).is(stamp(name)) {
		return nil
	}
	s, err := snapshot.Open(name)
	if err == nil && !x.isOf(s, f) {
		err = errors.Join(snapshot.ErrDamaged, s.Close())
	}
	if errors.Is(err, snapshot.ErrDamaged) {
		x.spoilFile(name)
	}
	if err != nil {
		return nil
	}
	return s
}

// isOf reports whether a snapshot is what the name of its file says.
func (x *Index) isOf(s *snapshot.Snapshot, f besideFile) bool {
	m := s.Meta()
	var a struct{ Catalog string }
	w := store.Weights(m.Weights)
	return json.Unmarshal(m.Extra, &a) == nil && a.Catalog == f.catalog && f.key == x.key &&
		m.Generation == f.generation && w == *x.opts.Weights
}

// spoil removes the files of snapshots of which one is damaged.
func (x *Index) spoil(snaps []*snapshot.Snapshot) {
	for _, s := range snaps {
		if s.Path() != "" {
			x.spoilFile(s.Path())
		}
	}
}

// spoilFile removes a damaged file. One that stays, because its folder cannot be
// written or another process maps it, is not opened again until it is replaced.
func (x *Index) spoilFile(name string) {
	if now := stamp(name); os.Remove(name) != nil {
		x.spoiled.Store(name, now)
	}
}

// closeNew closes snapshots that a view does not have open.
func closeNew(snaps []*snapshot.Snapshot, old *view) {
	v := &view{}
	for _, s := range snaps {
		v.segments = append(v.segments, segment{Snapshot: s})
	}
	v.close(old)
}

// openBase returns the newest compiled snapshot from which the changes to the
// generation of a are known, nil when there is none.
func (x *Index) openBase(a *assembler, old *view) *snapshot.Snapshot {
	name, generation := x.newestBase(a.Catalog, a.Generation)
	if name == "" || generation < a.feed {
		return nil
	}
	s := x.open(name, old)
	if s == nil {
		return nil
	}
	m := s.Meta()
	if m.Model != a.model || m.Dim != a.dim || store.Weights(m.Weights) != *x.opts.Weights {
		closeNew([]*snapshot.Snapshot{s}, old)
		return nil
	}
	return s
}

// newestBase returns the newest base of the catalog up to a generation for the
// embedders of the index, "" when there is none.
func (x *Index) newestBase(catalog string, until int64) (name string, generation int64) {
	for _, f := range x.beside() {
		if f.catalog == catalog && f.key == x.key && f.suffix == baseSuffix && f.generation >= generation && f.generation <= until {
			name, generation = f.path, f.generation
		}
	}
	return name, generation
}

// besideFile is a snapshot beside the catalog.
type besideFile struct {
	path, catalog, key, suffix string
	generation                 int64
	modified                   time.Time
}

// beside returns the snapshots beside the catalog, and what a process that was
// killed left of one.
func (x *Index) beside() []besideFile {
	entries, err := os.ReadDir(filepath.Dir(x.db.Path()))
	if err != nil {
		return nil
	}
	var list []besideFile
	for _, e := range entries {
		f, ok := x.parse(e.Name())
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

// parse reads the name of a file beside the catalog; ok is false for one that is
// not a snapshot, nor becomes one.
func (x *Index) parse(name string) (f besideFile, ok bool) {
	dir, base := filepath.Split(x.db.Path())
	rest, ok := strings.CutPrefix(name, base+".")
	if !ok {
		return f, false
	}
	f = besideFile{path: filepath.Join(dir, name), suffix: filepath.Ext(rest)}
	if f.suffix == atomicfile.Suffix {
		return f, true
	}
	fields := strings.Split(strings.TrimSuffix(rest, f.suffix), "-")
	// With a dot the name of the catalog goes on: it is that of another.
	if len(fields) != 3 || strings.Contains(fields[0], ".") || f.suffix != baseSuffix && f.suffix != deltaSuffix {
		return f, false
	}
	f.catalog, f.key = fields[0], fields[1]
	generation, err := strconv.ParseInt(fields[2], 10, 64)
	f.generation = generation
	return f, err == nil
}

// Publish compiles what the catalog holds into files beside it, from which this
// process and others rank from then on: all of it, or when that was done before
// and little changed since, only what did. Merging the two takes long in a large
// catalog, so it is left for later, within bounds, unless merge asks for it. A
// catalog that can only be read stays as it is. Ranking never depends on it.
func (x *Index) Publish(ctx context.Context, merge bool) error {
	x.publishing.Lock()
	defer x.publishing.Unlock()
	if x.db.ReadOnly() || x.opts.FTS5 {
		return nil
	}
	for range 3 { // another process may be changing the catalog
		done, err := x.publish(ctx, merge)
		if err != nil {
			return fmt.Errorf("compiling the ranking: %w", err)
		}
		if done {
			break
		}
	}
	_, err := x.current(ctx)
	return err
}

// few is how many changed skills make no merge worth its while: to compile them
// anew at each change takes some 35 ms at most.
const few = 128

// maxDrift is by which share the mean length of a skill may change before all is
// compiled anew. A text score, which is off by a part in a hundred as it is,
// follows the mean length, in long skills to nearly the same share.
const maxDrift = .01

// much reports whether a delta of that many skills is to be merged into a base.
func much(delta, base int, merge bool) bool {
	bound := max(few, base/128)
	if !merge {
		bound = max(8*few, base/8)
	}
	return delta > bound
}

func (x *Index) publish(ctx context.Context, merge bool) (done bool, err error) {
	var f files
	var about about
	feed := int64(0)
	err = x.db.View(ctx, func(db *store.DB) error {
		a, err := x.assembler(ctx, db)
		if err != nil {
			return err
		}
		about = a.about
		if _, done = x.published(a.Generation); !done {
			f, feed, err = x.compile(ctx, a, merge)
		}
		return err
	})
	if err != nil || done {
		return done, err
	}
	done, err = x.db.Publish(ctx, about.Generation, feed, func() error {
		if theirs, ok := x.published(about.Generation); ok {
			f = theirs // another process was faster
		} else if !x.usable(f) {
			return errSwept
		} else if err := x.writeManifest(about.Generation, f); err != nil {
			return err
		}
		// Here, where nobody else publishes, so that what is swept is never newer.
		x.sweep(about.Catalog, f)
		return nil
	})
	if errors.Is(err, errSwept) {
		return false, nil
	}
	return done, err
}

// errSwept says that another process removed what was compiled: it has published
// the same generation, or a newer one.
var errSwept = errors.New("compiled files are gone")

// published returns the files of the index that are published of a generation;
// ok is false when there are none, or they cannot be used.
func (x *Index) published(generation int64) (f files, ok bool) {
	if m := x.manifest(); m != nil && m.Generation == generation {
		f = m.Files[x.key]
	}
	return f, f.Base != "" && x.usable(f)
}

// usable reports whether compiled files are there and are whole at first sight.
func (x *Index) usable(f files) bool {
	for _, path := range x.paths(f) {
		s := x.open(path, nil)
		if s == nil {
			return false
		}
		s.Close() // it can only fail to give memory back
	}
	return true
}

// compile writes the snapshots of the generation of a. It returns the feed that
// is needed from then on, 0 for that of before.
func (x *Index) compile(ctx context.Context, a *assembler, merge bool) (f files, feed int64, err error) {
	if base := x.openBase(a, nil); base != nil {
		defer base.Close() // it can only fail to give memory back
		f.Base = filepath.Base(base.Path())
		if base.Meta().Generation == a.Generation {
			return f, 0, nil
		}
		c, err := a.changes(ctx, base)
		if err != nil {
			return f, 0, err
		}
		// Nothing can be read of a damaged base: it is made anew.
		if mean, err := drift(base, c); err == nil && math.Abs(mean-1) <= maxDrift && !much(len(c.ids), base.Len(), merge) {
			name := x.name(a.Catalog, a.Generation, deltaSuffix)
			f.Delta = filepath.Base(name)
			meta, docs, err := a.delta(ctx, base, c)
			if err == nil {
				err = snapshot.Write(name, meta, docs)
			}
			return f, 0, err
		}
	}
	name := x.name(a.Catalog, a.Generation, baseSuffix)
	entries, err := a.db.Entries(ctx)
	if err != nil {
		return f, 0, err
	}
	meta, err := a.meta(a.about)
	if err == nil {
		err = snapshot.Write(name, meta, ahead(a.documents(ctx, entries, true)))
	}
	return files{Base: filepath.Base(name)}, x.oldest(a.Catalog, a.Generation), err
}

// oldest returns the generation of the oldest base of the catalog that an index
// may still start from.
func (x *Index) oldest(catalog string, generation int64) int64 {
	newest := map[string]int64{x.key: generation}
	for _, f := range x.beside() {
		if f.catalog == catalog && f.suffix == baseSuffix {
			newest[f.key] = max(newest[f.key], f.generation)
		}
	}
	for _, g := range newest {
		generation = min(generation, g)
	}
	return generation
}

// writeManifest says which files are of the present generation, beside those of
// other embedders.
func (x *Index) writeManifest(generation int64, f files) error {
	m := x.manifest()
	if m == nil || m.Generation != generation {
		m = &manifest{Generation: generation}
	}
	if m.Files == nil {
		m.Files = make(map[string]files)
	}
	m.Files[x.key] = f
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.Write(store.Published(x.db.Path()), data)
}

// abandoned is the age at which a file belongs to nobody any more: one of
// another embedder, or one that is being written.
const abandoned = 24 * time.Hour

// sweep removes the files that nothing needs any more. One that another process
// still maps stays readable for it; where that keeps it from being removed, the
// next sweep does.
func (x *Index) sweep(catalog string, keep files) {
	for _, f := range x.beside() {
		base := filepath.Base(f.path)
		own := f.suffix != atomicfile.Suffix && (f.catalog != catalog || f.key == x.key)
		if base != keep.Base && base != keep.Delta && (own || x.opts.Now().Sub(f.modified) > abandoned) {
			os.Remove(f.path)
		}
	}
}

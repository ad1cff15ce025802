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
	"slices"
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
	Files      map[string]files `json:"files"` // by embedders, see key
}

// files are the base names of the snapshots of one generation.
type files struct {
	Base  string `json:"base"`
	Delta string `json:"delta,omitempty"`
}

// key tells the files of indexes with other embedders apart.
func (x *Index) key() string {
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
	return fmt.Sprintf("%s.%s-%s-%d%s", x.db.Path(), catalog, x.key(), generation, suffix)
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
	if m == nil || m.Files[x.key()].Base == "" {
		return nil, nil
	}
	// The file may have been replaced between these two; then the next look
	// finds another one.
	f := m.Files[x.key()]
	var snaps []*snapshot.Snapshot
	for _, name := range []string{f.Base, f.Delta} {
		if name == "" {
			continue
		}
		s := x.open(filepath.Join(filepath.Dir(x.db.Path()), filepath.Base(name)), old)
		if s == nil {
			closeNew(snaps, old)
			return nil, nil
		}
		snaps = append(snaps, s)
	}
	v, err := newView(snaps...)
	if err == nil && (v.Generation != m.Generation || !x.understand(v)) {
		err = snapshot.ErrDamaged
	}
	if err != nil {
		closeNew(snaps, old)
		if errors.Is(err, snapshot.ErrDamaged) {
			return nil, nil
		}
		return nil, err
	}
	v.files, v.bodies = now, true
	if x.embedder != nil && x.covered.Load() == nil {
		x.covered.Store(&coverage{v.Generation, v.Texts, v.Embedded})
	}
	return v, nil
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

// open opens a snapshot, unless a view has it open. One that cannot be used is
// nil: it is removed, and made again.
func (x *Index) open(name string, old *view) *snapshot.Snapshot {
	if old != nil {
		for i := range old.segments {
			if old.segments[i].Path() == name {
				return old.segments[i].Snapshot
			}
		}
	}
	s, err := snapshot.Open(name)
	if errors.Is(err, snapshot.ErrDamaged) {
		os.Remove(name) // what stays is found damaged again
	}
	if err != nil {
		return nil
	}
	return s
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
	name, generation := x.newestBase(a.Catalog)
	if name == "" || generation < a.feed || generation > a.Generation {
		return nil
	}
	s := x.open(name, old)
	if s == nil {
		return nil
	}
	m := s.Meta()
	if want, err := a.meta(a.about); err != nil || m.Model != want.Model || m.Dim != want.Dim || m.Weights != want.Weights {
		closeNew([]*snapshot.Snapshot{s}, old)
		return nil
	}
	return s
}

// newestBase returns the newest base of the catalog for the embedders of the
// index, "" when there is none.
func (x *Index) newestBase(catalog string) (name string, generation int64) {
	for _, f := range x.beside() {
		if f.catalog == catalog && f.key == x.key() && f.suffix == baseSuffix && f.generation >= generation {
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
	dir, base := filepath.Split(x.db.Path())
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []besideFile
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), base+".")
		info, err := e.Info()
		if !ok || err != nil {
			continue
		}
		f := besideFile{path: filepath.Join(dir, e.Name()), modified: info.ModTime(), suffix: filepath.Ext(rest)}
		fields := strings.Split(strings.TrimSuffix(rest, f.suffix), "-")
		if f.suffix == atomicfile.Suffix {
			list = append(list, f)
		} else if len(fields) == 3 && slices.Contains([]string{baseSuffix, deltaSuffix}, f.suffix) {
			f.catalog, f.key = fields[0], fields[1]
			if f.generation, err = strconv.ParseInt(fields[2], 10, 64); err == nil {
				list = append(list, f)
			}
		}
	}
	return list
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
// anew at each change takes a few milliseconds.
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
		if m := x.manifest(); m != nil && m.Generation == a.Generation && m.Files[x.key()].Base != "" && x.usable(m.Files[x.key()]) {
			done = true
			return nil
		}
		f, feed, err = x.compile(ctx, a, merge)
		return err
	})
	if err != nil || done {
		return done, err
	}
	done, err = x.db.Publish(ctx, about.Generation, feed, func() error { return x.writeManifest(about.Generation, f) })
	if done && err == nil {
		x.sweep(about.Catalog, f)
	}
	return done, err
}

// usable reports whether published files are there and are whole at first sight.
func (x *Index) usable(f files) bool {
	for _, name := range []string{f.Base, f.Delta} {
		if name == "" {
			continue
		}
		s, err := snapshot.Open(filepath.Join(filepath.Dir(x.db.Path()), filepath.Base(name)))
		if err != nil {
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
	newest := map[string]int64{x.key(): generation}
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
	m.Files[x.key()] = f
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
		own := f.suffix != atomicfile.Suffix && (f.catalog != catalog || f.key == x.key())
		if base != keep.Base && base != keep.Delta && (own || x.opts.Now().Sub(f.modified) > abandoned) {
			os.Remove(f.path)
		}
	}
}

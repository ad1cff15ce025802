package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/repertoire-skills/repertoire"
)

// A Leg is one way to rank. All are measured on the same catalog in one run,
// because only ratios of one run mean something on a machine that does other
// work too.
type Leg struct {
	Name string
	// Configure changes what the catalog is opened with; nil changes nothing.
	Configure func(*repertoire.Config)
	// Env makes the command rank in this way, as "KEY=value"; may be nil.
	Env []string
	// Write writes the skills straight to what the leg ranks from, in a folder
	// and without a catalog. It is nil for a leg that needs one.
	Write func(ctx context.Context, skills iter.Seq2[Document, error], dir string) error
}

// Legs are all ways to rank; the others are compared with the first.
func Legs() []Leg {
	return []Leg{
		{Name: "fts5", Configure: func(c *repertoire.Config) { c.FTS5 = true }, Env: []string{"REPERTOIRE_RANKING=fts5"}},
		{Name: "compiled"},
	}
}

// SpeedOptions are those of MeasureSpeed; only Sizes and Corpus are needed.
type SpeedOptions struct {
	Sizes []int // of catalogs, in skills
	// Corpus is where skills come from, up to its size; larger catalogs are made
	// by Generate of it.
	Corpus iter.Seq2[Document, error]
	// Synthetic makes all catalogs by Generate.
	Synthetic bool
	// WithoutCatalog are sizes that only legs that need no catalog are measured
	// at: SQLite would take too long to fill.
	WithoutCatalog []int
	Rounds         int    // of each measurement; 0 means 5
	Dir            string // for skills and catalogs, kept; "" means a temporary one that is removed
	// Program is the command, for what needs a process of its own; "" leaves
	// that out. It is run under the name "skills".
	Program string
	Step    func(what string) // called before each step; may be nil
}

// A Speed is what MeasureSpeed found.
type Speed struct {
	Platform string      `json:"platform"`
	CPUs     int         `json:"cpus"` // that this process may use
	Corpus   string      `json:"corpus"`
	Prompts  int         `json:"prompts"` // different ones
	Rounds   int         `json:"rounds"`
	Sizes    []SpeedSize `json:"sizes"`
}

// A SpeedSize are the figures for a catalog of one size. Times are medians in
// milliseconds, sizes bytes.
type SpeedSize struct {
	Skills    int          `json:"skills"`
	Origin    string       `json:"origin"`     // "corpus" or "synthetic"
	TextBytes int64        `json:"text_bytes"` // of all SKILL.md
	Index     []IndexSpeed `json:"index"`
	RescanMS  float64      `json:"rescan_ms"`            // when nothing has changed
	VersionMS float64      `json:"version_ms,omitempty"` // the process "skills version": the floor of any
	Legs      []LegSpeed   `json:"legs"`
}

// An IndexSpeed is what indexing a catalog from nothing costs.
type IndexSpeed struct {
	Vectors      bool    `json:"vectors"`
	Seconds      float64 `json:"seconds"`
	SkillsPerS   float64 `json:"skills_per_s"`
	MBPerS       float64 `json:"mb_per_s"`      // of text, 10⁶ bytes
	CatalogBytes int64   `json:"catalog_bytes"` // all files of the catalog, once closed
	PerText      float64 `json:"per_text"`      // of these for each byte of text
}

// A LegSpeed is what answering by one leg costs.
type LegSpeed struct {
	Leg        string  `json:"leg"`
	Mode       string  `json:"mode"`        // of ranking
	P50MS      float64 `json:"p50_ms"`      // of a block in a resident process, over all prompts and rounds
	P99MS      float64 `json:"p99_ms"`      // of the same
	Faster     float64 `json:"faster"`      // p50 of the first leg divided by this one, median of the rounds
	Allocs     float64 `json:"allocs"`      // for a block, mean
	AllocBytes float64 `json:"alloc_bytes"` // for a block, mean
	Concurrent float64 `json:"concurrent"`  // throughput of 8 clients divided by that of one
	ChangeMS   float64 `json:"change_ms"`   // of one changed skill: from the start of the rescan until a search finds it
	SyncMS     float64 `json:"sync_ms"`     // of the sync of that skill alone
	ColdMS     float64 `json:"cold_ms,omitempty"`
	Memory     *Memory `json:"memory,omitempty"` // after 1,000 blocks, in a process of its own
}

// defaultRounds is how often each measurement is repeated.
const defaultRounds = 5

// MeasureSpeed measures what indexing and answering cost at each size. Skills
// are written to disk and indexed by the code that indexes real ones. What it
// made is removed at the end, also when ctx ends first, unless Dir is given.
func MeasureSpeed(ctx context.Context, o *SpeedOptions) (_ *Speed, err error) {
	prompts := Prompts()
	out := &Speed{
		Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Prompts: len(prompts), Rounds: cmp.Or(o.Rounds, defaultRounds),
	}
	if len(o.WithoutCatalog) > 0 && !slices.ContainsFunc(Legs(), func(l Leg) bool { return l.Write != nil }) {
		return nil, errors.New("every way to rank needs a catalog so far; give the sizes as ordinary ones")
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "repertoire-speed-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	for _, n := range o.Sizes {
		m := &meter{SpeedOptions: o, rounds: out.Rounds, prompts: prompts, dir: filepath.Join(dir, fmt.Sprintf("size-%d", n))}
		size, err := m.measure(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("measuring %d skills: %w", n, err)
		}
		out.Sizes = append(out.Sizes, size)
	}
	return out, nil
}

// meter measures one size.
type meter struct {
	*SpeedOptions
	rounds  int
	prompts []string
	dir     string // of this size

	skills []string // the SKILL.md of all skills
	text   int64    // bytes in them
}

func (m *meter) step(format string, args ...any) {
	if m.Step != nil {
		m.Step(fmt.Sprintf(format, args...))
	}
}

func (m *meter) root() string { return filepath.Join(m.dir, "skills") }

// db returns the name of a catalog file in a folder of its own.
func (m *meter) db(kind string) string { return filepath.Join(m.dir, "catalog-"+kind, "catalog.db") }

func (m *meter) measure(ctx context.Context, n int) (SpeedSize, error) {
	size := SpeedSize{Skills: n}
	m.step("%d skills: writing", n)
	var err error
	if size.Origin, err = m.unpack(ctx, n); err != nil {
		return size, err
	}
	size.TextBytes = m.text
	for _, vectors := range []bool{false, true} {
		m.step("%d skills: indexing, vectors %v", n, vectors)
		s, err := m.index(ctx, vectors)
		if err != nil {
			return size, err
		}
		size.Index = append(size.Index, s)
	}
	legs, err := m.open(ctx)
	defer closeAll(legs)
	if err != nil {
		return size, err
	}
	m.step("%d skills: answering", n)
	if err := m.resident(ctx, legs); err != nil {
		return size, err
	}
	m.step("%d skills: rescanning", n)
	if size.RescanMS, err = m.rescan(ctx, legs[0]); err != nil {
		return size, err
	}
	for _, l := range legs {
		if err := m.change(ctx, l); err != nil {
			return size, err
		}
	}
	if m.Program != "" {
		m.step("%d skills: starting processes", n)
		if size.VersionMS, err = m.processes(ctx, legs); err != nil {
			return size, err
		}
	}
	for _, l := range legs {
		size.Legs = append(size.Legs, l.speed)
	}
	return size, nil
}

// index indexes all skills into a new catalog.
func (m *meter) index(ctx context.Context, vectors bool) (IndexSpeed, error) {
	s := IndexSpeed{Vectors: vectors}
	db := m.db("text")
	if vectors {
		db = m.db("vectors")
	}
	if err := os.RemoveAll(filepath.Dir(db)); err != nil {
		return s, err
	}
	c, err := openCatalog(ctx, m.root(), db, vectors, Leg{})
	if err != nil {
		return s, err
	}
	took, err := timed(func() error { _, err := c.Rescan(ctx, nil); return err })
	if err := errors.Join(err, c.Close()); err != nil {
		return s, err
	}
	s.Seconds = took / 1000
	s.SkillsPerS, s.MBPerS = float64(len(m.skills))/s.Seconds, float64(m.text)/1e6/s.Seconds
	s.CatalogBytes, err = bytesIn(filepath.Dir(db))
	s.PerText = float64(s.CatalogBytes) / float64(m.text)
	return s, err
}

// bytesIn returns the size of all files in a folder.
func bytesIn(dir string) (int64, error) {
	var n int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

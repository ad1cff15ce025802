package bench

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/source"
)

// A leg is one way to rank. All are measured on the same catalog in one run,
// because only ratios of one run mean something on a machine that does other
// work too.
type leg struct {
	Name     string
	Compiled bool // ranks from a compiled file, as the command does, and not by FTS5
	Encoder  bool // ranks with the built-in encoder too, as the command does by default
}

// legs are the ways to rank without the encoder; the others are compared with the first.
func legs() []leg {
	return []leg{
		{Name: "fts5"},
		{Name: "compiled", Compiled: true},
	}
}

// encoderLeg is the way to rank with the encoder. Its catalog is another one.
func encoderLeg() leg { return leg{Name: "encoder", Compiled: true, Encoder: true} }

// kind returns the kind of the catalog that a leg ranks, see meter.db.
func (l leg) kind() string {
	if l.Encoder {
		return "encoder"
	}
	return "vectors"
}

// SpeedOptions are the options of MeasureSpeed. Only Sizes and Corpus are needed, which Open sets.
type SpeedOptions struct {
	Sizes []int // of catalogs, in skills
	// Corpus provides the skills. Catalogs that are larger than the corpus are made from
	// it by generate.
	Corpus iter.Seq2[Document, error]
	// CorpusFlag is the value of Program's flag --corpus that means Corpus; "" means
	// that the flag is left out.
	CorpusFlag string
	// Synthetic makes all catalogs by generate.
	Synthetic bool
	// Compiled are sizes of synthetic catalogs that are only compiled, because putting
	// them into the database would take too long. Only answering is measured, with the
	// legs that need no database.
	Compiled []int
	// Trace measures where the time of a hook goes, and of the rest only indexing. It needs Program.
	Trace   bool
	Encoder bool          // measures with the built-in encoder too, but not what is only compiled
	Rounds  int           // of each measurement; 0 means 5
	While   time.Duration // of each round of blocks; 0 means 2 s
	Dir     string        // for skills and catalogs, kept; "" means a temporary one that is removed
	// Program is the path of the command, for measurements that need a new process; ""
	// leaves out the figures of processes and of memory. It is run under the name
	// "skills".
	Program string
	Step    func(what string) // called before each step; nil means no call
}

// Open opens what the catalogs are made of: a corpus, see openCorpus, or, without a name, the
// bundled skills, recombined. Without sizes it also sets the usual ones.
func (o *SpeedOptions) Open(ctx context.Context, name string) error {
	sizes := []int{500, 2500}
	var err error
	if o.CorpusFlag = name; name != "" {
		o.Corpus, err = openCorpus(ctx, name)
	} else {
		sizes, o.Synthetic = []int{100, 500}, true
		var src source.Source
		if src, err = source.New(source.Bundled(), nil); err == nil {
			o.Corpus = sourceCorpus(ctx, src)
		}
	}
	if len(o.Sizes)+len(o.Compiled) == 0 {
		o.Sizes = sizes
	}
	return err
}

// A Speed is what MeasureSpeed found.
type Speed struct {
	Platform string      `json:"platform"`
	CPUs     int         `json:"cpus"` // that this process may use
	Corpus   string      `json:"corpus"`
	Prompts  int         `json:"prompts"` // different ones
	Rounds   int         `json:"rounds"`
	Encoder  bool        `json:"encoder"` // was measured too
	Sizes    []SpeedSize `json:"sizes"`
}

// A SpeedSize holds the figures for a catalog of one size. Times are medians in
// milliseconds, sizes are in bytes.
type SpeedSize struct {
	Skills    int          `json:"skills"`
	Origin    string       `json:"origin"`             // "corpus" or "synthetic"
	Compiled  bool         `json:"compiled,omitempty"` // only compiled, see SpeedOptions.Compiled
	TextBytes int64        `json:"text_bytes"`         // of all SKILL.md
	Index     []IndexSpeed `json:"index"`
	WalkMS    float64      `json:"walk_ms,omitempty"`    // the first rescan of a process, when nothing has changed
	RescanMS  float64      `json:"rescan_ms,omitempty"`  // each one after it
	VersionMS float64      `json:"version_ms,omitempty"` // the process "skills version": the floor of any
	Look      *LookSpeed   `json:"look,omitempty"`
	Legs      []LegSpeed   `json:"legs"`
	Traces    []Trace      `json:"traces,omitempty"` // see SpeedOptions.Trace
}

// An IndexSpeed holds the costs of indexing a new catalog.
type IndexSpeed struct {
	Vectors      bool    `json:"vectors"`
	Encoder      bool    `json:"encoder,omitempty"` // with vectors of the encoder too
	Seconds      float64 `json:"seconds"`           // of a compiled catalog, with the making of its skills
	SkillsPerS   float64 `json:"skills_per_s"`
	MBPerS       float64 `json:"mb_per_s"`             // of text, 10⁶ bytes
	TextBytes    int64   `json:"text_bytes,omitempty"` // of all SKILL.md, which a compiled catalog only would have
	CatalogBytes int64   `json:"catalog_bytes"`        // all files of the catalog, once closed
	PerText      float64 `json:"per_text"`             // CatalogBytes divided by the bytes of text
	// PeakRSS is the maximum memory of the process. CorpusRSS is the memory before a
	// catalog is compiled, mostly the texts that the skills are made of.
	PeakRSS   int64 `json:"peak_rss,omitempty"`
	CorpusRSS int64 `json:"corpus_rss,omitempty"`
}

// A LookSpeed says how far the command "context" comes with its first step, the check
// for changed skills. If nothing has changed, the command needs no database, unless
// skills are so alike that it compares their bodies.
type LookSpeed struct {
	MS      float64 `json:"ms"`
	Current bool    `json:"current"` // none of the checked folders has changed
	All     bool    `json:"all"`     // all folders were checked each time
	Folders int     `json:"folders"` // number of checked folders, median
}

// A LegSpeed holds the costs of answering with one leg.
type LegSpeed struct {
	Leg        string  `json:"leg"`
	Mode       string  `json:"mode"`           // of ranking
	P50MS      float64 `json:"p50_ms"`         // of a block in a resident process, over all prompts and rounds
	P99MS      float64 `json:"p99_ms"`         // of the same
	TextP50MS  float64 `json:"text_p50_ms"`    // when text ranks alone
	TextP99MS  float64 `json:"text_p99_ms"`    // of the same
	Faster     float64 `json:"faster"`         // p50 of the first leg divided by this one, median of the rounds
	Allocs     float64 `json:"allocs"`         // for a block, mean
	AllocBytes float64 `json:"alloc_bytes"`    // for a block, mean
	Late       float64 `json:"late,omitempty"` // share of the blocks for which the encoder was late
	PerS       float64 `json:"per_s"`          // blocks for one client
	Concurrent float64 `json:"concurrent"`     // blocks for 8 clients in the same time, divided by PerS

	Change []ChangeSpeed `json:"change,omitempty"`

	// In a process of its own: the command "context", from start to end, for a
	// prompt that finds skills and for one that finds none (0 for a leg that the
	// command does not have), and one that stays.
	ColdMS      float64      `json:"cold_ms,omitempty"`
	ColdEmptyMS float64      `json:"cold_empty_ms,omitempty"`
	Process     *AnswerSpeed `json:"process,omitempty"`
}

// A ChangeSpeed holds the costs of one changed skill in a process that has rescanned
// before.
type ChangeSpeed struct {
	Recent    bool    `json:"recent"`     // the skill is among those that have changed last
	RescanMS  float64 `json:"rescan_ms"`  // the rescan, from start to end
	VisibleMS float64 `json:"visible_ms"` // from its start until a search finds the change
	IndexMS   float64 `json:"index_ms"`   // indexing and compiling alone, without the look for changes
}

const (
	defaultRounds = 5
	defaultWhile  = 2 * time.Second
)

// MeasureSpeed measures what indexing and answering cost at each size. It writes skills
// to disk and indexes them with the code that indexes real ones. At the end it removes
// all files, also when ctx ends first, unless Dir is given.
func MeasureSpeed(ctx context.Context, o *SpeedOptions) (_ *Speed, err error) {
	prompts := Prompts()
	out := &Speed{
		Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0),
		Corpus: cmp.Or(o.CorpusFlag, "synthetic, made from the bundled skills"), Prompts: len(prompts), Rounds: cmp.Or(o.Rounds, defaultRounds), Encoder: o.Encoder,
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "repertoire-speed-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	measure := func(n int, name string, f func(m *meter) (SpeedSize, error)) error {
		m := &meter{SpeedOptions: o, n: n, rounds: out.Rounds, while: cmp.Or(o.While, defaultWhile), prompts: prompts, dir: filepath.Join(dir, fmt.Sprintf("%s-%d", name, n))}
		size, err := f(m)
		if err != nil {
			return fmt.Errorf("measuring %d skills: %w", n, err)
		}
		out.Sizes = append(out.Sizes, size)
		return nil
	}
	for _, n := range o.Sizes {
		if err := measure(n, "size", func(m *meter) (SpeedSize, error) { return m.measure(ctx) }); err != nil {
			return nil, err
		}
	}
	for _, n := range o.Compiled {
		if err := measure(n, "compiled", func(m *meter) (SpeedSize, error) { return m.measureCompiled(ctx) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// meter measures one size.
type meter struct {
	*SpeedOptions
	n       int // skills
	rounds  int
	while   time.Duration
	prompts []string
	dir     string // of this size

	skills []string  // the SKILL.md of all skills
	newest time.Time // modification time of the first skill; each next one is a second older
	text   int64     // bytes of all skills
	edits  int       // number of edits so far

	late atomic.Int64 // blocks for which the encoder was late

	finding, empty string // a prompt that finds skills, and one that finds none
}

func (m *meter) step(format string, args ...any) {
	if m.Step != nil {
		m.Step(fmt.Sprintf("%d skills: %s", m.n, fmt.Sprintf(format, args...)))
	}
}

func (m *meter) root() string { return filepath.Join(m.dir, "skills") }

// db returns the name of a catalog file in a folder of its own.
func (m *meter) db(kind string) string { return filepath.Join(m.dir, "catalog-"+kind, "catalog.db") }

func (m *meter) measure(ctx context.Context) (size SpeedSize, err error) {
	size.Skills = m.n
	m.step("writing")
	if size.Origin, err = m.unpack(ctx, m.n); err != nil {
		return size, err
	}
	size.TextBytes = m.text
	ways, tasks := legs(), []Task{{Name: "index-text", DB: m.db("text")}, {Name: "index", DB: m.db("vectors")}}
	if m.Trace {
		tasks = tasks[1:]
	}
	if m.Encoder {
		ways, tasks = append(ways, encoderLeg()), append(tasks, Task{Name: "index-encoder", DB: m.db(encoderLeg().kind())})
	}
	for _, t := range tasks {
		m.step("indexing, task %s", t.Name)
		t.Root = m.root()
		s, err := runTask[IndexSpeed](ctx, m, t)
		if err != nil {
			return size, err
		}
		size.Index = append(size.Index, s.perSkill(m.n, m.text))
	}
	if m.Trace {
		m.step("tracing hooks")
		size.Traces, err = m.traces(ctx)
		return size, err
	}
	legs, err := m.answers(ctx, &size, ways)
	defer closeAll(legs)
	if err != nil {
		return size, err
	}
	m.step("rescanning")
	if size.WalkMS, size.RescanMS, err = m.rescans(ctx, legs[0]); err != nil {
		return size, err
	}
	// Each change compiles again all that changed since the base was compiled. Measure
	// the compiled leg first, so that changes for the other legs do not slow it down.
	for _, l := range slices.Backward(legs) {
		if l.Encoder { // no rescan waits for it
			continue
		}
		if l.speed.Change, err = m.changes(ctx, l); err != nil {
			return size, err
		}
	}
	for _, l := range legs {
		size.Legs = append(size.Legs, l.speed)
	}
	return size, nil
}

// measureCompiled measures skills that are not in the database.
func (m *meter) measureCompiled(ctx context.Context) (size SpeedSize, err error) {
	size.Skills, size.Origin, size.Compiled = m.n, "synthetic", true
	m.step("compiling")
	s, err := runTask[IndexSpeed](ctx, m, Task{Name: "compile", Root: m.root(), DB: m.db("vectors"), Corpus: m.Corpus, Skills: m.n})
	if err != nil {
		return size, err
	}
	size.TextBytes = s.TextBytes
	size.Index = []IndexSpeed{s.perSkill(m.n, s.TextBytes)}
	legs, err := m.answers(ctx, &size, slices.DeleteFunc(legs(), func(l leg) bool { return !l.Compiled }))
	defer closeAll(legs)
	for _, l := range legs {
		size.Legs = append(size.Legs, l.speed)
	}
	return size, err
}

// answers measures everything that changes no skill.
func (m *meter) answers(ctx context.Context, size *SpeedSize, list []leg) (legs []*openLeg, err error) {
	m.step("opening")
	if legs, err = m.open(ctx, list); err != nil {
		return legs, err
	}
	if !size.Compiled {
		g, err := m.glance(ctx)
		if err != nil {
			return legs, err
		}
		size.Look = &g
	}
	if m.Program != "" {
		m.step("starting processes")
		if !size.Compiled { // "context" would notice that the skills are not on disk
			if size.VersionMS, err = m.processes(ctx, legs); err != nil {
				return legs, err
			}
		}
		for _, l := range legs {
			p, err := runTask[AnswerSpeed](ctx, m, Task{Name: l.Name, Root: m.root(), DB: m.db(l.kind())})
			if err != nil {
				return legs, err
			}
			l.speed.Process = &p
		}
	}
	m.step("answering")
	return legs, m.resident(ctx, legs)
}

// perSkill returns s with the figures per second and per byte of text.
func (s IndexSpeed) perSkill(skills int, text int64) IndexSpeed {
	s.SkillsPerS, s.MBPerS = float64(skills)/s.Seconds, float64(text)/1e6/s.Seconds
	s.PerText = float64(s.CatalogBytes) / float64(text)
	return s
}

// promptFile holds realistic prompts of several lengths and languages. A line with
// only % separates two prompts.
//
//go:embed prompts.txt
var promptFile string

// Prompts returns the prompts with which speed is measured. Some of them are of kinds
// that need no skill.
func Prompts() []string {
	return strings.Split(strings.TrimSuffix(promptFile, "\n"), "\n%\n")
}

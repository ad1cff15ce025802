package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/source"
)

// speedFlags are the flags of "bench --speed".
type speedFlags struct {
	on             bool
	sizes          []int
	withoutCatalog []int
	rounds         int
	keep           string
	memoryOf       string // what a process of its own measures, see bench.MemoryOf
}

const speedHelp = `

With --speed no relevance is measured but what answering and indexing cost, at
each --size: p50 and p99 of a block in a resident process, its allocations, the
throughput of 8 clients, the process "context" from start to end, a rescan when
nothing has changed, one changed skill until it is found, indexing, the size of
the catalog, and memory after 1,000 blocks. The prompts are part of the program.
Skills come from --corpus: a file such as corpus.jsonl, gzipped if its name ends
in .gz, or a folder with one or of skills. Larger catalogs than it has, and all
without it, are synthetic: real names, sentences and paragraphs are recombined.
They are written to a temporary folder, or to --keep. Every way to rank (leg) is
measured on the same catalog in turn, because only ratios of one run say much on
a machine that does other work too. Times are medians of --rounds. When the
output is piped, each line holds size, leg, measure, value and unit.

--speed --json prints an object with platform, cpus, corpus, prompts, rounds and
  sizes       a list of objects with skills, origin (corpus or synthetic),
              text_bytes (of all SKILL.md), rescan_ms, version_ms (of the
              process "version", the floor of any)
    index     without and with vectors: seconds, skills_per_s, mb_per_s,
              catalog_bytes, per_text (bytes of catalog for one of text)
    legs      a list of leg, mode (of ranking), p50_ms, p99_ms, faster (than the
              first leg), allocs, alloc_bytes, concurrent (throughput of 8
              clients over that of one), change_ms (start of the rescan until a
              search finds it), sync_ms (of that skill alone), cold_ms (of
              the process "context") and memory: rss, anon, file, in bytes`

func (s *speedFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.on, "speed", false, "measure speed, memory and size")
	f.IntSliceVar(&s.sizes, "size", nil, "measure a catalog of this `number` of skills (repeatable)")
	f.IntVar(&s.rounds, "rounds", 0, "the `number` of times that --speed repeats a measurement (default 5)")
	f.StringVar(&s.keep, "keep", "", "keep skills and catalogs of --speed in this `folder`")
	f.IntSliceVar(&s.withoutCatalog, "snapshot-only", nil, "measure this `number` of skills without a catalog")
	f.StringVar(&s.memoryOf, "memory-of", "", "print the memory of a `leg`")
	for _, name := range []string{"snapshot-only", "memory-of"} {
		if err := f.MarkHidden(name); err != nil {
			panic(err) // unreachable: both are defined above
		}
	}
}

func (s *speedFlags) check(b *benchFlags) error {
	switch {
	case !s.on && (len(s.sizes) > 0 || s.keep != "" || s.rounds != 0 || s.memoryOf != "" || len(s.withoutCatalog) > 0):
		return errors.New("--size, --rounds and --keep belong to --speed")
	case s.on && (len(b.datasets) > 0 || len(b.none) > 0 || b.fromEvals || b.compare != "" || b.mode != "" || b.limit != 0):
		return errors.New("--speed measures no data set; of the other flags only --corpus goes with it")
	case s.rounds < 0:
		return fmt.Errorf("--rounds %d: at least 1", s.rounds)
	}
	for _, n := range s.sizes {
		if n < 1 {
			return fmt.Errorf("--size %d: at least 1", n)
		}
	}
	return nil
}

func (a *app) benchSpeed(ctx context.Context, b *benchFlags) error {
	s := &b.speed
	if s.memoryOf != "" {
		if len(a.roots) != 1 || a.db == "" {
			return errors.New("--memory-of needs --root and --db")
		}
		m, err := bench.MemoryOf(ctx, s.memoryOf, a.roots[0], a.db)
		if err != nil {
			return err
		}
		return a.printJSON(m)
	}
	o := &bench.SpeedOptions{Sizes: s.sizes, WithoutCatalog: s.withoutCatalog, Rounds: s.rounds, Dir: s.keep}
	if a.verbose {
		o.Step = func(what string) { a.note("%s", what) }
	}
	label, err := a.speedCorpus(ctx, b.corpus, o)
	if err != nil {
		return err
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	speed, err := bench.MeasureSpeed(ctx, o)
	if err != nil {
		return err
	}
	speed.Corpus = label
	if a.json {
		return a.printJSON(speed)
	}
	a.note("this machine may have done other work: compare figures of one run, as ratios")
	return a.rows([]string{"SKILLS", "LEG", "MEASURE", "VALUE", "UNIT"}, speedRows(speed))
}

// speedCorpus decides what the catalogs are made of and, unless they are given,
// their sizes. Without a corpus it is the bundled skills, recombined.
func (a *app) speedCorpus(ctx context.Context, name string, o *bench.SpeedOptions) (label string, err error) {
	sizes := []int{500, 2500}
	if name == "" {
		sizes, o.Synthetic, label = []int{100, 500}, true, "synthetic, made from the bundled skills"
		o.Corpus, err = bundledCorpus(ctx)
	} else {
		label = name
		o.Corpus, err = bench.OpenCorpus(ctx, name)
	}
	if len(o.Sizes)+len(o.WithoutCatalog) == 0 {
		o.Sizes = sizes
	}
	return label, err
}

func bundledCorpus(ctx context.Context) (iter.Seq2[bench.Document, error], error) {
	src, err := source.New(source.Bundled(), nil)
	if err != nil {
		return nil, err
	}
	return bench.SourceCorpus(ctx, src), nil
}

// speedRows are the figures, one a row. A leg of "" is the catalog itself.
func speedRows(s *bench.Speed) [][]string {
	var rows [][]string
	for _, size := range s.Sizes {
		add := func(leg, measure string, value float64, unit string) {
			rows = append(rows, []string{strconv.Itoa(size.Skills), leg, measure, figure(value), unit})
		}
		add("", "text ("+size.Origin+")", float64(size.TextBytes)/1e6, "MB")
		for _, x := range size.Index {
			with := "without vectors"
			if x.Vectors {
				with = "with vectors"
			}
			add("", "index "+with, x.SkillsPerS, "skills/s")
			add("", "index "+with, x.MBPerS, "MB/s")
			add("", "catalog "+with, x.PerText, "× text")
		}
		add("", "rescan, nothing changed", size.RescanMS, "ms")
		if size.VersionMS > 0 {
			add("", "process: version", size.VersionMS, "ms")
		}
		for _, l := range size.Legs {
			legRows(l, func(measure string, value float64, unit string) { add(l.Leg, measure, value, unit) })
		}
	}
	return rows
}

func legRows(l bench.LegSpeed, add func(measure string, value float64, unit string)) {
	add("block, p50", l.P50MS, "ms")
	add("block, p99", l.P99MS, "ms")
	add("block, faster than the first leg", l.Faster, "×")
	add("block, allocations", l.Allocs, "")
	add("block, allocated", l.AllocBytes/1e3, "kB")
	add("8 clients, throughput of one", l.Concurrent, "×")
	add("changed skill, until found", l.ChangeMS, "ms")
	add("changed skill, sync alone", l.SyncMS, "ms")
	if l.Memory != nil {
		add("process: context", l.ColdMS, "ms")
		add("memory after 1,000 blocks", float64(l.Memory.RSS)/1e6, "MB")
		add("memory, own", float64(l.Memory.Anon)/1e6, "MB")
		add("memory, of files", float64(l.Memory.File)/1e6, "MB")
	}
}

// figure keeps three significant digits.
func figure(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

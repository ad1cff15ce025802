package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/bench"
)

// speedFlags are the flags of "bench --speed".
type speedFlags struct {
	bench.SpeedOptions
	on   bool
	task string // what a process of its own measures, see bench.Task
}

const speedHelp = `

With --speed no relevance is measured but what answering and indexing cost, at
each --size: p50 and p99 of a block in a resident process, also by text alone,
its allocations, the throughput of 8 clients, the process "context" from start
to end, a rescan when nothing has changed and one with one changed skill, when
that is found, indexing, the size of the catalog, and memory after 1,000 blocks.
The prompts are part of the program.
Skills come from --corpus: a file such as corpus.jsonl, gzipped if its name ends
in .gz, or a folder with one or of skills. Larger catalogs than it has, and all
without it, are synthetic: real names, sentences and paragraphs are recombined.
They are written to a temporary folder, or to --keep. With --snapshot-only they
are compiled as they are made: for catalogs that a database would take too long
to hold. Every way to rank (leg) is measured in turn: only ratios of one run say
much on a machine that does other work too. fts5 and compiled rank without the
encoder, in one catalog; the leg encoder ranks with it, in a catalog of its own,
unless the configuration or REPERTOIRE_CONTEXTUAL=off turns it off or this
machine is too slow for it. Indexing with it takes some 10 ms more for each
skill. Times are medians of --rounds, each of which asks prompts for the time of
--while. When the output is piped, each line holds size, leg, measure, value and
unit.

--trace measures where the time of a hook goes, for a short prompt and a long
one, and nothing else: each step from the start of the process to its end, in
milliseconds and as a share. Work that other steps overlap counts where the hook
waits for it: "encoder" is what is left to wait for when words are found.

--speed --json prints an object with platform, cpus, corpus, prompts, rounds,
encoder (whether it was measured) and
  sizes       a list of objects with skills, origin (corpus or synthetic),
              compiled (not in the database), text_bytes (of all SKILL.md),
              walk_ms (the first rescan of a process, when nothing has changed),
              rescan_ms (later ones), version_ms (of the process "version", the
              floor of any)
    index     without and with vectors, and with those of the encoder (encoder):
              seconds, skills_per_s, mb_per_s, catalog_bytes, per_text (bytes of
              catalog for one of text), peak_rss (memory in bytes, at most;
              when compiled, corpus_rss of it is what the process held before)
    look      what "context" begins with: ms, folders (looked at), all (of it),
              current (none has changed: then it needs no database)
    legs      a list of leg, mode (of ranking), p50_ms, p99_ms, text_p50_ms,
              text_p99_ms, faster (than the first leg), allocs, alloc_bytes,
              late (share of the blocks made without the encoder, because it
              took more than 80 ms), per_s (blocks for one client), concurrent
              (for 8 clients, divided by that)
      change  of a skill that is recent (among those changed last) or not:
              rescan_ms (start to end), visible_ms (start until a search finds
              it), index_ms (of that skill alone)
      cold_ms, cold_empty_ms   the process "context" for a prompt that finds
              skills and for one that finds none; not of the leg fts5
      process one that stays: open_ms (until its first block), and memory after
              1,000 blocks: rss, anon, file, peak, in bytes
    traces    with --trace, in place of legs: prompt (short or long), bytes, ms
              (of the process "hook", from start to end), and steps, a list of
              name, ms and share; with the encoder if it is measured`

func (s *speedFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.on, "speed", false, "measure speed, memory and size")
	f.IntSliceVar(&s.Sizes, "size", nil, "measure a catalog of this `number` of skills (repeatable)")
	f.IntVar(&s.Rounds, "rounds", 0, "the `number` of times that --speed repeats a measurement (default 5)")
	f.StringVar(&s.Dir, "keep", "", "keep skills and catalogs of --speed in this `folder`")
	f.IntSliceVar(&s.Compiled, "snapshot-only", nil, "measure this `number` of skills that are not put into the database (repeatable)")
	f.DurationVar(&s.While, "while", 0, "the `time` for which --speed asks prompts in each round (default 2s)")
	f.BoolVar(&s.Trace, "trace", false, "with --speed: measure each step of a hook, and nothing else")
	f.StringVar(&s.task, "task", "", "do a `task` in this process")
	f.MarkHidden("task") // for the processes that bench starts
}

func (s *speedFlags) check(b *benchFlags) error {
	switch {
	case !s.on && (len(s.Sizes) > 0 || s.Dir != "" || s.Rounds != 0 || s.While != 0 || s.task != "" || s.Trace || len(s.Compiled) > 0):
		return errors.New("--size, --snapshot-only, --rounds, --while, --keep and --trace belong to --speed")
	case s.Trace && len(s.Compiled) > 0:
		return errors.New("--trace runs hooks, which need skills on disk; --snapshot-only writes none")
	case s.on && (len(b.datasets) > 0 || len(b.none) > 0 || b.fromEvals || b.distractors != "" || b.details || b.markdown || b.compare != "" || b.mode != "" || b.limit != 0 || b.embedder != ""):
		return errors.New("--speed measures no data set; of the other flags only --corpus goes with it")
	case s.Rounds < 0:
		return atLeast("rounds", s.Rounds, 1)
	case s.While < 0:
		return fmt.Errorf("--while is at least 0, not %v", s.While)
	}
	for i, sizes := range [][]int{s.Sizes, s.Compiled} {
		if j := slices.IndexFunc(sizes, func(n int) bool { return n < 1 }); j >= 0 {
			return atLeast([]string{"size", "snapshot-only"}[i], sizes[j], 1)
		}
	}
	return nil
}

func benchSpeed(ctx context.Context, s *session, b *benchFlags) error {
	o := &b.speed.SpeedOptions
	if b.speed.task != "" {
		return benchTask(ctx, s, b, o)
	}
	o.Step = func(what string) { s.noteVerbose("%s", what) }
	settings, err := s.settings()
	if err != nil {
		return err
	}
	by, err := settings.Embedding(nil)
	if err != nil {
		return err
	}
	switch o.Encoder = by.Contextual != nil; {
	case o.Encoder:
		s.note("the leg encoder ranks with the encoder, the others without; REPERTOIRE_CONTEXTUAL=off leaves it out")
	case by.Slow != "":
		s.note("the encoder is not measured: %s", by.Slow)
	default:
		s.note("the encoder is not measured: it is turned off")
	}
	if err := o.Open(ctx, b.corpus); err != nil {
		return err
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	speed, err := bench.MeasureSpeed(ctx, o)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(speed)
	}
	s.note("this machine may have done other work: compare figures of one run, as ratios")
	return s.rows([]string{"SKILLS", "LEG", "MEASURE", "VALUE", "UNIT"}, speedRows(speed))
}

// benchTask measures what another process asks for.
func benchTask(ctx context.Context, s *session, b *benchFlags, o *bench.SpeedOptions) error {
	if len(s.roots) != 1 || s.db == "" {
		return errors.New("--task needs --root and --db")
	}
	t := bench.Task{Name: b.speed.task, Root: s.roots[0], DB: s.db}
	if len(o.Sizes) > 0 {
		t.Skills = o.Sizes[0]
		if err := o.Open(ctx, b.corpus); err != nil {
			return err
		}
		t.Corpus = o.Corpus
	}
	result, err := t.Run(ctx)
	if err != nil {
		return err
	}
	return s.printJSON(result)
}

// rowAdder adds one figure to a table.
type rowAdder func(measure string, value float64, unit string)

// speedRows are the figures, one a row. A leg of "" is the catalog itself.
func speedRows(s *bench.Speed) [][]string {
	var rows [][]string
	for _, size := range s.Sizes {
		leg := ""
		add := func(measure string, value float64, unit string) {
			rows = append(rows, cells(size.Skills, leg, measure, figure(value), unit))
		}
		if size.Traces != nil {
			traceRows(size.Traces, add)
			continue
		}
		catalogRows(&size, add)
		for _, l := range size.Legs {
			leg = l.Leg
			legRows(&l, add)
		}
	}
	return rows
}

func catalogRows(size *bench.SpeedSize, add rowAdder) {
	add("text ("+size.Origin+")", float64(size.TextBytes)/1e6, "MB")
	for _, x := range size.Index {
		with := "without vectors"
		switch {
		case size.Compiled:
			with = "compiled only"
		case x.Encoder:
			with = "with the encoder"
		case x.Vectors:
			with = "with vectors"
		}
		add("index "+with, x.SkillsPerS, "skills/s")
		add("index "+with, x.MBPerS, "MB/s")
		if x.PeakRSS > 0 {
			add("index "+with+", memory at most", float64(x.PeakRSS)/1e6, "MB")
		}
		if x.CorpusRSS > 0 {
			add("index "+with+", of it before", float64(x.CorpusRSS)/1e6, "MB")
		}
		add("catalog "+with, x.PerText, "× text")
	}
	if size.Compiled {
		return
	}
	add("rescan, nothing changed, first", size.WalkMS, "ms")
	add("rescan, nothing changed", size.RescanMS, "ms")
	if size.VersionMS > 0 {
		add("process: version", size.VersionMS, "ms")
	}
	if size.Look != nil {
		add("process: context, looks at", float64(size.Look.Folders), "folders")
	}
}

func traceRows(traces []bench.Trace, add rowAdder) {
	for _, t := range traces {
		for _, step := range t.Steps {
			add(t.Prompt+" prompt: "+step.Name, step.MS, "ms")
			add(t.Prompt+" prompt: "+step.Name, 100*step.Share, "%")
		}
		add(t.Prompt+" prompt: from start to end", t.MS, "ms")
	}
}

func legRows(l *bench.LegSpeed, add rowAdder) {
	add("block, p50", l.P50MS, "ms")
	add("block, p99", l.P99MS, "ms")
	add("block by text, p50", l.TextP50MS, "ms")
	add("block by text, p99", l.TextP99MS, "ms")
	if l.Leg == "encoder" {
		add("block, encoder late", 100*l.Late, "%")
	}
	add("block, faster than the first leg", l.Faster, "×")
	add("block, allocations", l.Allocs, "")
	add("block, allocated", l.AllocBytes/1e3, "kB")
	add("1 client", l.PerS, "blocks/s")
	add("8 clients, throughput of one", l.Concurrent, "×")
	for _, c := range l.Change {
		which := "changed skill, old"
		if c.Recent {
			which = "changed skill, recent"
		}
		add(which+": rescan", c.RescanMS, "ms")
		add(which+": until found", c.VisibleMS, "ms")
		add(which+": indexing alone", c.IndexMS, "ms")
	}
	if l.ColdMS > 0 {
		add("process: context, finds some", l.ColdMS, "ms")
		add("process: context, finds none", l.ColdEmptyMS, "ms")
	}
	if p := l.Process; p != nil {
		add("own process: first block", p.OpenMS, "ms")
		add("memory after 1,000 blocks", float64(p.Memory.RSS)/1e6, "MB")
		add("memory, own", float64(p.Memory.Anon)/1e6, "MB")
		add("memory, of files", float64(p.Memory.File)/1e6, "MB")
	}
}

// figure keeps three significant digits.
func figure(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

// Command skills-fit fits the weights of rank.Gate to labelled sets. It indexes
// each set, alone and mixed with other skills, searches for the set's prompts, and
// finds the weights that best predict, from the top hits, whether a prompt wants a
// skill. It prints the weights and how good the predictions are. The weights hold
// for the built-in embedder: after a change of its model, run the command again and
// copy the weights to rank.DefaultGate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const usage = `usage: skills-fit --dataset DIR --dataset DIR --prompts FILE --calm FILE --none DIR --corpus FILE [flags]

The sets are folders in the BEIR layout, see "skills bench --help". --prompts is a file
of JSON lines, each with prompts that ask for a task and a near_miss, which is about the
same subject and asks for none. --calm is one with a prompt that needs no skill and its
category; of each category the first, third … prompt is fitted to, the others are those
that set thresholds in a catalog. From --none the command reads only queries.jsonl, and
uses only prompts of the kinds none, no_tool and hard_negative_none, to measure. The
corpus is a file of JSON lines, gzipped if its name ends in .gz, with the name,
description and body of one skill each: the skills to mix in. The report goes to standard
output, the weights of words to the file --request.
`

// options are the settings of a fit.
type options struct {
	datasets, none []string
	corpus         string
	prompts, calm  string
	request        string // file to write
	words          int    // how many words get a weight
	distractors    []int  // how many skills of the corpus to mix into each set
	grow           []int  // sizes of the catalogs that are made of the corpus alone
	limit          int
	seed           uint64
}

// run executes the command and returns its exit code: 0, 1 for errors, 2 for
// wrong usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := options{distractors: []int{0, 3000}, grow: []int{50, 200, 1000, 5000, 20_000}}
	f := flag.NewFlagSet("skills-fit", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage); f.PrintDefaults() }
	f.Func("dataset", "folder of a labelled set, at least two", func(s string) error { o.datasets = append(o.datasets, s); return nil })
	f.Func("none", "folder of prompts that need no skill (repeatable)", func(s string) error { o.none = append(o.none, s); return nil })
	f.StringVar(&o.prompts, "prompts", "", "JSON lines of prompts that ask for a task")
	f.StringVar(&o.calm, "calm", "", "JSON lines of prompts that need no skill")
	f.StringVar(&o.request, "request", "", "file to write the weights of words to; empty means none is written")
	f.IntVar(&o.words, "words", 1500, "how many words get a weight")
	f.StringVar(&o.corpus, "corpus", "", "JSON lines of the skills to mix in")
	f.Func("distractors", "how many skills of the corpus to mix into each set, separated by commas (default 0,3000)", numbers(&o.distractors))
	f.Func("grow", "sizes of catalogs made of the corpus alone, in which to ask the prompts that need no skill, separated by commas (default 50,200,1000,5000,20000)", numbers(&o.grow))
	f.IntVar(&o.limit, "limit", 600, "at most so many prompts of a set that need a skill, and so many that need none")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the samples")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if err := o.check(f.Args()); err != nil {
		fmt.Fprintf(stderr, "skills-fit: %v\n%s", err, usage)
		return 2
	}
	if err := fitGate(ctx, o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "skills-fit:", err)
		return 1
	}
	return 0
}

// numbers returns the function of a flag that replaces list; "" empties the list.
func numbers(list *[]int) func(string) error {
	return func(s string) error {
		*list = nil
		if s == "" {
			return nil
		}
		for field := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(field))
			if err != nil || n < 0 {
				return fmt.Errorf("%q is not a number of skills", field)
			}
			*list = append(*list, n)
		}
		return nil
	}
}

// check returns an error for the first invalid option.
func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected arguments: %s", strings.Join(rest, " "))
	case len(o.datasets) < 2:
		return errors.New("give --dataset at least twice: each set is predicted from the others")
	case len(o.none) == 0 || o.corpus == "" || o.prompts == "" || o.calm == "":
		return errors.New("--none, --corpus, --prompts and --calm are required")
	case len(o.distractors) == 0:
		return errors.New("--distractors is empty; 0 means the set alone")
	case o.words < 1:
		return errors.New("--words must be at least 1")
	case o.limit < 1:
		return errors.New("--limit must be at least 1")
	}
	return nil
}

// fitGate fits the weights of words, and then both kinds of weights of the gate, each to
// the results of its kind of search.
func fitGate(ctx context.Context, o options, out, progress io.Writer) error {
	in, err := readInput(o)
	if err != nil {
		return err
	}
	request, odds := requestOdds(in.classes(in.fitted), o.words)
	if err := writeRequest(o.request, request); err != nil {
		return err
	}
	for _, kind := range []struct {
		mode bench.Mode
		name string // field of rank.Gate
	}{{bench.Hybrid, "Vectors"}, {bench.Text, "Text"}} {
		var sets, grown []group
		for _, c := range in.catalogs(o) {
			fmt.Fprintf(progress, "%s search for %d prompts in %s + %d skills\n", kind.mode, len(c.prompts), c.set.Name, c.others)
			g, err := in.search(ctx, kind.mode, c)
			if err != nil {
				return err
			}
			if c.set == in.corpus {
				grown = append(grown, g)
			} else {
				sets = append(sets, g)
			}
		}
		if err := in.report(out, kind.name, sets, grown, odds, o.words); err != nil {
			return fmt.Errorf("fitting to %s search: %w", kind.mode, err)
		}
	}
	return nil
}

// writeRequest writes the weights of words to a file; "" means to none.
func writeRequest(file string, m *requestModel) error {
	if file == "" {
		return nil
	}
	var text strings.Builder
	if err := m.write(&text); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text.String()), 0o666)
}

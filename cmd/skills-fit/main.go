// Command skills-fit fits the gate to labelled sets: it indexes each, alone and
// among other skills, searches for its prompts, and prints the weights with
// which the best hits tell best whether a prompt wants a skill, and how well they
// tell it. They hold for the built-in embedder; fit again after a new model and
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

const usage = `usage: skills-fit --dataset DIR --dataset DIR --none DIR --corpus FILE [flags]

The sets are folders in the BEIR layout, see "skills bench --help". Of --none
only queries.jsonl is read, and of it the prompts of the kinds none, no_tool and
hard_negative_none; they are asked in every catalog. The corpus is a file of JSON
lines, gzipped if its name ends in .gz, with name, description and body of a
skill each: the skills that are mixed in. The report goes to standard output.
`

// options are what a fit is made of.
type options struct {
	datasets, none []string
	corpus         string
	distractors    []int // numbers of skills of the corpus that are mixed into each set
	grow           []int // numbers of skills of the corpus that make a catalog of their own
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
	f.StringVar(&o.corpus, "corpus", "", "JSON lines of the skills to mix in")
	f.Func("distractors", "how many of them are mixed into each set, by commas (default 0,3000)", numbers(&o.distractors))
	f.Func("grow", "how many of them make a catalog to ask what needs no skill, by commas (default 50,200,1000,5000,20000)", numbers(&o.grow))
	f.IntVar(&o.limit, "limit", 600, "most prompts of a set that need a skill, and that need none")
	f.Uint64Var(&o.seed, "seed", 1, "of the samples")
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

// numbers returns a flag's function that replaces list; "" empties it.
func numbers(list *[]int) func(string) error {
	return func(s string) error {
		*list = nil
		if s == "" {
			return nil
		}
		for field := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(field))
			if err != nil || n < 0 {
				return fmt.Errorf("%q is no number of skills", field)
			}
			*list = append(*list, n)
		}
		return nil
	}
}

// check reports the first option that makes no sense.
func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected arguments: %s", strings.Join(rest, " "))
	case len(o.datasets) < 2:
		return errors.New("--dataset is needed twice: each set is predicted from the others")
	case len(o.none) == 0 || o.corpus == "":
		return errors.New("--none and --corpus are needed")
	case len(o.distractors) == 0:
		return errors.New("--distractors is needed; 0 is a set alone")
	case o.limit < 1:
		return errors.New("--limit is at least 1")
	}
	return nil
}

// fitGate fits the two kinds of weights, each to what its kind of search finds.
func fitGate(ctx context.Context, o options, out, progress io.Writer) error {
	in, err := readInput(o)
	if err != nil {
		return err
	}
	for _, kind := range []struct {
		mode bench.Mode
		name string // of the field of rank.Gate
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
		if err := writeReport(out, kind.name, sets, grown); err != nil {
			return fmt.Errorf("fitting to %s search: %w", kind.mode, err)
		}
	}
	return nil
}

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
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/search"
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
output, the weights of words to the file --request. With --encoder it fits the weights for
catalogs with vectors of this contextual encoder, too, and writes to --extras how the encoder
tells what a prompt asks for, and its vectors of the prompts that set thresholds.
`

// options are the settings of a fit.
type options struct {
	datasets, none []string
	corpus         string
	prompts, calm  string
	request        string // file to write
	encoder        string // file of the packed model; "" means none
	extras         string // file to write what comes with the model to; "" means none
	vectors        string // file in which its vectors are kept; "" means none
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
	f.StringVar(&o.encoder, "encoder", "", "packed model of the contextual encoder; empty means that its weights are not fitted")
	f.StringVar(&o.extras, "extras", "", "file to write what comes with the model to; empty means none is written")
	f.StringVar(&o.vectors, "vectors", "", "file in which the vectors of the encoder are kept for the next run; empty means none")
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

// fitGate fits the weights of words, and then each kind of weights of the gate to the results
// of its kind of search.
func fitGate(ctx context.Context, o options, out, progress io.Writer) error {
	in, err := readInput(o)
	if err != nil {
		return err
	}
	words, meaning, err := in.requestModels(ctx, o)
	if err != nil {
		return err
	}
	if err := errors.Join(writeRequest(o.request, words), in.writeExtras(ctx, o.extras, meaning)); err != nil {
		return err
	}
	for _, kind := range in.kinds() {
		var sets, grown []group
		for _, c := range in.catalogs(o) {
			fmt.Fprintf(progress, "%s: search for %d prompts in %s + %d skills\n", kind.name, len(c.prompts), c.set.Name, c.others)
			g, err := in.search(ctx, kind, c)
			if err != nil {
				return err
			}
			if c.set == in.corpus {
				grown = append(grown, g)
			} else {
				sets = append(sets, g)
			}
		}
		if err := in.report(out, kind, sets, grown, o.words); err != nil {
			return fmt.Errorf("fitting %s: %w", kind.name, err)
		}
	}
	return nil
}

// A kind of search has weights of its own.
type kind struct {
	name    string // field of rank.Gate
	mode    bench.Mode
	encoder embed.Embedder // nil means none
}

func (in *input) kinds() []kind {
	list := []kind{{"Vectors", bench.Hybrid, nil}, {"Text", bench.Text, nil}}
	if in.encoder != nil {
		list = append([]kind{{"Contextual", bench.Hybrid, in.encoder}}, list...)
	}
	return list
}

// requestModels fits the models that tell whether a prompt asks for a task, by its words and
// by its meaning; the second is nil without an encoder.
func (in *input) requestModels(ctx context.Context, o options) (words, meaning *requestModel, err error) {
	classes := in.classes(in.fitted)
	words = newRequestModel(classes, o.words)
	odds := words.requestOdds(classes)
	if in.encoder == nil {
		return words, nil, nil
	}
	for _, c := range classes {
		if err := in.encoder.learn(ctx, c.texts); err != nil {
			return nil, nil, err
		}
	}
	meaning = newMeaningModel(in.encoder, odds)
	meaning.fit(classes, func(string) bool { return false })
	return words, meaning, nil
}

// writeExtras writes what comes with the model to a file; "" means to none.
func (in *input) writeExtras(ctx context.Context, file string, meaning *requestModel) error {
	if file == "" || in.encoder == nil {
		return nil
	}
	prompts, err := new(search.Calibrator).Prompts()
	if err != nil {
		return err
	}
	x := contextual.Extras{Queries: prompts}
	for i, w := range meaning.weights {
		if i > 1 {
			w *= meaningScale
		}
		x.Request = append(x.Request, float32(w))
	}
	if x.Vectors, err = in.encoder.Embed(ctx, embed.Query, prompts); err != nil {
		return err
	}
	return os.WriteFile(file, in.encoder.EncodeExtras(&x), 0o666)
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

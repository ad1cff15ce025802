// Command skills-fit fits the weights of rank.Gate. It makes catalogs of published skills, asks in each
// the prompts of skills that are there, of skills that are not, and prompts that need none, and finds
// the weights that best predict from the best hit whether it is what the prompt wants. It prints the
// weights and how good the predictions are for other prompts. The weights hold for the built-in
// embedder: after a change of its model, run the command again and copy the weights to rank.DefaultGate.
package main

import (
	"bytes"
	"context"
	"encoding/json"
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

const usage = `usage: skills-fit --corpus FILE --gate FILE --prompts FILE --calm FILE [flags]

All files are JSON lines, gzipped if the name ends in .gz. The corpus has the repo, path, name,
description and body of one skill each. --gate names skills of it by repo and path, with prompts for
each that no model was trained on: the gate is fitted to these, and some of them set thresholds in a
catalog. --check is such a file, to measure. --prompts has prompts that ask for a task and a near_miss,
which is about the same subject and asks for none: with them, and with the prompts of --dataset (folders
in the BEIR layout), it fits how a request is told by its words. --calm has a prompt that needs no skill
and its category; of each category the first, third … prompt is fitted to, the others are those that set
thresholds in a catalog. The prompts of --none measure.

The report goes to standard output, the weights of words to the file --request, and the prompts for work
that set thresholds to --work. With --encoder it fits the weights for catalogs with vectors of this
contextual encoder, too, and writes to --extras how the encoder tells what a prompt asks for, and its
vectors of the prompts that set thresholds; they must be compiled in before, so run it twice.
`

// options are the settings of a fit.
type options struct {
	datasets, none []string
	corpus         string
	gate, check    string
	prompts, calm  string
	work           string // file to write
	request        string // file to write
	encoder        string // file of the packed model; "" means none
	extras         string // file to write what comes with the model to; "" means none
	vectors        string // file in which its vectors are kept; "" means none
	words          int    // how many words get a weight
	sizes          []int  // of the catalogs, each of which is made anew
	limit          int
	seed           uint64
}

// run executes the command and returns its exit code: 0, 1 for errors, 2 for
// wrong usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := options{sizes: []int{12, 12, 12, 12, 30, 30, 60, 60, 120, 120, 400, 400, 1000, 4000}}
	f := flag.NewFlagSet("skills-fit", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage); f.PrintDefaults() }
	f.StringVar(&o.corpus, "corpus", "", "published skills")
	f.StringVar(&o.gate, "gate", "", "prompts of skills to fit the gate to")
	f.StringVar(&o.check, "check", "", "prompts of other skills, to measure; empty means none")
	f.StringVar(&o.prompts, "prompts", "", "prompts that ask for a task")
	f.StringVar(&o.calm, "calm", "", "prompts that need no skill")
	f.Func("dataset", "folder of a labelled set (repeatable)", func(s string) error { o.datasets = append(o.datasets, s); return nil })
	f.Func("none", "folder of prompts that need no skill, to measure (repeatable)", func(s string) error { o.none = append(o.none, s); return nil })
	f.StringVar(&o.request, "request", "", "file to write the weights of words to; empty means none is written")
	f.StringVar(&o.work, "work", "", "file to write the prompts for work to; empty means none is written")
	f.StringVar(&o.encoder, "encoder", "", "packed model of the contextual encoder; empty means that its weights are not fitted")
	f.StringVar(&o.extras, "extras", "", "file to write what comes with the model to; empty means none is written")
	f.StringVar(&o.vectors, "vectors", "", "file in which the vectors of the encoder are kept for the next run; empty means none")
	f.IntVar(&o.words, "words", 1500, "how many words get a weight")
	f.Func("sizes", "numbers of skills of the catalogs, separated by commas", numbers(&o.sizes))
	f.IntVar(&o.limit, "limit", 120, "at most so many prompts of a set, and skills of a catalog whose prompts are asked")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the samples")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if err := o.invalid(f.Args()); err != nil {
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

// invalid returns an error for the first invalid option.
func (o *options) invalid(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected arguments: %s", strings.Join(rest, " "))
	case o.corpus == "" || o.gate == "" || o.prompts == "" || o.calm == "":
		return errors.New("--corpus, --gate, --prompts and --calm are required")
	case len(o.sizes) == 0:
		return errors.New("--sizes is empty")
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
	if err := errors.Join(writeRequest(o.request, words), in.writeWork(o.work), in.writeExtras(ctx, o.extras, meaning)); err != nil {
		return err
	}
	for _, kind := range in.kinds() {
		var groups [2][]group // to fit to, and to measure
		for i, of := range [2]struct {
			list     []owned
			needless []string
		}{{in.gate, in.calm}, {in.check, in.measured}} {
			for _, c := range in.catalogs(of.list, of.needless, o) {
				fmt.Fprintf(progress, "%s: search for %d prompts in %s\n", kind.name, len(c.prompts), c.name)
				g, err := in.search(ctx, kind, c)
				if err != nil {
					return err
				}
				groups[i] = append(groups[i], g)
			}
		}
		if err := in.report(out, kind, groups[0], groups[1], o.words); err != nil {
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
	classes := in.classes()
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
	var purposes []string
	for _, w := range in.work() {
		purposes = append(purposes, w.skill.Purpose())
	}
	if x.Subjects, err = in.encoder.Embed(ctx, embed.Document, purposes); err != nil {
		return err
	}
	return os.WriteFile(file, in.encoder.EncodeExtras(&x), 0o666)
}

// writeWork writes the prompts for work that set thresholds to a file; "" means to none.
func (in *input) writeWork(file string) error {
	if file == "" {
		return nil
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	for _, w := range in.work() {
		if err := lines.Encode(map[string]string{"prompt": w.prompts[0], "skill": w.skill.Name}); err != nil {
			return err
		}
	}
	return os.WriteFile(file, text.Bytes(), 0o666)
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

// Command skills-train trains the built-in embedder on a corpus of skills. It learns
// a vector for every frequent word, and for the 4-grams of all other words, so that
// texts of one skill are near to each other and far from texts of other skills. The
// same corpus, settings and kind of processor give the same weights.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const usage = `usage: skills-train --corpus FILE --out FILE [flags]

The corpus is a file of JSON lines, gzipped if its name ends in .gz, with the name,
description, body and license of one skill each. The command writes the model to the
file of --out, and how and from what it was made to FILE.json. --dev names the folder
of a labelled set in the BEIR layout and may be repeated: during training, the command
prints how relevant a ranking by the vectors alone is on that set. --prompts is a file of
JSON lines with repo and path of a skill of the corpus and prompts that people might write
who need it; --parallel one of phrases, each by language.
`

// options are the settings of a training. The manifest records them.
type options struct {
	Corpus  string   `json:"-"`
	Out     string   `json:"-"`
	Dev     []string `json:"-"`
	Name    string   `json:"name"`
	Dim     int      `json:"dim"`
	Words   int      `json:"words"`
	Buckets int      `json:"buckets"`
	Batch   int      `json:"batch"`
	Steps   int      `json:"steps"`
	Rate    float64  `json:"rate"`
	Heat    float64  `json:"temperature"`
	Seed    uint64   `json:"seed"`
	Every   int      `json:"-"`

	Prompts       string  `json:"-"`
	PromptShare   float64 `json:"prompt_share"` // of the pairs of a skill for which prompts were written
	Drop          float64 `json:"drop"`         // share of the words of such a prompt that is left out
	Parallel      string  `json:"-"`
	ParallelShare float64 `json:"parallel_share"` // of all pairs
}

// run executes the command and returns its exit code: 0, 1 for errors, 2 for
// wrong usage.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	f := flag.NewFlagSet("skills-train", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage); f.PrintDefaults() }
	f.StringVar(&o.Corpus, "corpus", "", "JSON lines of skills")
	f.StringVar(&o.Out, "out", "", "file to write the model to")
	f.Func("dev", "folder of a labelled set to measure on (repeatable)", func(s string) error { o.Dev = append(o.Dev, s); return nil })
	f.StringVar(&o.Name, "name", "v1", "name of the model")
	f.IntVar(&o.Dim, "dim", 256, "dimension of the vectors")
	f.IntVar(&o.Words, "words", 60_000, "at most so many words get a vector of their own")
	f.IntVar(&o.Buckets, "buckets", 26_000, "vectors that the 4-grams of all other words share")
	f.IntVar(&o.Batch, "batch", 1024, "pairs in a step")
	f.IntVar(&o.Steps, "steps", 2000, "steps")
	f.Float64Var(&o.Rate, "rate", .003, "highest learning rate")
	f.Float64Var(&o.Heat, "temperature", .05, "temperature of the softmax over the batch")
	f.Uint64Var(&o.Seed, "seed", 1, "random seed of the training")
	f.StringVar(&o.Prompts, "prompts", "", "JSON lines of prompts that were written for skills of the corpus")
	f.Float64Var(&o.PromptShare, "prompt-share", .6, "share of these prompts among the pairs of their skill")
	f.Float64Var(&o.Drop, "drop", 0, "share of the words of these prompts that is left out each time")
	f.StringVar(&o.Parallel, "parallel", "", "JSON lines of phrases in several languages")
	f.Float64Var(&o.ParallelShare, "parallel-share", .08, "share of these phrases among all pairs")
	f.IntVar(&o.Every, "every", 500, "steps between measurements")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if err := o.check(f.Args()); err != nil {
		fmt.Fprintf(stderr, "skills-train: %v\n%s", err, usage)
		return 2
	}
	if err := train(ctx, o, stdout); err != nil {
		fmt.Fprintln(stderr, "skills-train:", err)
		return 1
	}
	return 0
}

// check returns an error for the first invalid option.
func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected arguments: %s", strings.Join(rest, " "))
	case o.Corpus == "" || o.Out == "":
		return errors.New("--corpus and --out are required")
	case o.Dim < 1 || o.Words < 1 || o.Buckets < 1 || o.Steps < 1 || o.Every < 1:
		return errors.New("--dim, --words, --buckets, --steps and --every must be at least 1")
	case o.Batch < 2:
		return errors.New("--batch must be at least 2: a pair is compared with the others")
	case o.Rate <= 0 || o.Heat <= 0:
		return errors.New("--rate and --temperature must be above 0")
	}
	return nil
}

// train reads the corpus, trains a model and writes it.
func train(ctx context.Context, o options, out io.Writer) error {
	start := time.Now()
	c, err := readCorpus(o.Corpus)
	if err != nil {
		return err
	}
	asked, phrases, err := c.addPrompts(o)
	if err != nil {
		return err
	}
	v := countWords(c.skills, asked, o.Words)
	fmt.Fprintf(out, "%d skills, %d words; the rarest word is in %d skills\n", len(c.skills), len(v.words), v.rarest)
	dev, err := readDevSets(o.Dev)
	if err != nil {
		return err
	}
	t := newTrainer(o, v)
	s := newSampler(o, encodeSkills(c.skills, v, o.Buckets), encodePhrases(phrases, v, o.Buckets))
	if s.usable() < o.Batch {
		return fmt.Errorf("%d skills of %s have enough text, but a batch needs %d", s.usable(), o.Corpus, o.Batch)
	}
	m := manifest{Options: o, Corpus: c.summary()}
	for step := range o.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		t.step(s.batch(o.Batch), step)
		if (step+1)%o.Every == 0 || step == o.Steps-1 {
			fmt.Fprintf(out, "step %d, loss %.3f, %s", step+1, t.loss, time.Since(start).Round(time.Second))
			if m.Dev, err = dev.measure(t.weights()); err != nil {
				return err
			}
			fmt.Fprintf(out, ": %s\n", m.Dev)
		}
	}
	return m.write(o.Out, t.weights())
}

// manifest records how a model was made and from what.
type manifest struct {
	Model   string        `json:"model"`
	Options options       `json:"options"`
	Corpus  corpusSummary `json:"corpus"`
	Dev     devResults    `json:"dev,omitempty"`
	Notice  string        `json:"notice"`
}

// notice is the licence notice of the training set.
const notice = "The vectors were learned from skills under the licences counted in corpus; no text of them is in the model."

// write writes the model to the file name and the manifest to name.json.
func (m *manifest) write(name string, w static.Weights) error {
	data, err := static.Encode(w)
	if err != nil {
		return err
	}
	e, err := static.New(string(data))
	if err != nil {
		return err
	}
	m.Model, m.Notice = e.Model(), notice
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Replace(name, data, 0o644, nil); err != nil {
		return fmt.Errorf("writing model: %w", err)
	}
	return atomicfile.Replace(name+".json", append(text, '\n'), 0o644, nil)
}

// Command skills-encoder packs the weights of the contextual encoder, which train.py beside it
// has trained, into the file that is built in: it rounds them to 8 bits and orders them as the
// processor reads them. train.py calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/repertoire-skills/repertoire/embed/contextual"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

const usage = `usage: skills-encoder --weights FILE --vocabulary FILE --out FILE [flags]
       skills-encoder --data FOLDER --out FILE

With --data it writes what train.py learns from: what the encoder reads of each skill of a
corpus, and the prompts of some with the skills that the program finds wrongly for them.

The weights are a safetensors file of a BERT model, with the names that its authors gave the
tensors, and "largest.NAME" for how large the inputs of the matrix NAME become. The vocabulary
has a piece in each line.
`

// run executes the command and returns its exit code: 0, 1 for errors, 2 for wrong usage.
func run(args []string, stderr io.Writer) int {
	f := flag.NewFlagSet("skills-encoder", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage); f.PrintDefaults() }
	weights := f.String("weights", "", "safetensors file of the weights")
	vocabulary := f.String("vocabulary", "", "file of the pieces of words")
	data := f.String("data", "", "folder with corpus and prompts, see train.py")
	out := f.String("out", "", "file to write to")
	name := f.String("name", "v1", "name of the model")
	heads := f.Int("heads", 12, "attention heads of a layer")
	positions := f.Int("positions", 128, "pieces of a text that count")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case *data != "" && *out != "" && *weights == "" && *vocabulary == "" && f.NArg() == 0:
		if err := writePairs(context.Background(), *data, *out); err != nil {
			fmt.Fprintln(stderr, "skills-encoder:", err)
			return 1
		}
		return 0
	case *weights == "" || *vocabulary == "" || *out == "" || f.NArg() > 0:
		fmt.Fprint(stderr, "skills-encoder: --weights, --vocabulary and --out are required, and nothing else\n"+usage)
		return 2
	}
	if err := pack(*weights, *vocabulary, *out, shape{*name, *heads, *positions}); err != nil {
		fmt.Fprintln(stderr, "skills-encoder:", err)
		return 1
	}
	return 0
}

// shape is what the tensors do not say of a model.
type shape struct {
	name             string
	heads, positions int
}

func pack(weights, vocabulary, out string, s shape) error {
	t, err := readTensors(weights)
	if err != nil {
		return err
	}
	pieces, err := readPieces(vocabulary)
	if err != nil {
		return err
	}
	w, err := t.model(pieces, s)
	if err != nil {
		return fmt.Errorf("%s: %w", weights, err)
	}
	data, err := contextual.Encode(w)
	if err != nil {
		return fmt.Errorf("%s: %w", weights, err)
	}
	return os.WriteFile(out, data, 0o644)
}

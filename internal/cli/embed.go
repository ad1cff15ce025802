package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/words"
)

const embedHelp = `Embed gives every text of the catalog that lacks one a vector of the configured
embedder, and then lists the embedders that can be used. The built-in embedder
is so fast that other commands do this by themselves; with an embeddings server
"skills index" does. An interrupted run keeps what it did.

With --model it embeds nothing and only lists, or tells about one embedder:
static (built in), none (ranking by text alone) or openai (a server, when one is
configured). The configuration chooses one of them:
  embedder: static
  embedder: none
  embedder: {openai: {base_url: "http://127.0.0.1:11434/v1", model: NAME}}
Until nearly every text has a vector of a newly chosen embedder, the vectors of
the built-in one rank if the catalog still has them, and otherwise text. Vectors
of two models are never mixed; the old ones are removed when the new ones are
complete.

Each line holds name, model, dimension, how many of all texts have a vector, and
"in use" for the configured one, separated by tabs.

--json prints an object with mode (what ranking is based on now) and embedders,
a list of objects with name, model, dimension (0: not known yet), embedded,
texts and in_use.`

func (a *app) embedCommand() *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:     "embed",
		Short:   "Embed what has no vector yet, or list the embedders",
		Long:    embedHelp,
		Example: "  skills embed\n  skills embed --model\n  skills embed --model=static --json",
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list := cmd.Flags().Changed("model")
			if len(args) == 1 {
				if !list || only != allEmbedders { // "--model static" is the flag and an argument
					return noCommand(cmd, args)
				}
				only = args[0]
			}
			return a.embedders(cmd, list, only)
		},
	}
	cmd.Flags().StringVar(&only, "model", "", "only list the embedders, or the one of this `name`")
	cmd.Flags().Lookup("model").NoOptDefVal = allEmbedders
	return cmd
}

// allEmbedders is the value of --model without a name.
const allEmbedders = "all"

func (a *app) embedders(cmd *cobra.Command, list bool, only string) error {
	ctx := cmd.Context()
	s, err := a.settings()
	if err != nil {
		return err
	}
	if err := checkEmbedder(s, only); err != nil {
		return &usageError{cmd.CommandPath(), err}
	}
	if !list && s.Embedder.Name == repertoire.EmbedderNone {
		return errors.New("nothing to embed with: the configured embedder is none")
	}
	c, err := a.openWith(ctx, s, repertoire.Never)
	if err != nil {
		return err
	}
	defer c.Close()
	if list {
		err = a.refresh(ctx, c, freshen)
	} else {
		err = a.embedAll(ctx, c)
	}
	if err != nil {
		return err
	}
	out, err := embeddersOf(ctx, c, s, only)
	if err != nil {
		return err
	}
	return a.printEmbedders(out)
}

// checkEmbedder refuses a name that is no embedder that can be used.
func checkEmbedder(s repertoire.Settings, name string) error {
	known := usable(s)
	if name == "" || name == allEmbedders || slices.Contains(known, name) {
		return nil
	}
	err := fmt.Errorf("no embedder %q%s", name, words.Suggest(name, known))
	if name == repertoire.EmbedderOpenAI {
		err = fmt.Errorf("%w (no embeddings server is configured)", err)
	}
	return err
}

// usable names the embedders that the configuration lets one use.
func usable(s repertoire.Settings) []string {
	names := []string{repertoire.EmbedderStatic, repertoire.EmbedderNone}
	if s.Embedder.OpenAI != nil {
		names = append(names, repertoire.EmbedderOpenAI)
	}
	return names
}

func (a *app) embedAll(ctx context.Context, c *catalog) error {
	if err := a.rescan(ctx, c); err != nil {
		return err
	}
	bar := a.progress("embedding", 1)
	defer bar.done()
	return c.Embed(ctx, bar.set)
}

// embeddersOf describes all embedders that can be used, or only one.
func embeddersOf(ctx context.Context, c *catalog, s repertoire.Settings, only string) (embedResult, error) {
	var out embedResult
	for _, name := range usable(s) {
		if only != "" && only != allEmbedders && only != name {
			continue
		}
		e, err := repertoire.EmbedderSetting{Name: name, OpenAI: s.Embedder.OpenAI}.New()
		if err != nil {
			return out, err
		}
		covered, err := c.Coverage(ctx, e.Model())
		if err != nil {
			return out, err
		}
		out.Embedders = append(out.Embedders, embedderEntry{Name: name, Model: e.Model(), Dimension: dimension(e, s, covered),
			Embedded: covered.Embedded, Texts: covered.Texts, InUse: name == s.Embedder.Name})
	}
	var err error
	out.Mode, err = c.mode(ctx)
	return out, err
}

// dimension returns that of the vectors of e, 0 when only its server knows.
func dimension(e embed.Embedder, s repertoire.Settings, covered repertoire.Coverage) int {
	switch e := e.(type) {
	case *static.Embedder:
		return e.Dim()
	case *openai.Embedder:
		return cmp.Or(covered.Dim, s.Embedder.OpenAI.Dimensions)
	}
	return 0
}

func (a *app) printEmbedders(out embedResult) error {
	if a.json {
		return a.printJSON(out)
	}
	var rows [][]string
	for _, e := range out.Embedders {
		row := []string{e.Name, e.Model, strconv.Itoa(e.Dimension), fmt.Sprintf("%d of %d", e.Embedded, e.Texts), ""}
		if e.InUse {
			row[4] = "in use"
		}
		rows = append(rows, row)
	}
	if err := a.rows([]string{"NAME", "MODEL", "DIMENSION", "EMBEDDED", ""}, rows); err != nil {
		return err
	}
	if a.verbose {
		a.note("ranking: %s", out.Mode)
	}
	return nil
}

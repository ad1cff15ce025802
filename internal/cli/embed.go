package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/config"
)

const embedHelp = `Embed computes missing embeddings with the configured embedder, then lists the
embedders that can be used. The built-in embedder is so fast that other commands
do this by themselves; with an embeddings server "skills index" does it. An
interrupted run keeps what it did.

With --model it embeds nothing and only lists all embedders, or one of them:
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

func newEmbedCommand(e env) *cobra.Command {
	var only string
	cmd := &cobra.Command{
		Use:     "embed",
		Short:   "Embed what has no vector yet, or list the embedders",
		Long:    embedHelp,
		Example: "  skills embed\n  skills embed --model\n  skills embed --model=static --json",
		Args:    args(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := e.session(cmd)
			list := cmd.Flags().Changed("model")
			if len(args) == 1 {
				if !list || only != allEmbedders { // "--model static" is the flag and an argument
					return noCommand(cmd, args)
				}
				only = args[0]
			}
			return runEmbed(s, cmd, list, only)
		},
	}
	cmd.Flags().StringVar(&only, "model", "", "only list the embedders, or the embedder with this `name`")
	cmd.Flags().Lookup("model").NoOptDefVal = allEmbedders
	return cmd
}

// allEmbedders is the value of --model without a name.
const allEmbedders = "all"

func runEmbed(s *session, cmd *cobra.Command, list bool, only string) error {
	ctx := cmd.Context()
	settings, err := s.settings()
	if err != nil {
		return err
	}
	choices := settings.Embedders()
	if only != "" && only != allEmbedders {
		e, err := settings.FindEmbedder(only)
		if err != nil {
			return &usageError{cmd.CommandPath(), err}
		}
		choices = []config.Embedder{e}
	}
	if !list && settings.Embedder.Name == config.EmbedderNone {
		return errors.New("nothing to embed with: the configured embedder is none")
	}
	c, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if list {
		err = s.refresh(ctx, c, freshen)
	} else if _, err = s.rescan(ctx, c); err == nil {
		if err = errors.Join(embedMissing(ctx, s.screen, c.Owner().EmbedWords), embedMissing(ctx, s.screen, c.Owner().EmbedSentences)); err == nil {
			err = calibrate(ctx, s.screen, c)
		}
	}
	if err != nil {
		return err
	}
	return printEmbedders(ctx, s.screen, c, choices, settings.Embedder.Name)
}

// embedMissing computes missing vectors, with a progress bar.
func embedMissing(ctx context.Context, ui *screen, embed func(context.Context, func(done, all int)) error) error {
	bar := ui.progress("embedding", 1)
	defer bar.done()
	return embed(ctx, bar.set)
}

// printEmbedders describes embedders; inUse is the name of the configured one.
func printEmbedders(ctx context.Context, ui *screen, c *catalog, choices []config.Embedder, inUse string) error {
	mode, err := c.Mode(ctx)
	if err != nil {
		return err
	}
	out := embedResult{Mode: mode}
	for _, choice := range choices {
		e, err := choice.New()
		if err != nil {
			return err
		}
		covered, err := c.Owner().Coverage(ctx, e.Model())
		if err != nil {
			return err
		}
		out.Embedders = append(out.Embedders, embedderEntry{Name: choice.Name, Model: e.Model(), Dimension: cmp.Or(covered.Dim, choice.Dimension()),
			Embedded: covered.Embedded, Texts: covered.Texts, InUse: choice.Name == inUse})
	}
	err = ui.tableOr(out, []string{"NAME", "MODEL", "DIMENSION", "EMBEDDED", ""}, mapped(out.Embedders, embedderRow))
	if !ui.json {
		ui.noteVerbose("ranking: %s", mode)
	}
	return err
}

func embedderRow(e embedderEntry) []string {
	use := ""
	if e.InUse {
		use = "in use"
	}
	return cells(e.Name, e.Model, e.Dimension, fmt.Sprintf("%d of %d", e.Embedded, e.Texts), use)
}

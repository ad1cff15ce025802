package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/detect"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// benchEmbedder are the flags that choose the embedder that bench measures.
type benchEmbedder struct {
	name  string // "" means the configured one
	ports portFlag
}

// detected is the name of an embedder that is looked for on this machine.
const detected = "detect"

func (b *benchEmbedder) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.name, "embedder", "", "measure with this embedder: `static`, none, openai, detect or detect=MODEL")
	b.ports.flag(cmd)
}

func (b *benchEmbedder) check() error {
	name, model, found := strings.Cut(b.name, "=")
	names := []string{config.EmbedderStatic, config.EmbedderNone, config.EmbedderOpenAI, detected}
	switch {
	case b.name != "" && !slices.Contains(names, name), found && (name != detected || model == ""):
		return fmt.Errorf("no embedder %q%s", b.name, words.Suggest(name, append(names, detected+"=MODEL")))
	case len(b.ports) > 0 && name != detected:
		return fmt.Errorf("--port is for --embedder detect")
	}
	return b.ports.check()
}

// open returns the chosen embedder.
func (b *benchEmbedder) open(ctx context.Context, s *config.Settings) (embed.Embedder, error) {
	choice := s.Embedder
	name, model, _ := strings.Cut(b.name, "=")
	if name == detected {
		c, err := detect.Choose(b.ports.find(ctx, s.Embedder.OpenAI), model)
		if err != nil {
			return nil, err
		}
		e, err := c.Embedder()
		if err != nil {
			return nil, err // not e: a nil *Embedder in an interface is not nil
		}
		return e, nil
	}
	if name != "" {
		var err error
		if choice, err = s.FindEmbedder(name); err != nil {
			return nil, err
		}
	}
	e, err := choice.New()
	if err != nil {
		return nil, fmt.Errorf("configuring embedder: %w", err)
	}
	return e, nil
}

package doctor

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/registries"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// Servers asks the embedder, the reranker and the registries, which may be nil, and reports which are silent or refuse the key.
func Servers(ctx context.Context, cfg repertoire.Config, from *registries.Client, wait time.Duration) []skill.Problem {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var all sync.WaitGroup
	found := make([][]skill.Problem, 3)
	if by, err := config.EmbeddingBy(cfg.Embedder, cfg.Contextual); err == nil && by.Embedder != nil && !by.Inline {
		all.Go(func() {
			_, err := by.Embedder.Embed(ctx, embed.Query, []string{"skills"})
			found[0] = silent("embedder", err)
		})
	}
	if cfg.Reranker != nil {
		all.Go(func() {
			_, err := cfg.Reranker.Rerank(ctx, "skills", []string{"skills"})
			found[1] = silent("reranker", err)
		})
	}
	if from != nil {
		all.Go(func() {
			failed := from.Check(ctx)
			for _, name := range slices.Sorted(maps.Keys(failed)) {
				found[2] = append(found[2], silent("registry "+name, failed[name])...)
			}
		})
	}
	all.Wait()
	return slices.Concat(found...)
}

// silent returns the finding for a server that has not answered; none if err is nil.
func silent(who string, err error) []skill.Problem {
	if err == nil {
		return nil
	}
	p := skill.Problem{Rule: "server-silent", Severity: skill.Warning, Path: "configuration", Message: "the " + who + " does not answer: " + tidy.Line(err.Error())}
	// What a server says itself stands behind.
	before, why, ok := strings.Cut(err.Error(), ": "+endpoint.RefusedBy)
	if ok && (strings.Contains(before, strconv.Itoa(http.StatusUnauthorized)) || strings.Contains(before, strconv.Itoa(http.StatusForbidden))) {
		p.Rule, p.Severity, p.Message = ruleRefused, skill.Error, "the "+who+" is "+endpoint.RefusedBy+tidy.Line(why)
	}
	return []skill.Problem{p}
}

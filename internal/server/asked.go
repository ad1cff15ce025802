package server

import (
	"context"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/search"
)

// asked is the catalog as MCP clients ask it: without what a person has switched off in the client
// that a request is from.
type asked struct {
	*repertoire.Catalog
	here bool // the clients are of this machine, so that their settings are known
}

// by returns the agent as the client of a request asks for it.
func (c asked) by(ctx context.Context, a *search.Agent) *search.Agent {
	if name := client.Calling(mcpserver.ClientName(ctx)); c.here && name != "" {
		return a.For(name)
	}
	return a
}

func (c asked) Block(ctx context.Context, prompt string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error) {
	return c.Catalog.Block(ctx, prompt, b, c.by(ctx, a))
}

func (c asked) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	q.Agent = c.by(ctx, q.Agent)
	return c.Catalog.Search(ctx, q)
}

func (c asked) List(ctx context.Context, a *search.Agent, o *search.ListOptions) ([]search.Entry, error) {
	return c.Catalog.List(ctx, c.by(ctx, a), o)
}

func (c asked) Body(ctx context.Context, id string, a *search.Agent) (contextprovider.Body, error) {
	return c.Catalog.Body(ctx, id, c.by(ctx, a))
}

func (c asked) File(ctx context.Context, id, name string, a *search.Agent) (contextprovider.File, error) {
	return c.Catalog.File(ctx, id, name, c.by(ctx, a))
}

func (c asked) FindText(ctx context.Context, q contextprovider.TextQuery, a *search.Agent) (contextprovider.Passages, error) {
	return c.Catalog.FindText(ctx, q, c.by(ctx, a))
}

func (c asked) Script(ctx context.Context, id string, a *search.Agent) (search.Script, error) {
	return c.Catalog.Script(ctx, id, c.by(ctx, a))
}

func (c asked) Listing(ctx context.Context, id string, a *search.Agent, digests bool) (contextprovider.Listing, error) {
	return c.Catalog.Listing(ctx, id, c.by(ctx, a), digests)
}

func (c asked) Outline(ctx context.Context, id string, a *search.Agent) (contextprovider.Manifest, error) {
	return c.Catalog.Outline(ctx, id, c.by(ctx, a))
}

func (c asked) Manifest(ctx context.Context, id string, a *search.Agent) (contextprovider.Manifest, error) {
	return c.Catalog.Manifest(ctx, id, c.by(ctx, a))
}

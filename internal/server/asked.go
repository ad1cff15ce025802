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
	catalog *repertoire.Catalog // not embedded: what it learns to do later must not be promoted past the switches
	here    bool                // the clients are of this machine, so that their settings are known
}

// by returns the agent as the client of a request asks for it.
func (c asked) by(ctx context.Context, a *search.Agent) *search.Agent {
	if !c.here {
		return a
	}
	return a.For(client.Calling(mcpserver.ClientName(ctx)))
}

func (c asked) Unread(ctx context.Context) (int, error) { return c.catalog.Unread(ctx) }

func (c asked) Block(ctx context.Context, prompt string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error) {
	return c.catalog.Block(ctx, prompt, b, c.by(ctx, a))
}

func (c asked) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	q.Agent = c.by(ctx, q.Agent)
	return c.catalog.Search(ctx, q)
}

func (c asked) List(ctx context.Context, a *search.Agent, o *search.ListOptions) ([]search.Entry, error) {
	return c.catalog.List(ctx, c.by(ctx, a), o)
}

func (c asked) Body(ctx context.Context, id string, a *search.Agent) (contextprovider.Body, error) {
	return c.catalog.Body(ctx, id, c.by(ctx, a))
}

func (c asked) File(ctx context.Context, id, name string, a *search.Agent) (contextprovider.File, error) {
	return c.catalog.File(ctx, id, name, c.by(ctx, a))
}

func (c asked) FindText(ctx context.Context, q contextprovider.TextQuery, a *search.Agent) (contextprovider.Passages, error) {
	return c.catalog.FindText(ctx, q, c.by(ctx, a))
}

func (c asked) Script(ctx context.Context, id string, a *search.Agent) (search.Script, error) {
	return c.catalog.Script(ctx, id, c.by(ctx, a))
}

func (c asked) Listing(ctx context.Context, id string, a *search.Agent, digests bool) (contextprovider.Listing, error) {
	return c.catalog.Listing(ctx, id, c.by(ctx, a), digests)
}

func (c asked) Outline(ctx context.Context, id string, a *search.Agent) (contextprovider.Manifest, error) {
	return c.catalog.Outline(ctx, id, c.by(ctx, a))
}

func (c asked) Manifest(ctx context.Context, id string, a *search.Agent) (contextprovider.Manifest, error) {
	return c.catalog.Manifest(ctx, id, c.by(ctx, a))
}

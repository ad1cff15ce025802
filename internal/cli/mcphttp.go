package cli

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// httpFlags are the flags of "mcp" that concern HTTP.
type httpFlags struct {
	addr      string
	tokenFile string
	hosts     []string
	origins   []string
	rate      float64
}

func (f *httpFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.addr, "http", "", "serve HTTP at this `address`, a port or host:port")
	flags.StringVar(&f.tokenFile, "token-file", "", "the token that requests must bear is in this `file`")
	flags.StringArrayVar(&f.hosts, "allow-host", nil, "requests may call this `host` (repeatable)")
	flags.StringArrayVar(&f.origins, "allow-origin", nil, "pages of this `origin` may call (repeatable)")
	flags.Float64Var(&f.rate, "rate", 100, "requests a second of one client; 0 for any")
}

// changed returns the name of a flag that was given, or "".
func (f *httpFlags) changed(flags *pflag.FlagSet) string {
	for _, name := range []string{"token-file", "allow-host", "allow-origin", "rate"} {
		if flags.Changed(name) {
			return name
		}
	}
	return ""
}

// serveHTTP serves at an address until ctx ends.
func (a *app) serveHTTP(ctx context.Context, f *httpFlags) error {
	token, err := config.Token(f.tokenFile)
	if err != nil {
		return err
	}
	l, err := mcpserver.Listen(ctx, f.addr, token != "")
	if err != nil {
		return err
	}
	defer l.Close() // Serve closes it, but an error may come first
	c, err := a.openServed(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	metrics := new(mcpserver.Metrics)
	scopes := map[string]*mcpserver.Server{"": c.server(c.agent, metrics.Observe, nil)}
	for _, agent := range c.Config().Agents {
		if c.agent == nil || agent == c.agent {
			scopes[agent.Name] = c.server(agent, metrics.Observe, nil)
		}
	}
	servers := slices.Collect(maps.Values(scopes))
	c.servers.Store(&servers)
	rate := f.rate
	if rate == 0 {
		rate = -1
	}
	h, err := mcpserver.NewHTTP(scopes, &mcpserver.HTTPOptions{
		Token: token, Hosts: f.hosts, Origins: f.origins, Rate: rate, Metrics: metrics, Logger: c.log,
		Size: func(ctx context.Context) (int, error) { return c.Count(ctx, c.agent) },
	})
	if err != nil {
		return err
	}
	a.note("serving at http://%s/mcp", l.Addr())
	return h.Serve(ctx, l)
}

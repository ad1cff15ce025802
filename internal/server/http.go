package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/audit"
	"github.com/repertoire-skills/repertoire/internal/registry"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/usage"
	"github.com/repertoire-skills/repertoire/web"
)

// HTTPOptions say where and for whom a server is.
type HTTPOptions struct {
	Admission
	Addr           string // a port, or host:port
	Hosts, Origins []string
	Rate           float64 // requests a second of one client; 0 means any number

	Audit        string    // file to which lines are added of who was offered, read and changed what, and who was refused; "-" means Stderr, "" none
	AuditPrompts bool      // prompts are written too
	Stderr       io.Writer // of the process; nil means os.Stderr
	Page         bool      // there is a page for browsers at /ui/
	Public       string    // the agent whose skills the registry shows to those without a token; "" means none
}

// HTTP serves any number of clients at an address until ctx ends, and then closes o.Usage. It listens
// before it opens the catalog, because a wrong address is the usual mistake.
func HTTP(ctx context.Context, o Options, h HTTPOptions) (err error) {
	d, err := newDoor(h.Admission, o.State)
	if err != nil {
		return err
	}
	closed := d.closed()
	if o.Run && !closed {
		return errors.New("--allow-run needs a token with --http, or whoever reaches the server could run scripts: \"skills token add\" makes one, or give one with --token-file or $REPERTOIRE_TOKEN")
	}
	// A shared catalog may get tokens later: till then others can reach the server, and see nothing.
	l, err := mcpserver.Listen(ctx, h.Addr, closed || o.Config.Store != nil)
	if err != nil {
		return err
	}
	defer l.Close() // serving closes it, but an error may come first
	at, ok := l.Addr().(*net.TCPAddr)
	here := ok && at.IP.IsLoopback() && !d.public()
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	s.here = here
	defer o.Usage.Close() // before the store
	defer s.follow(ctx, d)()
	m := mcpserver.HTTPOptions{Hosts: h.Hosts, Origins: h.Origins, Rate: cmp.Or(h.Rate, -1), Public: h.Public}
	if _, err := s.Catalog.Agent(h.Public); err != nil {
		return fmt.Errorf("--public: %w", err)
	}
	if s.agent != nil && h.Public != "" && h.Public != s.agent.Name {
		return fmt.Errorf("--public %s: that agent is not served, only %s is", h.Public, s.agent.Name)
	}
	m.Registry = registry.New(s.Catalog, s.opts.Logger)
	if err := d.admit(ctx, &m, s.Config().Agents, here && !closed, s.opts.Logger); err != nil {
		return err
	}
	var written *audit.Log
	if h.Audit != "" {
		if written, err = audit.Open(h.Audit, &audit.Options{Prompts: h.AuditPrompts, Stderr: h.Stderr, Logger: s.opts.Logger}); err != nil {
			return err
		}
	}
	refusals := audit.NewRefusals(s.opts.Logger, written)
	defer func() { refusals.Close(); err = errors.Join(err, written.Close()) }()
	m.Refused = refusals.Add
	if h.Page {
		if m.UI, err = s.page(m.Check, written); err != nil {
			return err
		}
		m.UIToken = web.Token
	}
	server, err := s.http(m, written)
	if err != nil {
		return err
	}
	o.Note("serving at http://%s/mcp", l.Addr())
	return server.Serve(ctx, l)
}

// ready returns how the catalog stands to the shared one, for /readyz. Without its tokens the
// server could let in nobody.
func (s *Server) ready(context.Context) (state string, age time.Duration) {
	now := s.Shared()
	if s.tokens != nil && !s.tokens.Known() {
		return repertoire.Starting, 0
	}
	if now.State == repertoire.Stale {
		age = time.Since(now.Heard)
	}
	return now.State, age
}

// http returns a server of all scopes over HTTP.
func (s *Server) http(m mcpserver.HTTPOptions, written *audit.Log) (*mcpserver.HTTP, error) {
	m.Metrics, m.Logger = new(mcpserver.Metrics), s.opts.Logger
	m.Size = func(ctx context.Context) (int, error) { return s.Count(ctx, s.agent) }
	if s.Config().Store != nil {
		m.Ready = s.ready
	}
	if s.opts.Run {
		m.More = s.ran.Write
	}
	scopes := make(map[string]*mcpserver.Server)
	add := func(name string, scope *repertoire.Agent) (err error) {
		scopes[name], err = s.server(scope, func(e usage.Event) {
			m.Metrics.Observe(e)
			written.Add(e)
		}, nil)
		return err
	}
	if err := add("", s.agent); err != nil {
		return nil, err
	}
	for _, scope := range s.Config().Agents {
		if s.agent != nil && scope != s.agent {
			continue
		}
		if err := add(scope.Name, scope); err != nil {
			return nil, err
		}
	}
	servers := slices.Collect(maps.Values(scopes))
	s.servers.Store(&servers)
	return mcpserver.NewHTTP(scopes, &m)
}

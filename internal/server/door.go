package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/store"
)

// Admission says who may ask a server over HTTP, beside those who bear a token of this machine or
// of the shared catalog.
type Admission struct {
	TokenFile string             // holds a token for the whole catalog; "" means $REPERTOIRE_TOKEN, if it is set
	Issuer    access.OIDCOptions // whose tokens count; without a URL there is none. Without Agents the values of the claim are names of agents
	PublicURL string             // at which clients reach the server; "" means at its address
}

// A door lets callers in.
type door struct {
	Admission
	token  string         // of TokenFile or the environment; "" means none
	tokens *access.File   // of this machine; nil if there is no folder for them
	shared *access.Shared // of the shared catalog; nil without one
}

// newDoor finds the tokens of this machine, and reads the token for the whole catalog.
func newDoor(a Admission, state string) (*door, error) {
	d := &door{Admission: a}
	if state != "" {
		d.tokens = access.Open(state)
	}
	var err error
	d.token, err = config.Token(a.TokenFile)
	return d, err
}

// closed reports whether requests must bear a token from the start on.
func (d *door) closed() bool {
	return d.token != "" || d.Issuer.Issuer != "" || d.tokens.Exists()
}

// public reports whether clients on other machines reach the server, as through a proxy.
func (d *door) public() bool {
	u, err := url.Parse(d.PublicURL)
	return d.PublicURL != "" && (err != nil || endpoint.Exposed(&url.URL{Scheme: "http", Host: u.Host}))
}

// none reports whether there is no token, so that everybody may be let in.
func (d *door) none() bool { return !d.closed() && (d.shared == nil || !d.shared.Any()) }

// follow makes the tokens of a shared catalog count at a door, and heeds changes of them until the
// returned function is called. A catalog of folders has none.
func (s *Server) follow(ctx context.Context, d *door) (stop func()) {
	cfg := s.Config()
	tokens, ok := cfg.Store.(store.Tokens)
	watcher, watched := cfg.Store.(store.Watcher)
	if !ok || !watched {
		return func() {}
	}
	kept := ""
	if named, ok := cfg.Store.(interface{ Name() string }); ok && s.opts.State != "" {
		sum := sha256.Sum256([]byte(named.Name()))
		kept = filepath.Join(s.opts.State, fmt.Sprintf("tokens-%x.json", sum[:8]))
	}
	d.shared = access.OpenShared(tokens, kept, s.opts.Logger)
	s.tokens = d.shared
	if node, ok := cfg.Store.(interface{ Know(agents []string) }); ok {
		node.Know(namesOf(cfg.Agents))
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { d.shared.Follow(ctx, s.heard) })
	if cfg.Schedule == repertoire.Never { // the catalog does not watch
		following.Go(func() { _ = watcher.Watch(ctx, func(store.State) { cfg.Heard() }, func(error) {}) })
	}
	return func() { cancel(); following.Wait() }
}

// admit completes the options of a server for these agents. If mayOpen is set, everybody is
// let in as long as there is no token.
func (d *door) admit(ctx context.Context, m *mcpserver.HTTPOptions, agents []*repertoire.Agent, mayOpen bool, log *slog.Logger) error {
	checkers := []access.Checker{d.tokens}
	if d.shared != nil {
		checkers = append(checkers, d.shared)
	}
	if d.token != "" {
		checkers = append(checkers, access.Single(d.token))
	}
	if d.Issuer.Issuer != "" {
		c, err := d.oidc(agents, log)
		if err != nil {
			return err
		}
		checkers = append(checkers, c)
		m.Issuer = d.Issuer.Issuer
		go func() { // the first request should not wait, and a wrong issuer should be seen
			if _, err := c.Discover(ctx); err != nil {
				log.Warn("tokens of the issuer cannot be checked yet", "error", err)
			}
		}()
	}
	m.PublicURL = d.PublicURL
	if u, err := url.Parse(d.PublicURL); err == nil && u.Host != "" {
		m.Hosts = append(slices.Clone(m.Hosts), u.Host)
	}
	m.Check = access.Any(checkers...)
	if mayOpen {
		m.Check = access.OpenWhile(d.none, m.Check)
	}
	return nil
}

// oidc returns what checks tokens of the issuer.
func (d *door) oidc(agents []*repertoire.Agent, log *slog.Logger) (*access.OIDC, error) {
	o := d.Issuer
	o.Logger = log
	names := namesOf(agents)
	for _, c := range o.Agents {
		if c.Agent != "" && !slices.Contains(names, c.Agent) {
			return nil, fmt.Errorf("--oidc-agent %s=%s: %w", c.Value, c.Agent, access.NoAgent(c.Agent, names))
		}
	}
	if o.Claim != "" && len(o.Agents) == 0 {
		for _, name := range names {
			o.Agents = append(o.Agents, access.Claimed{Value: name, Agent: name})
		}
		if len(names) == 0 {
			return nil, errors.New("--oidc-claim: the configuration names no agents; add --oidc-agent, or agents")
		}
	}
	return access.NewOIDC(o)
}

// namesOf returns the names of agents.
func namesOf(agents []*repertoire.Agent) (names []string) {
	for _, a := range agents {
		names = append(names, a.Name)
	}
	return names
}

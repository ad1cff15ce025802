package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/audit"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/store"
)

// admission says who may ask a server over HTTP, and what is written down of it.
type admission struct {
	tokenFile string
	issuer    access.OIDCOptions
	claimed   []string // VALUE=AGENT
	publicURL string
	audit     string
	prompts   bool
	ui        bool

	token  string         // of tokenFile or the environment; "" means none
	tokens *access.File   // of this machine; nil if there is no folder for them
	shared *access.Shared // of the shared catalog; nil without one
}

func (d *admission) flags(f *pflag.FlagSet) {
	f.StringVar(&d.tokenFile, "token-file", "", "a token for the whole catalog is in this `file`")
	f.StringVar(&d.issuer.Issuer, "oidc-issuer", "", "tokens of the OpenID issuer at this `URL` count too")
	f.StringVar(&d.issuer.Audience, "oidc-audience", "", "those that are for this `audience`")
	f.StringVar(&d.issuer.Claim, "oidc-claim", "", "the `claim` that says which agent's skills a token shows")
	f.StringArrayVar(&d.claimed, "oidc-agent", nil, "the `value=agent` of a claim; without agent, the whole catalog (repeatable)")
	f.StringVar(&d.publicURL, "public-url", "", "clients reach the server at this `URL`")
	f.StringVar(&d.audit, "audit", "", "write down in this `file` who was offered, read and changed what")
	f.BoolVar(&d.prompts, "audit-prompts", false, "write down prompts too")
	f.BoolVar(&d.ui, "ui", false, "serve a page for browsers at /ui/")
}

// check checks the flags of a server over HTTP.
func (d *admission) check() error {
	o := &d.issuer
	switch {
	case o.Issuer == "" && (o.Audience != "" || o.Claim != "" || len(d.claimed) > 0):
		return errors.New("--oidc-audience, --oidc-claim and --oidc-agent need --oidc-issuer")
	case o.Issuer != "" && o.Audience == "":
		return errors.New("--oidc-issuer needs --oidc-audience: tokens for other services must not count here")
	case o.Claim == "" && len(d.claimed) > 0:
		return errors.New("--oidc-agent needs --oidc-claim")
	case d.prompts && d.audit == "":
		return errors.New("--audit-prompts needs --audit")
	}
	for _, c := range d.claimed {
		value, _, ok := strings.Cut(c, "=")
		if !ok || value == "" {
			return fmt.Errorf("--oidc-agent %s is not VALUE=AGENT, such as clerks=clerk", c)
		}
	}
	if d.publicURL == "" {
		return nil
	}
	if u, err := url.Parse(d.publicURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("--public-url %s is not a URL such as https://skills.example.com", d.publicURL)
	}
	return nil
}

// closed reports whether requests must bear a token from the start on.
func (d *admission) closed() bool {
	return d.token != "" || d.issuer.Issuer != "" || d.tokens.Exists()
}

// open finds the tokens of this machine, and reads the token for the whole catalog.
func (d *admission) open() (err error) {
	if state, err := config.StateDir(); err == nil { // a server can do without a folder
		d.tokens = access.Open(state)
	}
	d.token, err = config.Token(d.tokenFile)
	return err
}

// follow makes the tokens of a shared catalog count, and heeds changes of them until the
// returned function is called. A catalog of folders has none.
func (d *admission) follow(ctx context.Context, s *served) (stop func()) {
	cfg := s.Config()
	tokens, ok := cfg.Store.(store.Tokens)
	watcher, watched := cfg.Store.(store.Watcher)
	if !ok || !watched {
		return func() {}
	}
	kept := ""
	named, ok := cfg.Store.(interface{ Name() string })
	if state, err := config.StateDir(); err == nil && ok {
		sum := sha256.Sum256([]byte(named.Name()))
		kept = filepath.Join(state, fmt.Sprintf("tokens-%x.json", sum[:8]))
	}
	d.shared = access.OpenShared(tokens, kept, s.log)
	s.tokens = d.shared
	if node, ok := cfg.Store.(interface{ Know(agents []string) }); ok {
		node.Know(namesOfAgents(cfg.Agents))
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { d.shared.Follow(ctx, s.heard) })
	if cfg.Schedule == repertoire.Never { // the catalog does not watch
		following.Go(func() { _ = watcher.Watch(ctx, func(store.State) { cfg.Heard() }, func(error) {}) })
	}
	return func() { cancel(); following.Wait() }
}

// public reports whether clients on other machines reach the server, as through a proxy.
func (d *admission) public() bool {
	u, err := url.Parse(d.publicURL)
	return d.publicURL != "" && (err != nil || endpoint.Exposed(&url.URL{Scheme: "http", Host: u.Host}))
}

// none reports whether there is no token, so that everybody may be let in.
func (d *admission) none() bool { return !d.closed() && (d.shared == nil || !d.shared.Any()) }

// admit completes the options of a server for these agents. If mayOpen is set, everybody is
// let in as long as there is no token.
func (d *admission) admit(ctx context.Context, o *mcpserver.HTTPOptions, agents []*repertoire.Agent, mayOpen bool, log *slog.Logger) error {
	checkers := []access.Checker{d.tokens}
	if d.shared != nil {
		checkers = append(checkers, d.shared)
	}
	if d.token != "" {
		checkers = append(checkers, access.Single(d.token))
	}
	if d.issuer.Issuer != "" {
		c, err := d.oidc(agents, log)
		if err != nil {
			return err
		}
		checkers = append(checkers, c)
		o.Issuer = d.issuer.Issuer
		go func() { // the first request should not wait, and a wrong issuer should be seen
			if _, err := c.Discover(ctx); err != nil {
				log.Warn("tokens of the issuer cannot be checked yet", "error", err)
			}
		}()
	}
	o.PublicURL = d.publicURL
	if u, err := url.Parse(d.publicURL); err == nil && u.Host != "" {
		o.Hosts = append(slices.Clone(o.Hosts), u.Host)
	}
	o.Check = access.Any(checkers...)
	if mayOpen {
		o.Check = access.OpenWhile(d.none, o.Check)
	}
	return nil
}

// oidc returns what checks tokens of the issuer. Without --oidc-agent the values of the claim
// are names of agents.
func (d *admission) oidc(agents []*repertoire.Agent, log *slog.Logger) (*access.OIDC, error) {
	o := d.issuer
	o.Logger = log
	names := namesOfAgents(agents)
	for _, c := range d.claimed {
		value, agent, _ := strings.Cut(c, "=")
		if agent != "" && !slices.Contains(names, agent) {
			return nil, fmt.Errorf("--oidc-agent %s: %w", c, noAgent(agent, names))
		}
		o.Agents = append(o.Agents, access.Claimed{Value: value, Agent: agent})
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

// auditing returns what writes down the requests to the server of a scope; the log may be nil.
func auditing(log *audit.Log, scope *repertoire.Agent) func(mcpserver.Event) {
	name := ""
	if scope != nil {
		name = scope.Name
	}
	return func(e mcpserver.Event) {
		if e.Tool == "" && e.Method != "resources/read" && e.Method != "resources/directory/read" && e.Method != "skills/get" && e.Method != api.Path {
			return // such as a ping, or a list of tools
		}
		line := audit.Line{
			Caller: e.Caller, Client: e.Client, Agent: name, Call: e.Tool, Skills: e.Skills, File: e.File, Proposal: e.Change,
			Session: e.Session, Prompt: e.Prompt, Failed: e.Failed,
		}
		if line.Call == "" {
			line.Call = e.Method
		}
		if e.Caller != "" {
			line.Client = ""
		}
		log.Add(line)
	}
}

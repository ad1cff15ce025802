package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/audit"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/runner"
	sessions "github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/web"
)

const mcpHelp = `Mcp serves the catalog over the Model Context Protocol on standard input and
output, for clients that start their servers. It ends with its input. With
--http it serves any number of clients at an address instead.

Tools: search_skills, suggest_skills, read_skill, read_skill_resource and
list_skills. Clients of the skills extension (SEP-2640) get skills/list,
skills/get, resources/directory/read and skill:// resources with digests; a
skill that they could not load is left out ("skills doctor --strict" tells of
most causes).

Suggest_skills offers a skill once in a session, as hooks do, and is silent if
none fits; without a session it says that none does, for models. Over HTTP the
last 250 sessions of each client are remembered, for a day or until the server
ends. With --agent NAME only what that agent may see exists. Skills are looked
for again on the configured schedule, and clients are notified when skills
change. The log goes to standard error; with --verbose it also lists sessions.

With --allow-proposals agents may also propose changes: propose_skill_update and
propose_skill keep what "skills proposals" lists, and change no skill. With
--reviewer NAME the configured agent of that name, and no other, also gets
list_proposals, show_proposal, approve_proposal and reject_proposal, for skills
that it may see and that it did not propose itself; it is served with --agent
NAME, or over HTTP at /mcp/NAME.

With --allow-run agents may also run scripts of skills that you trust ("skills
trust NAME"; a changed skill has to be trusted again): run_skill_script, and
each script that says what it takes as a tool of its own ("skills tools --help"
explains how). A skill's allowed-tools say which of its scripts may run. They
run inside walls, by the executor that the agent is configured with, or the one
given with --executor; --allow-unconfined lets them run without walls where
there are none. With --executor virtual there is also sandbox_execute, a shell
in memory, whose files all clients of a path share. Over HTTP this needs a
token, and /metrics counts the runs.

Over HTTP (--http 8080, 127.0.0.1:8080 …) /mcp serves the whole catalog, and
/mcp/NAME what the configured agent of that name may see, as does /NAME/mcp, for
clients that cut what follows /mcp; with --agent NAME there is nothing else. A
session belongs to the agent and the token with which it began. An address
without a host means this machine only; others can reach the server, there or at
its --public-url, only if there is a token. Then each request must bear one
("Authorization: Bearer …"):
  - one made with "skills token add", which shows the skills of its agent
  - the one that REPERTOIRE_TOKEN or the file of --token-file holds, for the
    whole catalog
  - one signed by the OpenID issuer of --oidc-issuer for --oidc-audience. Its
    --oidc-claim says which agent's skills it shows: the agent of that name, or
    of the first --oidc-agent VALUE=AGENT that fits. Without --oidc-claim it
    shows the whole catalog. MCP clients learn of the issuer from the server,
    which needs --public-url for that when a proxy stands before it.
A path narrows what a token shows, and never widens it.

Requests must call the server by its address, localhost or a host given with
--allow-host, and web pages may call it only from an origin given with
--allow-origin. A request may have 1 MiB, and each client, a token of its own or
else an address, --rate requests a second; callers without a name who come
through a proxy share its address, and so its rate. When there is too much to
do, clients are answered in turn, and with 503 after ten seconds. $GOMEMLIMIT
limits the memory; without it 192 MiB do, or more for a large catalog. An
interrupt lets requests that are under way end. There is no TLS: put a proxy
with TLS before a server that others can reach.

With --ui the page of "skills web" is at /ui/, for those who bring a token;
where there is none, everybody may look, and nobody may decide. The agent of
--reviewer decides on proposals there too.

/v1/suggest answers programs that ask about a prompt, such as hooks. /healthz
answers 200 when the catalog can be asked, else 503, and needs no token; only
requests that see the whole catalog get the number of skills. /readyz tells
whether the server is starting (503), current or stale. /metrics, which needs a
token for the whole catalog, has the counts of calls, searches with their times,
offered skills, prompts without one, stale reads, sessions and skills for
Prometheus.

--audit FILE appends a line of JSON for each call of a tool, each file that was
read, and for what the page has shown or done ("/ui/prompt", "/ui/skill",
"/ui/approve" and so on): time, caller (the name of the token; else client, an
address), agent, call, skills, file, proposal, session, failed; with
--audit-prompts also prompt. A line that the disk does not take is lost; the
server goes on.`

func (a *app) mcpCommand() *cobra.Command {
	var addr string
	var d admission
	var o mcpserver.HTTPOptions
	var p proposing
	var r running
	forHTTP := pflag.NewFlagSet("http", pflag.ContinueOnError) // flags that only --http takes
	cmd := &cobra.Command{
		Use:     "mcp",
		Short:   "Serve the catalog over the Model Context Protocol",
		Long:    mcpHelp,
		Example: "  skills mcp\n  skills mcp --agent reviewer --root ~/team/skills\n  skills mcp --http 8080",
		Args:    args(0, 0),
		PreRunE: checked(func([]string) error { return cmp.Or(p.check(addr != "", a.agent), r.check(), d.check()) }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if addr != "" {
				return a.serveHTTP(cmd.Context(), addr, d, p, r, o)
			}
			var wrong error
			forHTTP.VisitAll(func(f *pflag.Flag) {
				if f.Changed {
					wrong = cmp.Or(wrong, fmt.Errorf("--%s is for --http", f.Name))
				}
			})
			if wrong != nil {
				return &usageError{cmd.CommandPath(), wrong}
			}
			return a.serve(cmd.Context(), p, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "http", "", "serve HTTP at this `address`, a port or host:port")
	flags.BoolVar(&p.allowed, "allow-proposals", false, "agents may propose changes of skills")
	flags.StringVar(&p.reviewer, "reviewer", "", "the agent of this `name` may decide on proposals")
	r.flags(flags)
	d.flags(forHTTP)
	forHTTP.StringArrayVar(&o.Hosts, "allow-host", nil, "requests may call this `host` (repeatable)")
	forHTTP.StringArrayVar(&o.Origins, "allow-origin", nil, "pages of this `origin` may call (repeatable)")
	forHTTP.Float64Var(&o.Rate, "rate", 100, "requests a second of one client; 0 for any")
	flags.AddFlagSet(forHTTP)
	return cmd
}

// proposing says who may propose changes of skills, and who may decide on them.
type proposing struct {
	allowed  bool
	reviewer string // name of an agent; "" means nobody
}

// check checks the flags of a server of all agents (http), or of one agent.
func (p proposing) check(http bool, agent string) error {
	switch {
	case p.reviewer == "":
		return nil
	case !p.allowed:
		return errors.New("--reviewer needs --allow-proposals")
	case agent != "" && agent != p.reviewer, agent == "" && !http:
		return fmt.Errorf("--reviewer %s: that agent is not served; add --agent %[1]s, or --http without --agent", p.reviewer)
	}
	return nil
}

// serve answers on standard input and output until the input or ctx ends.
func (a *app) serve(ctx context.Context, p proposing, r running) error {
	// Some clients say in which project they are.
	dir := client.ProjectDir(os.Getenv)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		a.dir = dir
	}
	c, err := a.openServed(ctx, p, r)
	if err != nil {
		return err
	}
	defer c.Close()
	// There is only one client, so a read belongs to its last session.
	server, err := c.server(c.agent, nil, func(ctx context.Context, session, id string) { c.memory.Load(ctx, session, id, "") })
	if err != nil {
		return err
	}
	c.servers.Store(&[]*mcpserver.Server{server})
	return server.Serve(ctx, a.stdin, a.raw)
}

// served is a catalog with the servers that it notifies of changes. For the tool
// suggest_skills, which clients may call instead of a hook, it remembers sessions too.
type served struct {
	*catalog
	memory  *sessions.Memory
	project *config.Project
	log     *slog.Logger
	servers atomic.Pointer[[]*mcpserver.Server] // nil until the catalog is open
	tokens  *access.Shared                      // of the shared catalog; nil without one
	heard   chan struct{}                       // holds a value if tokens of the shared catalog may have changed

	run  running
	room *runner.Room  // what the sessions of all scopes take
	ran  agent.Metrics // which scripts ran

	proposing
	box atomic.Pointer[proposal.Box] // nil until the catalog is open
}

// openServed opens the catalog for servers.
func (a *app) openServed(ctx context.Context, p proposing, r running) (*served, error) {
	cfg, err := a.readConfig(true)
	if err != nil {
		return nil, err
	}
	if cfg.StoreURL != "" && (p.allowed || r.allowed) {
		return nil, &usageError{"skills mcp", errors.New("--allow-proposals and --allow-run need folders of this machine, which a shared catalog does not have")}
	}
	// The reader of standard error is a client's log.
	boundMemory(ctx)
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelInfo
	}
	s := &served{log: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level})), proposing: p, run: r, room: runner.NewRoom(), heard: make(chan struct{}, 1)}
	s.project = config.NewProject(a.dir)
	cfg.Background, cfg.Logger = true, s.log
	cfg.Changed = func() {
		if servers := s.servers.Load(); servers != nil {
			for _, server := range *servers {
				server.Changed()
			}
		}
		s.recordEdits(ctx)
	}
	cfg.Heard = func() {
		select {
		case s.heard <- struct{}{}:
		default: // there is one already
		}
	}
	if s.catalog, err = a.openWith(ctx, cfg); err != nil {
		return nil, err
	}
	if err := s.openBox(a); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	state, _ := config.StateDir() // without one nothing is remembered
	s.memory = sessions.New(state, sessions.Options{Logger: s.log})
	s.memory.Sweep()
	return s, nil
}

// openBox opens the proposals and the history. Without a folder for state there is neither.
func (s *served) openBox(a *app) error {
	if s.reviewer != "" {
		if _, err := s.Agent(s.reviewer); err != nil {
			return err
		}
	}
	if s.Shared().State != "" {
		return nil // the history of a shared catalog is where it is pushed from
	}
	box, err := openBox(a.session, s.catalog, s.Catalog)
	switch {
	case err == nil:
		s.box.Store(box)
	case s.allowed:
		return err
	default:
		s.log.Warn("no history of skills", "error", err)
	}
	return nil
}

// recordEdits keeps what has become of skills that have a history.
func (s *served) recordEdits(ctx context.Context) {
	box := s.box.Load()
	if box == nil {
		return
	}
	edited, err := box.Rescan(ctx)
	for _, name := range edited {
		s.log.Info("kept an edit in the history", "skill", name)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("keeping edited skills in the history", "error", err)
	}
}

// server returns a server of a scope. Both functions may be nil, see mcpserver.Options.
func (s *served) server(agent *repertoire.Agent, observe func(mcpserver.Event), loaded func(ctx context.Context, session, id string)) (*mcpserver.Server, error) {
	runs, err := s.runs(agent)
	if err != nil {
		return nil, err
	}
	log := usageOf(s.Catalog)
	o := &mcpserver.Options{
		Version: versionOf().Version, Agent: agent, Agents: s.Config().Agents, Sources: s.Labels,
		Suggest: s.suggest, Introduce: s.introduce(agent), Loaded: loaded, Runs: runs, Logger: s.log,
		Observe: func(e mcpserver.Event) {
			if observe != nil {
				observe(e)
			}
			if err := noteServed(log, agent, e); err != nil {
				s.log.Warn("usage is not noted", "error", err)
			}
		},
	}
	if s.allowed {
		o.Proposals, o.Reviews = s.box.Load(), agent != nil && agent.Name == s.reviewer
	}
	return mcpserver.New(s.Catalog, o), nil
}

func (s *served) suggest(ctx context.Context, p mcpserver.Prompt, a *repertoire.Agent) (repertoire.Block, error) {
	budget := repertoire.Budget{Server: mcpserver.DefaultName, ListPinned: true}
	about := sessions.Prompt{Session: p.Session, Text: p.Text, Client: p.Client}
	if p.Client != "" && p.Session != "" { // the session belongs to the path on which it began
		path := ""
		if a != nil {
			path = a.Name
		}
		about.Session = fmt.Sprintf("%q %s", path, p.Session)
	}
	scope := s.project.Scope(p.Dir, s.Config().Sources, a)
	if p.Told != nil { // the client remembers its session
		return p.Told.Suggest(ctx, s.catalog, p.Text, *p.Budget, scope)
	}
	return s.memory.Suggest(ctx, s.catalog, about, budget, scope)
}

// introduce returns what tells a session of a scope what there is.
func (s *served) introduce(a *repertoire.Agent) func(context.Context, string) (string, error) {
	return func(ctx context.Context, server string) (string, error) {
		n, err := s.Count(ctx, a)
		if err != nil {
			return "", err
		}
		pinned, err := s.Pinned(ctx, a)
		if err != nil {
			return "", err
		}
		names := mapped(pinned, func(e repertoire.Entry) string { return e.Name })
		unread, err := s.Unread(ctx)
		return contextprovider.Introduction(n, names, server, "", unread), err
	}
}

// serveHTTP serves at an address until ctx ends.
func (a *app) serveHTTP(ctx context.Context, addr string, d admission, p proposing, r running, o mcpserver.HTTPOptions) error {
	if err := d.open(); err != nil {
		return err
	}
	closed := d.closed()
	if err := r.checkToken(closed); err != nil {
		return err
	}
	// A shared catalog may get tokens later: till then others can reach the server, and see nothing.
	l, err := mcpserver.Listen(ctx, addr, closed || a.sharedURL() != "")
	if err != nil {
		return err
	}
	defer l.Close() // Serve closes it, but an error may come first
	at, ok := l.Addr().(*net.TCPAddr)
	mayOpen := !closed && ok && at.IP.IsLoopback() && !d.public()
	c, err := a.openServed(ctx, p, r)
	if err != nil {
		return err
	}
	defer c.Close()
	defer d.follow(ctx, c)()
	if err := d.admit(ctx, &o, c.Config().Agents, mayOpen, c.log); err != nil {
		return err
	}
	var written *audit.Log
	if d.audit != "" {
		if written, err = audit.Open(d.audit, &audit.Options{Prompts: d.prompts, Logger: c.log}); err != nil {
			return err
		}
	}
	if d.ui {
		if o.UI, err = c.page(o.Check, a.ignored(), written); err != nil {
			return errors.Join(err, written.Close())
		}
		o.UIToken = web.Token
	}
	h, err := c.http(o, written)
	if err != nil {
		return errors.Join(err, written.Close())
	}
	a.note("serving at http://%s/mcp", l.Addr())
	return errors.Join(h.Serve(ctx, l), written.Close())
}

// ready returns how the catalog stands to the shared one, for /readyz. Without its tokens the
// server could let in nobody.
func (s *served) ready(context.Context) (state string, age time.Duration) {
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
func (s *served) http(o mcpserver.HTTPOptions, written *audit.Log) (*mcpserver.HTTP, error) {
	o.Metrics, o.Logger, o.Rate = new(mcpserver.Metrics), s.log, cmp.Or(o.Rate, -1)
	o.Size = func(ctx context.Context) (int, error) { return s.Count(ctx, s.agent) }
	if s.Config().Store != nil {
		o.Ready = s.ready
	}
	if s.run.allowed {
		o.More = s.ran.Write
	}
	scopes := make(map[string]*mcpserver.Server)
	add := func(name string, agent *repertoire.Agent) (err error) {
		note := auditing(written, agent)
		scopes[name], err = s.server(agent, func(e mcpserver.Event) {
			o.Metrics.Observe(e)
			note(e)
		}, nil)
		return err
	}
	if err := add("", s.agent); err != nil {
		return nil, err
	}
	for _, agent := range s.Config().Agents {
		if s.agent != nil && agent != s.agent {
			continue
		}
		if err := add(agent.Name, agent); err != nil {
			return nil, err
		}
	}
	servers := slices.Collect(maps.Values(scopes))
	s.servers.Store(&servers)
	return mcpserver.NewHTTP(scopes, &o)
}

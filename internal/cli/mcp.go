package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/proposal"
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
session belongs to the agent with which it began. An address without a host
means this machine only; others can reach the server only if there is a token,
which REPERTOIRE_TOKEN or the file of --token-file holds: each request must bear
it ("Authorization: Bearer …").

Requests must call the server by its address, localhost or a host given with
--allow-host, and web pages may call it only from an origin given with
--allow-origin. A request may have 1 MiB, and each client --rate requests a
second. An interrupt lets requests that are under way end. There is no TLS: put
a proxy with TLS before a server that others can reach.

/healthz answers 200 when the catalog can be asked, else 503, and needs no
token; only requests that bear it get the number of skills. /metrics, which
needs the token, has the counts of calls, searches with their times, offered
skills, prompts without one, stale reads, sessions and skills for Prometheus.`

func (a *app) mcpCommand() *cobra.Command {
	var addr, tokenFile string
	var o mcpserver.HTTPOptions
	var p proposing
	var r running
	cmd := &cobra.Command{
		Use:     "mcp",
		Short:   "Serve the catalog over the Model Context Protocol",
		Long:    mcpHelp,
		Example: "  skills mcp\n  skills mcp --agent reviewer --root ~/team/skills\n  skills mcp --http 8080",
		Args:    args(0, 0),
		PreRunE: checked(func([]string) error { return cmp.Or(p.check(addr != "", a.agent), r.check()) }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if addr != "" {
				return a.serveHTTP(cmd.Context(), addr, tokenFile, p, r, o)
			}
			names := []string{"token-file", "allow-host", "allow-origin", "rate"}
			if i := slices.IndexFunc(names, cmd.Flags().Changed); i >= 0 {
				return &usageError{cmd.CommandPath(), fmt.Errorf("--%s is for --http", names[i])}
			}
			return a.serve(cmd.Context(), p, r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&addr, "http", "", "serve HTTP at this `address`, a port or host:port")
	flags.StringVar(&tokenFile, "token-file", "", "the token that requests must bear is in this `file`")
	flags.StringArrayVar(&o.Hosts, "allow-host", nil, "requests may call this `host` (repeatable)")
	flags.StringArrayVar(&o.Origins, "allow-origin", nil, "pages of this `origin` may call (repeatable)")
	flags.BoolVar(&p.allowed, "allow-proposals", false, "agents may propose changes of skills")
	flags.StringVar(&p.reviewer, "reviewer", "", "the agent of this `name` may decide on proposals")
	r.flags(flags)
	flags.Float64Var(&o.Rate, "rate", 100, "requests a second of one client; 0 for any")
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
	memory  *session.Memory
	project *config.Project
	log     *slog.Logger
	servers atomic.Pointer[[]*mcpserver.Server] // nil until the catalog is open

	run running
	ran agent.Metrics // which scripts ran

	proposing
	box atomic.Pointer[proposal.Box] // nil until the catalog is open
}

// openServed opens the catalog for servers.
func (a *app) openServed(ctx context.Context, p proposing, r running) (*served, error) {
	cfg, err := a.readConfig(true)
	if err != nil {
		return nil, err
	}
	// The reader of standard error is a client's log.
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelInfo
	}
	s := &served{log: slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level})), proposing: p, run: r}
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
	if s.catalog, err = a.openWith(ctx, cfg); err != nil {
		return nil, err
	}
	if err := s.openBox(a); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	state, _ := config.StateDir() // without one nothing is remembered
	s.memory = session.New(state, session.Options{Logger: s.log})
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
	box, err := a.box(s.catalog, s.Catalog)
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
		Suggest: s.suggest, Loaded: loaded, Runs: runs, Logger: s.log,
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
	about := session.Prompt{Session: p.Session, Text: p.Text, Client: p.Client}
	if p.Client != "" && p.Session != "" { // the session belongs to the path on which it began
		path := ""
		if a != nil {
			path = a.Name
		}
		about.Session = fmt.Sprintf("%q %s", path, p.Session)
	}
	return s.memory.Suggest(ctx, s.catalog, about, budget, s.project.Scope(p.Dir, s.Config().Sources, a))
}

// serveHTTP serves at an address until ctx ends.
func (a *app) serveHTTP(ctx context.Context, addr, tokenFile string, p proposing, r running, o mcpserver.HTTPOptions) (err error) {
	if o.Token, err = config.Token(tokenFile); err != nil {
		return err
	}
	if err := r.checkToken(o.Token); err != nil {
		return err
	}
	l, err := mcpserver.Listen(ctx, addr, o.Token != "")
	if err != nil {
		return err
	}
	defer l.Close() // Serve closes it, but an error may come first
	c, err := a.openServed(ctx, p, r)
	if err != nil {
		return err
	}
	defer c.Close()
	o.Metrics, o.Logger, o.Rate = new(mcpserver.Metrics), c.log, cmp.Or(o.Rate, -1)
	o.Size = func(ctx context.Context) (int, error) { return c.Count(ctx, c.agent) }
	if r.allowed {
		o.More = c.ran.Write
	}
	scopes := make(map[string]*mcpserver.Server)
	if scopes[""], err = c.server(c.agent, o.Metrics.Observe, nil); err != nil {
		return err
	}
	for _, agent := range c.Config().Agents {
		if c.agent != nil && agent != c.agent {
			continue
		}
		if scopes[agent.Name], err = c.server(agent, o.Metrics.Observe, nil); err != nil {
			return err
		}
	}
	servers := slices.Collect(maps.Values(scopes))
	c.servers.Store(&servers)
	h, err := mcpserver.NewHTTP(scopes, &o)
	if err != nil {
		return err
	}
	a.note("serving at http://%s/mcp", l.Addr())
	return h.Serve(ctx, l)
}

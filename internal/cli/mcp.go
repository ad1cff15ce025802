package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/server"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

const mcpHelp = `Mcp serves the catalog over the Model Context Protocol on standard input and
output, for clients that start their servers. It ends with its input. With
--http it serves any number of clients at an address instead.

Tools: search_skills, suggest_skills, read_skill, read_skill_resource,
search_skill_files and list_skills. Of a skill with more tokens than
--long-skill says, read_skill gives the opening and a table of its sections,
which it gives one at a time. Clients of the skills extension (SEP-2640) get
skills/list, skills/get, resources/directory/read and skill:// resources with
digests; a skill that they could not load is left out ("skills doctor --strict"
tells of most causes).

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
NAME, or over HTTP at /mcp/NAME. There of the tokens that "skills token add" and
an issuer give only those for that agent decide.

With --registries agents may also look for skills in the registries of your
configuration ("skills search --help"): find_skills sends them what the agent
asks, and installs nothing.

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

Clients of registries are answered too, with the same tokens: those of ARD at
/.well-known/ard.json, /search, /explore and /agents, and "npx skills find" at
/api/search. Both get archives from /skill/NAME/. As some of them cannot send a
header, the token may stand in the path there, as /t/TOKEN/…; a path may end up
in the logs of a proxy, so take a token that only reads. With --public NAME
requests without a token see there what that agent may see, and nothing else.

/v1/suggest answers programs that ask about a prompt, such as hooks. /healthz
answers 200 when the catalog can be asked, else 503, and needs no token; only
requests that see the whole catalog get the number of skills. /readyz tells
whether the server is starting (503), current or stale. /metrics, which needs a
token for the whole catalog, has the counts of calls, searches with their times,
offered skills, prompts without one, stale reads, sessions and skills for
Prometheus.

--audit FILE appends a line of JSON for each call of a tool, each file that was
read, and for what the page has shown or done ("/ui/prompt", "/ui/skill",
"/ui/approve" and so on) or the registry ("/search", "/skill/" and so on): time,
caller (the name of the token; else client, an address), agent, call, skills,
file, proposal, session, failed; with --audit-prompts also prompt. A line that
the disk does not take is lost; the server goes on. --audit - writes the lines
to standard error, for containers.

A request that is refused is a line of the log, and one of --audit with refused
(why), status, call (the path), and caller or client: "no token", "token" (it is
not known or has expired), "scope" (the token does not show that, or no such
agent is served), "host" and "origin" (see above), "size", "body", "rate",
"busy" (too many requests under way), "load", "session" (of somebody else),
"sessions" (one has ended for a new one), "unchecked" (tokens cannot be
checked). What is refused to one client for one reason again within a minute is
one more line, with more, its number; /metrics counts all.

With "usage: true" in the configuration a server notes what it serves for
"skills stats". Over a shared catalog all nodes do so in its database, if the
user that they log in as has the role repertoire_node.`

// mcpOptions are the flags of the command mcp.
type mcpOptions struct {
	server.Options
	http    server.HTTPOptions
	claimed []string       // VALUE=AGENT
	forHTTP *pflag.FlagSet // flags that only --http takes
}

func newMCPCommand(e env) *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:     "mcp",
		Short:   "Serve the catalog over the Model Context Protocol",
		Long:    mcpHelp,
		Example: "  skills mcp\n  skills mcp --agent reviewer --root ~/team/skills\n  skills mcp --http 8080",
		Args:    args(0, 0),
		PreRunE: e.checked(func(s *session, _ []string) error { return cmp.Or(o.check(s.agent), o.checkHTTP()) }),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), e.session(cmd), o) },
	}
	o.flags(cmd.Flags())
	return cmd
}

func (o *mcpOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.http.Addr, "http", "", "serve HTTP at this `address`, a port or host:port")
	f.IntVar(&o.Long, "long-skill", mcpserver.DefaultLong, "most `tokens` that read_skill gives of a skill; 0 for any")
	f.BoolVar(&o.Propose, "allow-proposals", false, "agents may propose changes of skills")
	f.StringVar(&o.Reviewer, "reviewer", "", "the agent of this `name` may decide on proposals")
	f.BoolVar(&o.Run, "allow-run", false, "agents may run scripts of skills that you trust")
	f.BoolVar(&o.Find, "registries", false, "agents may look for skills in the registries of your configuration")
	f.StringVar(&o.Executor, "executor", "", "run scripts with the executor of this `name`: confined, bubblewrap, container, virtual or plain")
	f.BoolVar(&o.Unconfined, "allow-unconfined", false, "scripts may run without walls around them")
	h := pflag.NewFlagSet("http", pflag.ContinueOnError)
	h.StringVar(&o.http.TokenFile, "token-file", "", "a token for the whole catalog is in this `file`")
	h.StringVar(&o.http.Issuer.Issuer, "oidc-issuer", "", "tokens of the OpenID issuer at this `URL` count too")
	h.StringVar(&o.http.Issuer.Audience, "oidc-audience", "", "those that are for this `audience`")
	h.StringVar(&o.http.Issuer.Claim, "oidc-claim", "", "the `claim` that says which agent's skills a token shows")
	h.StringArrayVar(&o.claimed, "oidc-agent", nil, "the `value=agent` of a claim; without agent, the whole catalog (repeatable)")
	h.StringVar(&o.http.PublicURL, "public-url", "", "clients reach the server at this `URL`")
	h.StringVar(&o.http.Audit, "audit", "", "write down in this `file` who was offered, read and changed what, and who was refused; - is standard error")
	h.BoolVar(&o.http.AuditPrompts, "audit-prompts", false, "write down prompts too")
	h.StringVar(&o.http.Public, "public", "", "the registry shows what the agent of this `name` may see to those without a token")
	h.BoolVar(&o.http.Page, "ui", false, "serve a page for browsers at /ui/")
	h.StringArrayVar(&o.http.Hosts, "allow-host", nil, "requests may call this `host` (repeatable)")
	h.StringArrayVar(&o.http.Origins, "allow-origin", nil, "pages of this `origin` may call (repeatable)")
	h.Float64Var(&o.http.Rate, "rate", 100, "requests a second of one client; 0 for any")
	f.AddFlagSet(h)
	o.forHTTP = h
}

// check checks what a server may do that serves the agent of a name, or everything.
func (o *mcpOptions) check(agent string) error {
	if o.Long == 0 {
		o.Long = -1 // which means no limit; 0 is the usual one
	}
	switch {
	case o.Long < -1:
		return fmt.Errorf("--long-skill %d is no number of tokens; 0 means any", o.Long)
	case !o.Run && (o.Executor != "" || o.Unconfined):
		return errors.New("--executor and --allow-unconfined need --allow-run")
	case o.Reviewer == "":
		return nil
	case !o.Propose:
		return errors.New("--reviewer needs --allow-proposals")
	case agent != "" && agent != o.Reviewer, agent == "" && o.http.Addr == "":
		return fmt.Errorf("--reviewer %s: that agent is not served; add --agent %[1]s, or --http without --agent", o.Reviewer)
	}
	return nil
}

// checkHTTP checks the flags that only --http takes.
func (o *mcpOptions) checkHTTP() error {
	i := &o.http.Issuer
	switch {
	case i.Issuer == "" && (i.Audience != "" || i.Claim != "" || len(o.claimed) > 0):
		return errors.New("--oidc-audience, --oidc-claim and --oidc-agent need --oidc-issuer")
	case i.Issuer != "" && i.Audience == "":
		return errors.New("--oidc-issuer needs --oidc-audience: tokens for other services must not count here")
	case i.Claim == "" && len(o.claimed) > 0:
		return errors.New("--oidc-agent needs --oidc-claim")
	case o.http.AuditPrompts && o.http.Audit == "":
		return errors.New("--audit-prompts needs --audit")
	}
	for _, c := range o.claimed {
		value, agent, ok := strings.Cut(c, "=")
		if !ok || value == "" {
			return fmt.Errorf("--oidc-agent %s is not VALUE=AGENT, such as clerks=clerk", c)
		}
		i.Agents = append(i.Agents, access.Claimed{Value: value, Agent: agent})
	}
	if public := o.http.PublicURL; public != "" {
		if u, err := url.Parse(public); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.User != nil || u.RawQuery != "" {
			return fmt.Errorf("--public-url %s is not a URL such as https://skills.example.com", public)
		}
	}
	if o.http.Addr != "" {
		return nil
	}
	var wrong error
	o.forHTTP.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			wrong = cmp.Or(wrong, fmt.Errorf("--%s is for --http", f.Name))
		}
	})
	return wrong
}

// runMCP serves at an address, or else on standard input and output.
func runMCP(ctx context.Context, s *session, o mcpOptions) error {
	if o.http.Addr == "" {
		// Some clients say in which project they are.
		dir := client.ProjectDir(os.Getenv)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			s.dir = dir
		}
	}
	if err := s.serverOptions(&o.Options); err != nil {
		return err
	}
	if o.Config.Store != nil && o.Run {
		return &usageError{"skills mcp", errors.New("--allow-run needs folders of this machine, which a shared catalog does not have")}
	}
	if o.http.Addr != "" {
		o.Usage, o.http.Stderr = nodeLog(&o.Config, o.Logger), s.stderr
		return elsewhere(o.Config, server.HTTP(ctx, o.Options, o.http))
	}
	return elsewhere(o.Config, server.Stdio(ctx, o.Options, s.stdin, s.raw))
}

// serverOptions completes the options of a server with what the flags of all commands and the
// configuration say.
func (s *session) serverOptions(o *server.Options) (err error) {
	if o.Config, err = s.readConfig(true); err != nil {
		return err
	}
	if o.Settings, err = s.settings(); err != nil {
		return err
	}
	if err := openStore(&o.Config); err != nil {
		return err
	}
	level := slog.LevelWarn
	if s.verbose {
		level = slog.LevelInfo
	}
	o.Dir, o.Agent, o.Version, o.User = s.dir, s.agent, versionOf().Version, userName()
	o.State, _ = config.StateDir() // without one nothing is remembered
	o.Usage = usageLog(o.Config.Usage, o.Config.UsagePrompts)
	o.Note, o.Closing = s.note, s.noteRecovered
	o.Logger = slog.New(slog.NewTextHandler(s.stderr, &slog.HandlerOptions{Level: level})) // its reader is a client's log
	return nil
}

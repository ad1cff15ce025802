// Package server serves a catalog to others: over MCP to the client that started the program or
// to any number of clients at an address, and as a page to browsers. It puts together who is let
// in, the scopes with their tools, what is remembered of sessions, and what is written down.
//
// The one rule: each scope has a server of its own, and who may ask it is decided before it is
// asked.
package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/scripts"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/proposal/check"
	"github.com/repertoire-skills/repertoire/usage"
)

// Options say what is served.
type Options struct {
	Config   repertoire.Config // of the catalog; the server sets Background, Logger, Changed and Heard
	Settings config.Settings   // of which Config was made
	Dir      string            // of the project; "" means the working folder
	State    string            // folder for sessions, tokens and trust; "" means that nothing is remembered
	Version  string            // of the program
	User     string            // who runs it, for records; "" means unknown

	// Agent is the name of the configured agent whose scope is all that is served; "" means
	// the whole catalog, and over HTTP the scopes of all agents too.
	Agent string

	// Long is the most tokens that read_skill gives of a skill; 0 and less as in mcpserver.Options.
	Long int

	// Propose lets agents propose changes of skills. Reviewer is the name of the agent that
	// decides on them; "" means nobody.
	Propose  bool
	Reviewer string

	// Run lets agents run scripts of trusted skills, with the Executor of a name; "" means
	// the one that the scope is configured with. Unconfined lets scripts run without walls
	// where there are none.
	Run        bool
	Executor   string
	Unconfined bool

	// Switch changes the user's configuration as web.Options.Switch says, and returns what it is then;
	// nil means that the page cannot.
	Switch func(name, agent string, on bool) (repertoire.Config, error)

	// Find lets agents look for skills in the registries of the Settings, with find_skills.
	Find bool

	Usage   *usage.Log                       // of what is offered and used; nil means none
	Note    func(format string, args ...any) // gets what the person who started the server should know
	Closing func(*repertoire.Catalog)        // is called before the catalog is closed; nil means that nothing is called
	Logger  *slog.Logger                     // gets messages about work in the background; nil means no messages
}

// A Server is an open catalog with the servers that it notifies of changes. For the tool
// suggest_skills, which clients may call instead of a hook, it remembers sessions too.
type Server struct {
	*repertoire.Catalog
	opts    Options           // with defaults
	agent   *repertoire.Agent // whose scope is served; nil means the whole catalog
	memory  *session.Memory
	project *config.Project
	servers atomic.Pointer[[]*mcpserver.Server] // nil until the catalog is open
	desk    atomic.Pointer[proposal.Desk]       // nil until the catalog is open
	tokens  *access.Shared                      // of the shared catalog; nil without one
	heard   chan struct{}                       // holds a value if tokens of the shared catalog may have changed

	unnoted atomic.Value // the text of the last error of the log of usage

	room *scripts.Limits // what the sessions of all scopes take
	ran  agent.Metrics   // which scripts ran

	local bool // it serves one client of this machine
	here  bool // see asked
}

// Stdio serves the one client that writes to in and reads out, until in or ctx ends.
func Stdio(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	s.local, s.here = true, true
	// There is only one client, so a read belongs to its last session.
	server, err := s.server(s.agent, nil, func(ctx context.Context, session, id string) { s.memory.Load(ctx, session, id, "") })
	if err != nil {
		return err
	}
	s.servers.Store(&[]*mcpserver.Server{server})
	return server.Serve(ctx, in, out)
}

// Open opens the catalog.
func Open(ctx context.Context, o Options) (*Server, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	boundMemory(ctx)
	s := &Server{opts: o, project: config.NewProject(o.Dir), room: scripts.NewLimits(), heard: make(chan struct{}, 1)}
	cfg := o.Config
	cfg.Background, cfg.Logger = true, o.Logger
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
	var err error
	if s.Catalog, err = repertoire.Open(ctx, cfg); err != nil {
		return nil, err
	}
	if s.agent, err = s.Catalog.Agent(o.Agent); err == nil {
		err = s.openDesk()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.memory = session.New(o.State, session.Options{Logger: o.Logger})
	s.memory.Sweep()
	return s, nil
}

// Close closes the catalog.
func (s *Server) Close() error {
	if s.opts.Closing != nil {
		s.opts.Closing(s.Catalog)
	}
	return s.Catalog.Close()
}

// openDesk opens the proposals and the history. A catalog of folders without a folder for state
// has neither.
func (s *Server) openDesk() error {
	if s.opts.Reviewer != "" {
		if _, err := s.Agent(s.opts.Reviewer); err != nil {
			return err
		}
	}
	desk, err := check.Open(s.Catalog, &s.opts.Settings)
	switch {
	case err == nil:
		s.desk.Store(&desk)
	case s.opts.Propose:
		return err
	default:
		s.opts.Logger.Warn("no history of skills", "error", err)
	}
	return nil
}

// proposals returns where changes are proposed; nil means nowhere.
func (s *Server) proposals() proposal.Desk {
	if d := s.desk.Load(); d != nil {
		return *d
	}
	return nil
}

// recordEdits keeps what has become of skills that have a history.
func (s *Server) recordEdits(ctx context.Context) {
	box, ok := s.proposals().(*proposal.Box)
	if !ok {
		return // the history of a shared catalog is where it is pushed from
	}
	edited, err := box.Rescan(ctx)
	for _, name := range edited {
		s.opts.Logger.Info("kept an edit in the history", "skill", name)
	}
	if err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn("keeping edited skills in the history", "error", err)
	}
}

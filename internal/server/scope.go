package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/discover"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/scripts"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/usage"
)

// MCP returns a server of all that is served, which is not notified of changes.
func (s *Server) MCP() (*mcpserver.Server, error) { return s.server(s.agent, nil, nil) }

// server returns a server of a scope. Both functions may be nil, see mcpserver.Options.
func (s *Server) server(scope *repertoire.Agent, observe func(usage.Event), loaded func(ctx context.Context, session, id string)) (*mcpserver.Server, error) {
	runs, err := s.runs(scope)
	if err != nil {
		return nil, err
	}
	o := &mcpserver.Options{
		Version: s.opts.Version, Agent: scope, Agents: s.Config().Agents, Local: s.local, Long: s.opts.Long, Sources: s.Labels,
		Suggest: s.suggest, Introduce: s.introduce, Loaded: loaded, Runs: runs, Logger: s.opts.Logger,
		Observe: func(e usage.Event) {
			if observe != nil {
				observe(e)
			}
			s.noteUse(e)
		},
	}
	if s.opts.Find {
		f, err := discover.New(s.Catalog, &s.opts.Settings)
		if err != nil {
			return nil, err
		}
		find := f.Tool("skills")
		o.Find = func(ctx context.Context, q repertoire.Query) (string, any, error) {
			q.Agent = s.asked().by(ctx, q.Agent)
			return find(ctx, q)
		}
	}
	if s.opts.Propose {
		o.Proposals, o.Reviews = s.proposals(), scope != nil && scope.Name == s.opts.Reviewer
	}
	return mcpserver.New(s.asked(), o), nil
}

// noteUse notes an event in the log of usage. Why it cannot, such as that a month is full, it says once.
func (s *Server) noteUse(e usage.Event) {
	if e.Because == string(intent.Empty) {
		return // nobody has typed it
	}
	if err := s.opts.Usage.Add(e); err != nil {
		if text := err.Error(); s.unnoted.Swap(text) != text {
			s.opts.Logger.Warn("usage is not noted", "error", err)
		}
	}
}

func (s *Server) suggest(ctx context.Context, p mcpserver.Prompt, scope *repertoire.Agent) (repertoire.Block, error) {
	budget := repertoire.Budget{Server: mcpserver.DefaultName, ListPinned: true}
	about := session.Prompt{Session: p.Session, Text: p.Text, Client: p.Client, Dir: cmp.Or(p.Dir, s.opts.Dir), Keep: s.opts.Usage.Prompts()}
	if p.Client != "" && p.Session != "" { // the session belongs to the path on which it began
		about.Session = fmt.Sprintf("%q %s", nameOf(scope), p.Session)
	}
	within := s.project.Scope(p.Dir, s.Config().Sources, scope)
	if p.History != nil { // the client remembers its session
		return p.History.Suggest(ctx, s.asked(), p.Text, *p.Budget, within)
	}
	return s.memory.Suggest(ctx, s.asked(), about, budget, within)
}

// asked returns the catalog as clients ask it.
func (s *Server) asked() asked { return asked{s.Catalog, s.here} }

// nameOf returns the name of a scope; "" is the whole catalog.
func nameOf(scope *repertoire.Agent) string {
	if scope == nil {
		return ""
	}
	return scope.Name
}

// introduce tells a session of a scope what there is.
func (s *Server) introduce(ctx context.Context, server string, scope *repertoire.Agent) (string, error) {
	return contextprovider.Introduce(ctx, s, scope, server, "")
}

// runs returns the tools with which the clients of a scope run scripts; nil means that there
// are none. Each session has the files of its executors for itself.
func (s *Server) runs(scope *repertoire.Agent) (*mcpserver.Runs, error) {
	if !s.opts.Run {
		return nil, nil
	}
	if s.opts.State == "" {
		return nil, errors.New("scripts run only if there is a folder that says which skills are trusted")
	}
	e, err := scripts.ExecutorsFor(s.opts.Executor, s.opts.Unconfined, scope)
	if err != nil {
		return nil, err
	}
	run, err := scripts.New(s.asked(), scope, e, trust.Open(s.opts.State), &scripts.Options{
		Limits:  s.room,
		Observe: s.ran.Observe,
		Tell: func(ctx context.Context, err error) string {
			if mcpserver.IsOwner(ctx) {
				return ""
			}
			return access.Tell(s.opts.Logger, "a run", err).Error()
		},
	})
	if err != nil {
		return nil, err
	}
	return &mcpserver.Runs{
		OpenWorld: e.Open,
		Begin:     func(client string) mcpserver.RunSession { return run.Begin(client) },
		Tools:     run.Tools,
	}, nil
}

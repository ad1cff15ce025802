package cli

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/source"
)

// A suggester makes the blocks of the tool suggest_skills, which clients may
// call for each prompt instead of starting a hook: sessions are remembered alike.
type suggester struct {
	catalog *catalog
	memory  *session.Memory

	ofProject []string // labels of the sources that are the project's
	project   string   // root of the project that the server was started in, "" for none

	scopes sync.Map // *repertoire.Agent to the same without the skills of the project
}

// newSuggester returns the suggester of a catalog. Without a state folder it
// remembers nothing.
func newSuggester(c *catalog, log *slog.Logger) (*suggester, error) {
	s := &suggester{catalog: c, memory: session.New("", nil)}
	if state, err := config.StateDir(); err == nil {
		s.memory = session.New(filepath.Join(state, "sessions"), &session.Options{Logger: log})
		s.memory.Sweep()
	}
	for _, src := range c.Config().Sources {
		if src.Kind() == source.KindProject {
			s.ofProject = append(s.ofProject, src.Label())
		}
	}
	if len(s.ofProject) > 0 {
		dir, err := c.app.workDir()
		if err != nil {
			return nil, err
		}
		s.project = config.ProjectRoot(dir)
	}
	return s, nil
}

func (s *suggester) suggest(ctx context.Context, p mcpserver.Prompt, a *repertoire.Agent) (repertoire.Block, error) {
	budget := repertoire.Budget{Server: mcpserver.DefaultName, ListPinned: true}
	return s.memory.Suggest(ctx, s.catalog, session.Prompt{Session: p.Session, Text: p.Text}, budget, s.scope(p.Dir, a))
}

// loaded remembers what a session has read.
func (s *suggester) loaded(ctx context.Context, sessionID, id string) {
	s.memory.Load(ctx, sessionID, id, "")
}

// scope returns the scope of a prompt from a folder: that of the agent, but who
// works elsewhere has no use for the project's own skills.
func (s *suggester) scope(dir string, a *repertoire.Agent) *repertoire.Agent {
	if s.project == "" || !filepath.IsAbs(dir) || isBelow(s.project, resolved(dir)) {
		return a
	}
	var elsewhere repertoire.Agent
	if a != nil {
		elsewhere = *a
	}
	elsewhere.Exclude.Sources = slices.Concat(elsewhere.Exclude.Sources, s.ofProject)
	// The index keeps what an agent sees by its address.
	scope, _ := s.scopes.LoadOrStore(a, &elsewhere)
	return scope.(*repertoire.Agent)
}

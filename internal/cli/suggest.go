package cli

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

// A suggester makes the blocks of the tool suggest_skills, which clients may call for
// each prompt instead of starting a hook. It remembers sessions like the hook.
type suggester struct {
	catalog *catalog
	memory  *session.Memory
	project *config.Project
}

// newSuggester returns the suggester of a catalog. Without a state folder it
// remembers nothing.
func newSuggester(c *catalog, log *slog.Logger) (*suggester, error) {
	s := &suggester{catalog: c, memory: session.New("", nil)}
	if state, err := config.StateDir(); err == nil {
		s.memory = session.New(filepath.Join(state, "sessions"), &session.Options{Logger: log})
		s.memory.Sweep()
	}
	var err error
	s.project, err = config.NewProject(c.app.dir, c.Config().Sources)
	return s, err
}

func (s *suggester) suggest(ctx context.Context, p mcpserver.Prompt, a *repertoire.Agent) (repertoire.Block, error) {
	budget := repertoire.Budget{Server: mcpserver.DefaultName, ListPinned: true}
	return s.memory.Suggest(ctx, s.catalog, session.Prompt{Session: p.Session, Text: p.Text}, budget, s.project.Scope(p.Dir, a))
}

// loaded remembers that a session has read a skill.
func (s *suggester) loaded(ctx context.Context, sessionID, id string) {
	s.memory.Load(ctx, sessionID, id, "")
}

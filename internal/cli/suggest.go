package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/mcpserver"
	"github.com/repertoire-skills/repertoire/source"
)

// A suggester makes the blocks of the tool suggest_skills, which clients may
// call for each prompt instead of starting a hook: sessions are remembered alike.
type suggester struct {
	catalog *catalog
	memory  *session.Memory
	project string // root of the project that the server was started in, "" for none

	scopes sync.Map // *repertoire.Agent to the same without the skills of the project
}

// newSuggester returns the suggester of a catalog. Without a state folder it
// remembers nothing.
func newSuggester(c *catalog, log *slog.Logger) (*suggester, error) {
	s := &suggester{catalog: c, memory: session.New("", nil)}
	if state, err := repertoire.StateDir(); err == nil {
		s.memory = session.New(filepath.Join(state, "sessions"), &session.Options{Logger: log})
		s.memory.Sweep()
	}
	dir, err := c.app.workDir()
	if err != nil {
		return nil, err
	}
	if len(c.ofProject) > 0 {
		s.project = projectRoot(dir)
	}
	return s, nil
}

// projectRoot returns the root of the project that a folder belongs to, its
// links resolved.
func projectRoot(dir string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	folders := source.ProjectFolders(dir, home)
	if len(folders) == 0 {
		return ""
	}
	return folders[len(folders)-1]
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
	elsewhere.Exclude.Sources = slices.Concat(elsewhere.Exclude.Sources, s.catalog.ofProject)
	// The index keeps what an agent sees by its address.
	scope, _ := s.scopes.LoadOrStore(a, &elsewhere)
	return scope.(*repertoire.Agent)
}

// isBelow reports whether a path is that of a folder or of something in it. Both
// are resolved.
func isBelow(folder, name string) bool {
	rel, err := filepath.Rel(folder, name)
	return err == nil && filepath.IsLocal(rel)
}

func resolved(name string) string {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real
	}
	return filepath.Clean(name)
}

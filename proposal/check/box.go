package check

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
)

// Open opens the proposals for the skills of a catalog, and checks them with it. A shared catalog
// has proposals of everybody, others have those of the user. s are the settings of the catalog.
func Open(c *repertoire.Catalog, s *config.Settings) (proposal.Desk, error) { return open(c, c, s) }

// OpenOwners is Open for the owner of the catalog, who also decides about skills that are held
// back from models.
func OpenOwners(c *repertoire.Catalog, s *config.Settings) (proposal.Desk, error) {
	return open(c, owners{c}, s)
}

type owners struct{ *repertoire.Catalog }

// Lookup implements proposal.Catalog.
func (c owners) Lookup(ctx context.Context, id string, a *repertoire.Agent) (repertoire.Entry, error) {
	if a == nil {
		a = &repertoire.Agent{Held: true}
	}
	return c.Catalog.Lookup(ctx, id, a)
}

func open(c *repertoire.Catalog, skills proposal.Catalog, s *config.Settings) (proposal.Desk, error) {
	o := &proposal.Options{
		Sources: func() []source.Source { return c.Config().Sources }, UserDir: s.UserDir, Installed: s.InstallDir,
		Check: New(c, c.Path()+config.ChecksSuffix).Check,
	}
	if st := c.Config().Store; st != nil {
		kept, ok := st.(store.Proposals)
		if !ok {
			return nil, errors.New("the engine of the shared catalog keeps no proposals")
		}
		return proposal.OpenShared(kept, skills, o), nil
	}
	state, err := config.StateDir()
	if err != nil {
		return nil, err
	}
	if home, err := os.UserHomeDir(); err == nil { // without a home, a place has to be named
		o.UserDir = cmp.Or(o.UserDir, filepath.Join(home, ".agents", "skills"))
	}
	if data, err := config.DataDir(); err == nil { // without one nothing is installed
		o.Installed = cmp.Or(o.Installed, filepath.Join(data, "skills"))
		o.Fetched = []string{filepath.Join(data, "roots")}
	}
	return proposal.Open(proposal.Dir(state), skills, o)
}

package cli

import (
	"log/slog"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/usage"
)

// usageLog returns the log of usage of this machine that the user wants; nil means none.
func usageLog(wanted, prompts bool) *usage.Log {
	return sharedLog(wanted, usage.Options{Prompts: prompts})
}

func sharedLog(wanted bool, o usage.Options) *usage.Log {
	state, err := config.StateDir()
	if err != nil { // without a state folder nothing is noted
		return nil
	}
	if log := usage.New(state, o); wanted {
		return log
	}
	return nil
}

// usageOf returns the log of usage of the configuration of an open catalog.
func usageOf(c *repertoire.Catalog) *usage.Log {
	cfg := c.Config()
	return usageLog(cfg.Usage, cfg.UsagePrompts)
}

// nodeLog returns the log of usage for what shows or notes the usage of all nodes, if the catalog is a
// shared one.
func nodeLog(cfg *repertoire.Config, log *slog.Logger) *usage.Log {
	shared, _ := cfg.Store.(store.UsageLog)
	return sharedLog(cfg.Usage, usage.Options{Prompts: cfg.UsagePrompts, Shared: shared, Logger: log})
}

// used notes what a command did with skills.
func (c *catalog) used(e usage.Event, ids ...string) {
	e.Skills = usage.Named(ids...)
	c.noteUse(e)
}

// noteUse notes what happened in a command.
func (c *catalog) noteUse(e usage.Event) {
	if e.Client = "command"; c.agent != nil {
		e.Agent = c.agent.Name
	}
	if err := usageOf(c.Catalog).Add(e); err != nil {
		c.session.note("%v", err)
	}
}

// idOf returns the ID of a hit.
func idOf(h repertoire.Hit) string { return h.ID }

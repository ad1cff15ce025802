package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/mcpserver"
)

const mcpHelp = `Mcp serves the catalog over the Model Context Protocol on standard input and
output, for clients that start their servers. It ends with its input.

Tools: search_skills, suggest_skills, read_skill, read_skill_resource and
list_skills. Clients of the skills extension (SEP-2640) get skills/list,
skills/get, resources/directory/read and skill:// resources with digests; a
skill that they could not load is left out ("skills doctor --strict" tells of
most causes).

With --agent NAME only what that agent may see exists. Skills are looked for
again on the configured schedule, and clients are told when they change. The
log goes to standard error; with --verbose it also tells of sessions.`

func (a *app) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "mcp",
		Short:   "Serve the catalog over the Model Context Protocol",
		Long:    mcpHelp,
		Example: "  skills mcp\n  skills mcp --agent reviewer --root ~/team/skills",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context())
		},
	}
}

// serve answers on standard input and output until the input or ctx ends.
func (a *app) serve(ctx context.Context) error {
	settings, err := a.settings()
	if err != nil {
		return err
	}
	log := a.serverLogger()
	var server atomic.Pointer[mcpserver.Server] // nil until the catalog is open
	c, err := a.openAs(ctx, settings, func(cfg *repertoire.Config) {
		cfg.Background, cfg.Defer, cfg.Logger = true, true, log
		cfg.Changed = func() {
			if s := server.Load(); s != nil {
				s.Changed()
			}
		}
	})
	if err != nil {
		return err
	}
	defer c.Close()
	server.Store(mcpserver.New(c.Catalog, &mcpserver.Options{
		Version: versionOf().Version, Agent: c.agent, Agents: settings.Agents, Sources: c.Labels(), Logger: log,
	}))
	return server.Load().Serve(ctx, a.stdin, a.stdout)
}

// serverLogger writes to standard error, whose reader is a client's log: what is
// wrong, and with --verbose what is done.
func (a *app) serverLogger() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level}))
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

const setupHelp = `Setup writes the MCP server and the hooks of this program into the settings of
clients, so that they find skills by themselves. On a terminal it shows the
changes and asks before it writes; --dry-run only shows them. Without a client
it offers those on this machine: on a terminal you choose, and --yes sets all of
them up.

--remove takes back what was written; a file that nobody has changed since is
restored to the byte. "skills setup --remove --all" takes everything back, also
in other projects and of clients that are gone.

{clients}
  generic   --file FILE [--key mcpServers]: a JSON file of any other client

Without --mcp and --hook a client gets what it has of both. With --scope project
the files of the project are written; they hold paths of this machine, so keep
them out of version control. Links that lie in the project are not followed.

--root, --only-root, --config, --db and --agent are written into the commands,
as absolute paths. Nothing is written if one of them names what is not there.
Afterwards setup brings the catalog up to date, as "skills index" does, and runs
each written command once with a sample prompt, which is not remembered and does
not count as use. --no-index leaves the catalog as it is; --no-check only
writes, for what is not here yet or for another machine.

With --url clients get the MCP server at that URL, and hooks ask it first (see
"skills hook --help"). The token stays in the environment variable that
--token-env names: what is written refers to it. A client that takes no token
from the environment is left alone, and what to put into its file is shown.
--agent names an agent of the server then.

Everything but the entry stays as it is, comments and layout too; a file where
that cannot be done is left alone, and what to put into it is shown. An entry of
the same name that is not ours is never replaced (see --name). Backups are in
the folder backup of the state folder ($REPERTOIRE_STATE).

"skills setup claude --listing name-only" makes Claude Code list the skills that
the catalog offers, and that lie in its own folders, by name only, so that
descriptions are not paid for twice; on a terminal setup offers it. It is kept
in step with what is added, removed, enabled and disabled: what is disabled is
not listed at all. "--listing on" takes that back.

--list shows which clients are on this machine and what is set up: its lines
hold name, whether it was found, the scopes of the MCP server and of the hook
("-": it has none), and the files, separated by tabs.

--json prints an object: with --list, clients, a list of objects with client,
title, found, mcp and hook (whether it has them), registrations (kind, scope,
file, name, command, url, gone) and problems (file, message); otherwise changes,
a list of objects with client, kind (mcp, hook or listing), scope, file, action
(added, updated, unchanged, removed, absent or refused), message and snippet
(for a refused one), then files (file, diff, backup), warnings, written, skills
(how many are offered), and tried, a list of objects with client, kind, scope,
file, ok, took_ms, offered (names of skills), tools (how many), late (longer
than the deadline), problem and hint.`

// setupResult is what "setup --json" prints.
type setupResult struct {
	Clients  []setupClient  `json:"clients,omitempty"`
	Changes  []setup.Change `json:"changes,omitempty"`
	Files    []setupFile    `json:"files,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Written  bool           `json:"written"`
	Skills   int            `json:"skills,omitempty"`
	Tried    []setupTried   `json:"tried,omitempty"`
}

// setupTried is a registered command with what came of running it.
type setupTried struct {
	Client string       `json:"client"`
	Kind   string       `json:"kind"`
	Scope  client.Scope `json:"scope"`
	File   string       `json:"file"`
	setup.Answer
}

// setupClient is one client of a list.
type setupClient struct {
	Client        string               `json:"client"`
	Title         string               `json:"title"`
	Found         bool                 `json:"found"`
	MCP           bool                 `json:"mcp"`
	Hook          bool                 `json:"hook"`
	Registrations []setup.Registration `json:"registrations"`
	Problems      []setup.FileProblem  `json:"problems"`
}

// setupFile is a file that is changed.
type setupFile struct {
	File   string `json:"file"`
	Diff   string `json:"diff"`
	Backup string `json:"backup,omitempty"`
}

// setupRun is one call of setup.
type setupRun struct {
	*session
	setup.Request
	env  *setup.Env
	user *person // nil means that nobody can be asked

	server                                   serverFlags
	dryRun, yes, list, all, noCheck, noIndex bool
	listing, file, key, program              string
	path                                     string // of the command
	brief                                    bool   // show no diffs
}

func newSetupCommand(e env) *cobra.Command {
	s := new(setupRun)
	cmd := &cobra.Command{
		Use:   "setup [CLIENT…]",
		Short: "Set clients up to use the catalog",
		Long:  setupHelp,
		Example: "  skills setup\n  skills setup claude codex\n  skills setup cursor --mcp --scope project --dry-run\n" +
			"  skills setup claude --remove\n  skills setup --remove --all\n  skills setup claude --listing name-only\n  skills setup --list",
		Args:              args(0, -1),
		ValidArgsFunction: arguments(oneOfThese(client.Names)),
		PreRunE:           checked(s.check),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.session, s.path = e.session(cmd), cmd.CommandPath()
			s.user = s.person()
			return s.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&s.MCP, "mcp", false, "only the MCP server")
	f.BoolVar(&s.Hook, "hook", false, "only the hooks")
	f.StringVar((*string)(&s.Scope), "scope", "user", "write the files of the `user` or of the project")
	f.BoolVar(&s.Remove, "remove", false, "take back what was written")
	f.BoolVar(&s.all, "all", false, "with --remove: all that was ever written, anywhere")
	f.BoolVar(&s.dryRun, "dry-run", false, "only show what would be done")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask; without a client: set up all on this machine")
	f.BoolVar(&s.list, "list", false, "show which clients there are and what is set up")
	f.StringVar(&s.listing, "listing", "", "how Claude Code lists our skills: name-only or on")
	f.StringVar(&s.Name, "name", setup.DefaultName, "call the MCP server `name`")
	f.StringVar(&s.file, "file", "", "the settings `file` of a generic client")
	f.StringVar(&s.key, "key", "mcpServers", "the `key` of the servers in it")
	f.StringVar(&s.program, "program", "", "have clients run this `file` instead of this program")
	s.server.add(f, "have clients and hooks ask the server at this `URL`")
	f.BoolVar(&s.noIndex, "no-index", false, "leave the catalog as it is")
	f.BoolVar(&s.noCheck, "no-check", false, "only write: what is named is not here yet")
	return cmd
}

// check returns an error for flags and clients that cannot be combined.
func (s *setupRun) check(args []string) error {
	names := client.Names()
	for _, name := range args {
		if !slices.Contains(names, name) {
			return unknown("client", name, "", names)
		}
	}
	switch err := s.server.check(); {
	case err != nil:
		return err
	case s.server.url != "" && (s.list || s.listing != ""):
		return errors.New("--list and --listing take no --url")
	case s.list && len(args) > 0:
		return errors.New("--list takes no clients")
	case s.list:
		return nil
	case s.all && (!s.Remove || len(args) > 0 || s.MCP || s.Hook):
		return errAll
	case len(args) == 0 && s.Remove && !s.all:
		return errors.New("CLIENT is missing: name clients, or take back everything with --all")
	case s.Scope != client.User && s.Scope != client.Project:
		return fmt.Errorf("--scope is user or project, not %q", s.Scope)
	case s.Name == "":
		return errors.New("--name is empty")
	case slices.Contains(args, client.Generic) != (s.file != ""):
		return errors.New("the client generic and --file belong together")
	case s.listing != "" && s.listing != "name-only" && s.listing != "on":
		return fmt.Errorf("--listing is name-only or on, not %q", s.listing)
	case s.listing != "" && (len(args) != 1 || !slices.Contains(setup.ListingClients(), args[0]) || s.MCP || s.Hook || s.Remove):
		return fmt.Errorf("--listing is for %s, without --mcp, --hook and --remove", strings.Join(setup.ListingClients(), " or "))
	}
	return nil
}

func (s *setupRun) run(ctx context.Context, args []string) (err error) {
	if s.env, err = s.setupEnv(s.program); err != nil {
		return err
	}
	if s.list {
		return s.printClients()
	}
	if s.env.Server, err = s.server.setup(s.agent); err != nil {
		return err
	}
	if s.program == "" && s.listing == "" && !s.Remove && setup.IsTemporary(s.env.Program) {
		return fmt.Errorf("clients cannot run %s, which \"go run\" removes: install the program and call that, or name it with --program", s.env.Program)
	}
	if !s.Remove && s.listing == "" && !s.noCheck {
		if err := s.checkNamed(ctx); err != nil {
			return err
		}
	}
	switch {
	case s.all:
		return s.removeAll(ctx)
	case len(args) == 0:
		return s.offer(ctx)
	}
	plan, err := s.plan(ctx, args)
	if err != nil {
		return err
	}
	return s.carryOut(ctx, plan)
}

func (s *setupRun) plan(ctx context.Context, args []string) (*setup.Plan, error) {
	if s.listing != "" {
		return s.listingPlan(ctx, args[0])
	}
	for _, name := range args {
		c, ok := client.Find(name)
		if !ok {
			file, err := filepath.Abs(s.file)
			if err != nil {
				return nil, err
			}
			c = client.NewGeneric(file, s.key)
		}
		s.Clients = append(s.Clients, c)
	}
	return setup.NewPlan(s.env, s.Request)
}

// listingPlan plans how a client will list the skills of the catalog.
func (s *setupRun) listingPlan(ctx context.Context, name string) (*setup.Plan, error) {
	lists, _ := client.Find(name)
	if s.listing == "on" {
		return setup.NewListingPlan(s.env, lists, s.Scope, nil, false)
	}
	skills, err := s.listedBy(ctx, s.env, lists, s.Scope)
	if err == nil && len(skills) == 0 {
		err = fmt.Errorf("no skill of the catalog lies in %s", strings.Join(s.env.SkillDirs(lists, s.Scope), " or "))
	}
	if err != nil {
		return nil, err
	}
	return setup.NewListingPlan(s.env, lists, s.Scope, skills, false)
}

// setupEnv describes this machine. Clients should run program; "" means this program.
func (s *session) setupEnv(program string) (*setup.Env, error) {
	state, err := config.StateDir()
	if err != nil {
		return nil, err
	}
	e := &setup.Env{Machine: client.Machine{OS: runtime.GOOS, Getenv: os.Getenv}, State: state}
	e.Home, _ = os.UserHomeDir() // without a home only the files of a project can be written
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	e.Project = config.ProjectRoot(dir)
	if e.Program, err = setup.FindProgram(program); err != nil {
		return nil, err
	}
	e.Flags, err = s.flags()
	return e, err
}

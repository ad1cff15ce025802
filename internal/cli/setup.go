package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

const setupHelp = `Setup writes the MCP server and the hooks of this program into the settings of
clients, so that they find skills by themselves. It shows the changes, asks on a
terminal, and writes; --dry-run only shows. --remove takes back what was
written; a file that nobody has changed since is restored to the byte.

{clients}
  generic   --file FILE [--key mcpServers]: a JSON file of any other client

Without --mcp and --hook a client gets what it has of both. With --scope project
the files of the project are written; they hold paths of this machine, so keep
them out of version control. Links that lie in the project are not followed.
--root, --only-root, --config, --db and --agent are written into the commands,
as absolute paths.

Everything but the entry stays as it is, comments and layout too; a file where
that cannot be done is left alone, and what to put into it is shown. An entry of
the same name that is not ours is never replaced (see --name). Backups are in
the folder backup of the state folder ($REPERTOIRE_STATE).

"skills setup claude --listing name-only" makes Claude Code list the skills that
the catalog offers, and that lie in its own folders, by name only, so that
descriptions are not paid for twice. "--listing on" takes that back.

--list shows which clients are on this machine and what is set up: its lines
hold name, whether it was found, the scopes of the MCP server and of the hook
("-": it has none), and the files, separated by tabs.

--json prints an object: with --list, clients, a list of objects with client,
title, found, mcp and hook (whether it has them), registrations (kind, scope,
file, name, command, gone) and problems (file, message); otherwise changes, a
list of objects with client, kind (mcp, hook or listing), scope, file, action
(added, updated, unchanged, removed, absent or refused), message and snippet
(for a refused one), then files (file, diff, backup), warnings, and written.`

// setupResult is what "setup --json" prints.
type setupResult struct {
	Clients  []setupClient  `json:"clients,omitempty"`
	Changes  []setup.Change `json:"changes,omitempty"`
	Files    []setupFile    `json:"files,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Written  bool           `json:"written"`
}

// setupClient is one client of a list.
type setupClient struct {
	Client        string               `json:"client"`
	Title         string               `json:"title"`
	Found         bool                 `json:"found"`
	MCP           bool                 `json:"mcp"`
	Hook          bool                 `json:"hook"`
	Registrations []setup.Registration `json:"registrations"`
	Problems      []setupProblem       `json:"problems"`
}

// setupProblem is a file of a client that cannot be read.
type setupProblem struct {
	File    string `json:"file"`
	Message string `json:"message"`
}

// setupFile is a file that is changed.
type setupFile struct {
	File   string `json:"file"`
	Diff   string `json:"diff"`
	Backup string `json:"backup,omitempty"`
}

// setupRun is one call of setup.
type setupRun struct {
	*app
	setup.Request
	env *setup.Env

	dryRun, yes, list, noCheck  bool
	listing, file, key, program string
	path                        string // of the command
}

func (a *app) setupCommand() *cobra.Command {
	s := &setupRun{app: a}
	cmd := &cobra.Command{
		Use:   "setup CLIENT…",
		Short: "Set clients up to use the catalog",
		Long:  setupHelp,
		Example: "  skills setup claude codex\n  skills setup cursor --mcp --scope project --dry-run\n" +
			"  skills setup claude --remove\n  skills setup claude --listing name-only\n  skills setup --list",
		Args:              args(0, -1),
		ValidArgsFunction: completed(client.Names, 0),
		PreRunE:           checked(s.check),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.path = cmd.CommandPath()
			return s.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&s.MCP, "mcp", false, "only the MCP server")
	f.BoolVar(&s.Hook, "hook", false, "only the hooks")
	f.StringVar((*string)(&s.Scope), "scope", "user", "write the files of the `user` or of the project")
	f.BoolVar(&s.Remove, "remove", false, "take back what was written")
	f.BoolVar(&s.dryRun, "dry-run", false, "only show what would be done")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&s.list, "list", false, "show which clients there are and what is set up")
	f.StringVar(&s.listing, "listing", "", "how Claude Code lists our skills: name-only or on")
	f.StringVar(&s.Name, "name", setup.DefaultName, "call the MCP server `name`")
	f.StringVar(&s.file, "file", "", "the settings `file` of a generic client")
	f.StringVar(&s.key, "key", "mcpServers", "the `key` of the servers in it")
	f.StringVar(&s.program, "program", "", "have clients run this `file` instead of this program")
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
	switch {
	case s.list && len(args) > 0:
		return errors.New("--list takes no clients")
	case s.list:
		return nil
	case len(args) == 0:
		return fmt.Errorf("no client is named; there are: %s", strings.Join(names, ", "))
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
	if s.program == "" && s.listing == "" && !s.Remove && setup.IsTemporary(s.env.Program) {
		return fmt.Errorf("clients cannot run %s, which \"go run\" removes: install the program and call that, or name it with --program", s.env.Program)
	}
	if !s.Remove && s.listing == "" && !s.noCheck {
		if err := s.checkNamed(ctx); err != nil {
			return err
		}
	}
	plan, err := s.plan(ctx, args)
	if err != nil {
		return err
	}
	return s.carryOut(plan)
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
		return setup.NewListingPlan(s.env, lists, s.Scope, nil, true)
	}
	c, err := s.openFresh(ctx, freshen)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	skills, err := c.listable(ctx)
	if err != nil {
		return nil, err
	}
	names, err := setup.NamesIn(s.env, lists, s.Scope, skills)
	if err != nil {
		return nil, err
	}
	return setup.NewListingPlan(s.env, lists, s.Scope, names, false)
}

// carryOut shows a plan and, if the user wants that, does it.
func (s *setupRun) carryOut(plan *setup.Plan) error {
	result := setupResult{Changes: plan.Changes, Warnings: plan.Warnings}
	for _, ed := range plan.Edits {
		f := setupFile{File: ed.Shown, Diff: ed.Diff()}
		if ed.Existed {
			f.Backup = setup.BackupFile(s.env.State, ed.File)
		}
		result.Files = append(result.Files, f)
		if !s.json {
			fmt.Fprint(s.stdout, f.Diff)
		}
	}
	s.printWarnings(plan)
	write := !s.dryRun && len(plan.Edits) > 0
	if write && !s.confirm() {
		s.note("nothing was written")
		return errReported
	}
	var failed error
	if write {
		failed = plan.Apply(s.env)
		result.Written, result.Changes = failed == nil, plan.Changes
	}
	if s.json {
		failed = errors.Join(failed, s.printJSON(result))
	} else {
		s.printChanges(result)
	}
	return errors.Join(failed, s.printRefusals(plan.Changes, failed))
}

// printWarnings prints what the user should know before a plan is carried out.
func (s *setupRun) printWarnings(plan *setup.Plan) {
	for _, w := range plan.Warnings {
		s.note("%s", w)
	}
	if absent := plan.Missing(s.env); len(absent) > 0 {
		s.note("not found on this machine: %s", strings.Join(absent, ", "))
	}
}

// confirm asks the user on a terminal. It does not ask scripts.
func (s *setupRun) confirm() bool {
	f, ok := s.stdin.(*os.File)
	if s.yes || s.json || !ok || !term.IsTerminal(int(f.Fd())) {
		return true
	}
	fmt.Fprint(s.stderr, "skills: write this? [y/N] ")
	answer, _ := bufio.NewReader(s.stdin).ReadString('\n')
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}

// printChanges prints what happened to each client.
func (s *setupRun) printChanges(r setupResult) {
	kinds := map[string]string{setup.MCP: "MCP server", setup.Hook: "hook", setup.Listing: "listing"}
	done := make(map[string]bool)
	for _, c := range r.Changes {
		if c.Action == setup.Refused {
			continue
		}
		action := c.Action
		if s.dryRun && (action == setup.Added || action == setup.Updated || action == setup.Removed) {
			action = "would be " + action
		}
		line := fmt.Sprintf("%s: %s %s in %s", c.Client, kinds[c.Kind], action, c.File)
		if c.Message != "" {
			line += " (" + c.Message + ")"
		}
		fmt.Fprint(s.stdout, lineOf("%s", line))
		done[c.Client] = done[c.Client] || c.Action == setup.Added || c.Action == setup.Updated
	}
	if !r.Written {
		return
	}
	for _, c := range client.All() {
		if done[c.Name] && c.After != "" && s.listing == "" {
			s.note("%s: %s", c.Title, c.After)
		}
	}
	if slices.ContainsFunc(r.Files, func(f setupFile) bool { return f.Backup != "" }) {
		s.note("the files as they were are in %s", filepath.Join(s.env.State, "backup"))
	}
}

// printRefusals prints the refused changes, with what to do by hand, and returns the
// exit status. If writing has failed, the refusals are part of that error already.
func (s *setupRun) printRefusals(changes []setup.Change, failed error) error {
	refused := false
	for _, c := range changes {
		if c.Action != setup.Refused {
			continue
		}
		refused = true
		if failed == nil {
			fmt.Fprintf(s.stderr, "skills: %s: %s\n", c.Client, message(c.Message))
		}
		if c.Snippet != "" && c.File != "" && !s.json {
			fmt.Fprintf(s.stderr, "skills: hint: put this into %s:\n%s\n", c.File, c.Snippet)
		}
	}
	if refused && failed == nil {
		return errReported
	}
	return nil
}

// printClients prints what --list shows.
func (s *setupRun) printClients() error {
	clients := mapped(setup.Scan(s.env), clientOf)
	if s.json {
		return s.printJSON(setupResult{Clients: clients})
	}
	return s.rows([]string{"CLIENT", "FOUND", "MCP", "HOOK", "FILES"}, mapped(clients, clientRow))
}

func clientOf(st setup.Status) setupClient {
	c := st.Client
	return setupClient{c.Name, c.Title, st.Installed, true, c.Hook != nil, append([]setup.Registration{}, st.Registrations...),
		mapped(st.Problems, func(p setup.FileProblem) setupProblem { return setupProblem{p.File, p.Err.Error()} })}
}

func clientRow(c setupClient) []string {
	found := "no"
	if c.Found {
		found = "yes"
	}
	files := mapped(c.Registrations, func(r setup.Registration) string { return r.File })
	for _, p := range c.Problems {
		files = append(files, p.Message)
	}
	return []string{c.Client, found, scopesOf(c, setup.MCP, c.MCP), scopesOf(c, setup.Hook, c.Hook), strings.Join(files, ", ")}
}

// scopesOf names the scopes in which an MCP server or a hook is set up.
func scopesOf(c setupClient, kind string, has bool) string {
	if !has {
		return "-"
	}
	var scopes []string
	for _, r := range c.Registrations {
		if r.Kind == kind && !slices.Contains(scopes, string(r.Scope)) {
			scopes = append(scopes, string(r.Scope))
		}
	}
	return cmp.Or(strings.Join(scopes, ","), "no")
}

// setupEnv describes this machine. Clients should run program; "" means this program.
func (a *app) setupEnv(program string) (*setup.Env, error) {
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
	e.Flags, err = a.flags()
	return e, err
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/config"
)

const rootsHelp = `Root adds, removes, lists and fetches the folders with skills of your
configuration.

"skills root add" takes the path of a folder, the URL of a git repository (such
as https://github.com/owner/repository, git@host:path, or any with --git), or
the URL of an archive or of a site with /.well-known/agent-skills/index.json.
What is elsewhere is fetched into your data folder by "skills index" and by
programs that stay running, never by a hook. Unless --trusted is given, its
contents rank below equals and hide no other skill of their name: it comes after
all other sources, where the key order has "elsewhere". A root that is added
comes after the others. On a terminal the command asks before it adds what is
elsewhere, unless --yes is given.

"skills root remove" takes a label, a path or a URL. "skills root list" prints
where each root comes from; when the output is piped, each line holds label,
path, URL, origin and place, separated by tabs. Of those that are trusted the
first wins.

Comments, order and quotes in the file stay as they are. If that is not possible
the file is left alone, and the line to write by hand is printed.

--json prints an object with file, changed (what was done) and unchanged (what
was so already, each with the reason); of list an object with roots, a list of
objects with label, path, from (URL), ref, trusted, missing (no folder yet),
origin (file or flag) and place.`

// rootsResult is what "root list --json" prints.
type rootsResult struct {
	Roots []config.ShownRoot `json:"roots"`
}

func newRootCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "root",
		Short:   "Add, remove, list or fetch folders with skills",
		Long:    rootsHelp,
		Example: "  skills root",
		Args:    noCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRootAddCommand(e), newRootRemoveCommand(e), newRootListCommand(e), newRootUpdateCommand(e))
	return cmd
}

func newRootAddCommand(e env) *cobra.Command {
	var given config.Root
	var git, force, yes bool
	cmd := &cobra.Command{
		Use:   "add PATH|URL",
		Short: "Add a folder, a repository or an archive",
		Long:  "Add adds a root to your configuration, see \"skills root --help\".",
		Example: "  skills root add ~/more/skills --label more\n" +
			"  skills root add https://git.example/team/skills.git --ref v2 --path skills",
		Args:              args(1, 1),
		ValidArgsFunction: arguments(anyText(), anyFolder()),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := e.session(cmd)
			r, err := config.NewRoot(args[0], git || given.Ref != "" || given.Sub != "")
			if err != nil {
				return &usageError{cmd.CommandPath(), fmt.Errorf("%s: %w", args[0], err)}
			}
			r.Ref, r.Sub, r.Label, r.Fetch, r.Trusted = given.Ref, given.Sub, given.Label, given.Fetch, given.Trusted
			if err := checkRoot(r, args[0], git || force); err != nil {
				return &usageError{cmd.CommandPath(), err}
			}
			if r.Elsewhere() && !s.confirmed(yes, "fetch skills from %s, and keep them up to date?", cmp.Or(r.Git, r.URL)) {
				return errReported
			}
			return editConfig(s, func(e *config.Editor, done func(changed bool, did, was string)) error {
				label, changed, err := e.AddRoot(r)
				done(changed, "added "+label, label+" is a root already")
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&given.Ref, "ref", "", "`branch`, tag or commit of the repository")
	f.StringVar(&given.Sub, "path", "", "`folder` in the repository")
	f.StringVar(&given.Label, "label", "", "`name` of the source")
	f.StringVar(&given.Fetch, "fetch", "", "when it is fetched anew, as a cron `spec`")
	f.BoolVar(&given.Trusted, "trusted", false, "its skills count like those in your own folders")
	f.BoolVar(&git, "git", false, "the URL is that of a git repository")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&force, "force", false, "add also a folder that is not there")
	return cmd
}

// briefRoot returns what a terminal has room for: where a root comes from, and whether it is
// there.
func briefRoot(r config.ShownRoot) []string {
	state := ""
	switch {
	case r.Missing && r.From != "":
		state = "not fetched yet"
	case r.Missing:
		state = "missing"
	}
	return []string{r.Label, cmp.Or(r.From, r.Path), state}
}

// checkRoot returns an error for flags that a root does not have, a missing folder, and an
// archive on this machine. address is what the user has typed.
func checkRoot(r config.Root, address string, force bool) error {
	archive := r.URL == "" && isArchive(address)
	if r.Elsewhere() && !archive {
		return nil
	}
	if r.Fetch != "" || r.Trusted {
		return errors.New("--fetch and --trusted are for what is elsewhere, not for what is on this machine")
	}
	info, err := os.Stat(r.Path)
	switch {
	case force || err == nil && info.IsDir():
		return nil
	case archive:
		return fmt.Errorf("%s is an archive on this machine, and no root; \"skills install %s\" installs its skills", address, strings.TrimPrefix(address, "file://"))
	}
	return fmt.Errorf("%s is not a folder (--force adds it all the same)", r.Path)
}

// isArchive reports whether an address has the name of an archive.
func isArchive(address string) bool {
	ends := []string{".zip", ".tar.gz", ".tgz", ".skill"}
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(strings.ToLower(address), end) })
}

func newRootRemoveCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:               "remove LABEL|PATH|URL",
		Short:             "Remove a root from the configuration",
		Long:              "Remove removes a root from your configuration; its files stay.",
		Example:           "  skills root remove git:team/skills",
		Args:              args(1, 1),
		ValidArgsFunction: arguments(anyText(), e.ofCatalog(sourceLabels).orFile()),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editConfig(e.session(cmd), func(e *config.Editor, done func(changed bool, did, was string)) error {
				r, err := e.RemoveRoot(args[0])
				what := "removed " + r.Label
				if r.Elsewhere() {
					what += "; what was fetched stays in " + r.Path
				}
				done(true, what, "")
				return err
			})
		},
	}
}

func newRootListCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the roots",
		Long:    "List prints the roots of the configuration, see \"skills root --help\". A terminal\nhas no room for all of it: there it prints where each root comes from, and\nwhether it is there.",
		Example: "  skills root list --json",
		Args:    args(0, 0),
		RunE: e.run(func(_ context.Context, s *session, _ []string) error {
			settings, err := s.settings()
			if err != nil {
				return err
			}
			roots, err := config.ShowRoots(settings)
			if err != nil {
				return err
			}
			if _, ok := terminal(e.stdout); ok {
				return s.tableOr(rootsResult{roots}, []string{"LABEL", "FROM", "STATE"}, mapped(roots, briefRoot))
			}
			return s.tableOr(rootsResult{roots}, nil, mapped(roots, func(r config.ShownRoot) []string {
				path := r.Path
				if r.Missing {
					path += " (missing)"
				}
				return []string{r.Label, path, r.From, r.Origin, r.Place}
			}))
		}),
	}
}

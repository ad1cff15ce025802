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

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/registries"
)

const rootsHelp = `Root adds, removes, lists and fetches the folders with skills of your
configuration.

"skills root add" takes the path of a folder, the URL of a git repository (such
as https://github.com/owner/repository, git@host:path, host.example/path, the
page of a folder on GitHub, GitLab, …, or any with --git, also with #REF), or
the URL of an archive or of a site with /.well-known/agent-skills/index.json.
What is elsewhere is fetched into your data folder by "skills index" and by
programs that stay running, never by a hook. Unless --trusted is given, its
contents rank below equals and hide no other skill of their name: it comes after
all other sources, where the key order has "elsewhere". A root that is added
comes after the others. On a terminal the command asks before it adds what is
elsewhere, unless --yes is given.

With --registry the URL is that of a registry, which "skills search
--registries" then asks. The command asks it once for "skill" to find out
whether it speaks ARD, as other Repertoires do, or as clawhub or skills.sh do.
--label is the name that commands call it, --key-env the variable with its key.
"skills root remove --registry" takes its name or URL.

"skills root remove" takes a label, a path or a URL. "skills root list" prints
where each root comes from; when the output is piped, each line holds label,
path, URL, origin and place, separated by tabs. Of those that are trusted the
first wins.

Comments, order and quotes in the file stay as they are. If that is not possible
the file is left alone, and the line to write by hand is printed.

--json prints an object with file, changed (what was done) and unchanged (what
was so already, each with the reason); of list an object with roots, a list of
objects with label, path, from (URL), ref, trusted, missing (no folder yet),
origin (file or flag) and place, and registries, with url, form, name and
key_env.`

// rootsResult is what "root list --json" prints.
type rootsResult struct {
	Roots      []config.ShownRoot `json:"roots"`
	Registries []shownRegistry    `json:"registries"`
}

// shownRegistry is a registry of a rootsResult.
type shownRegistry struct {
	URL    string `json:"url"`
	Form   string `json:"form"`
	Name   string `json:"name"`
	KeyEnv string `json:"key_env,omitempty"`
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
	var reg registries.Registry
	var isRegistry bool
	cmd := &cobra.Command{
		Use:   "add PATH|URL",
		Short: "Add a folder, a repository or an archive",
		Long:  "Add adds a root to your configuration, see \"skills root --help\".",
		Example: "  skills root add ~/more/skills --label more\n" +
			"  skills root add https://git.example/team/skills.git --ref v2 --path skills\n  skills root add --registry https://clawhub.ai",
		Args:              args(1, 1),
		ValidArgsFunction: arguments(anyText(), anyFolder()),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := e.session(cmd)
			if reg.URL, reg.Name = args[0], given.Label; isRegistry {
				return addRegistry(cmd, s, reg)
			}
			if reg.KeyEnv != "" {
				return &usageError{cmd.CommandPath(), errors.New("--key-env is for --registry")}
			}
			r, err := config.NewRoot(args[0], git || given.Ref != "" || given.Sub != "")
			if err != nil {
				return &usageError{cmd.CommandPath(), fmt.Errorf("%s: %w", endpoint.Shown(args[0]), err)}
			}
			r.Ref, r.Sub = cmp.Or(given.Ref, r.Ref), cmp.Or(given.Sub, r.Sub)
			r.Label, r.Fetch, r.Trusted = given.Label, given.Fetch, given.Trusted
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
	f.BoolVar(&isRegistry, "registry", false, "the URL is that of a registry, which searches may ask")
	f.StringVar(&reg.KeyEnv, "key-env", "", "with --registry: `variable` that holds its key")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&force, "force", false, "add also a folder that is not there")
	return cmd
}

// addRegistry adds a registry, after it was asked what it speaks.
func addRegistry(cmd *cobra.Command, s *session, r registries.Registry) error {
	for _, flag := range []string{"ref", "path", "fetch", "trusted", "git", "force"} {
		if cmd.Flags().Changed(flag) {
			return &usageError{cmd.CommandPath(), fmt.Errorf("--%s is for folders and repositories, not for a registry", flag)}
		}
	}
	r, err := registries.Detect(cmd.Context(), r)
	if err != nil {
		return err
	}
	return editConfig(s, func(e *config.Editor, done func(changed bool, did, was string)) error {
		changed, err := e.AddRegistry(r)
		done(changed, fmt.Sprintf("added registry %s (%s), which speaks %s", r.Name, r.URL, r.Form), r.URL+" is a registry already")
		return err
	})
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
	hint := "--force adds it all the same"
	if s, err := install.ParseSource(address); err == nil && s.Kind == install.Git {
		hint += ", --git the repository " + s.Origin
	}
	return fmt.Errorf("%s is not a folder (%s)", r.Path, hint)
}

// isArchive reports whether an address has the name of an archive.
func isArchive(address string) bool {
	ends := []string{".zip", ".tar.gz", ".tgz", ".skill"}
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(strings.ToLower(address), end) })
}

func newRootRemoveCommand(e env) *cobra.Command {
	var isRegistry bool
	cmd := &cobra.Command{
		Use:               "remove LABEL|PATH|URL",
		Short:             "Remove a root from the configuration",
		Long:              "Remove removes a root from your configuration; its files stay.",
		Example:           "  skills root remove git:team/skills",
		Args:              args(1, 1),
		ValidArgsFunction: arguments(anyText(), e.ofCatalog(sourceLabels).orFile()),
		RunE: func(cmd *cobra.Command, args []string) error {
			return editConfig(e.session(cmd), func(e *config.Editor, done func(changed bool, did, was string)) error {
				if isRegistry {
					done(true, "removed registry "+args[0], "")
					return e.RemoveRegistry(args[0])
				}
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
	cmd.Flags().BoolVar(&isRegistry, "registry", false, "remove a registry, by its name or URL")
	return cmd
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
			all := rootsResult{roots, mapped(settings.Registries, func(r registries.Registry) shownRegistry { return shownRegistry{r.URL, r.Form, r.Name, r.KeyEnv} })}
			if _, ok := terminal(e.stdout); ok {
				if err := s.tableOr(all, []string{"LABEL", "FROM", "STATE"}, mapped(roots, briefRoot)); err != nil || s.json {
					return err
				}
				return s.further([]string{"REGISTRY", "FROM", "FORM"}, mapped(all.Registries, func(r shownRegistry) []string { return []string{r.Name, r.URL, r.Form} }))
			}
			return s.tableOr(all, nil, mapped(roots, func(r config.ShownRoot) []string {
				path := r.Path
				if r.Missing {
					path += " (missing)"
				}
				return []string{r.Label, path, r.From, r.Origin, r.Place}
			}))
		}),
	}
}

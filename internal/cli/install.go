package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/install/unpack"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/origins"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

const installHelp = `Install fetches skills into your folder of installed skills. SOURCE is

  owner/repo                  a repository on github.com
  owner/repo/some/folder      one folder of it
  owner/repo@skill            one skill of it
  https://host/repo           a repository, also host.example/repo, ssh://,
                              file://, git@host:repo
  https://…/tree/REF/folder   the page of a folder or SKILL.md, as GitHub,
                              GitLab, Bitbucket, Forgejo and Azure show it
  SOURCE#REF                  a branch, tag or commit of it, like --ref REF
  ./folder                    a folder on this machine
  FILE.zip, https://…/x.tgz   an archive: .zip, .tar.gz, .tgz or .skill
  https://host                a site with /.well-known/agent-skills/index.json

With --from REGISTRY, SOURCE is the name of a skill as "skills search
--registries" prints it, and REGISTRY one of your configuration. What the
registry has passes the same checks; if it says a digest, the file must have it.
"skills update" asks the registry again.

If the source has several skills, --skill names some by name or folder, and
--all takes all of them. Everything is fetched and checked first; the skills
then get into place as a whole, or not at all. A link to something else in the
source becomes a copy of it; a skill with a link that leaves the source is
refused. Install tells what may be wrong with a skill. If it tells nothing, the
skill may still be unsafe.

On a terminal, install asks before it writes, what to do if a name is taken
(keep both, rename, skip or replace), and whether to go on if a skill of that
name lies in another folder, because only one of them is offered. Elsewhere it
does not ask: both cases need --yes. Two skills of one name from two sources are
both offered, under their full names ("installed/pdf" and
"installed:owner-repo/pdf"); the plain name means both of them. If trust.keys is
configured, only a repository's tag (name it with --ref) or an archive with a
.minisig file that is signed with one of the keys is installed.

The folder is install_dir of the configuration, or skills in the data folder
($REPERTOIRE_DATA). Its file skills.lock says what was installed, from where,
and with which hashes. Git repositories need the git command; their hooks and
filters never run, and git asks for no password. Submodules with skills, or with
files of one, are fetched from the host of the repository and from no other.

--json prints an object with dir, source, ref, commit, done, and changes, a
list of objects with
` + changeHelp

// changeHelp explains changeResult.
const changeHelp = `name, action (add, replace, update, remove, unchanged, skip or refuse), reason,
description, source, commit, digest, signature (with kind and key), files and
edits (what is different, and what you have edited; each has changed, missing
and extra), diff, binary (files that are no text), findings (with rule,
severity, path, line, message and hint), and kept (the folder with a copy of
your edits). Update also has added, a list of objects with source and folders
of skills that are new there.`

// changesResult is what install, update and remove print with --json.
type changesResult struct {
	Dir     string          `json:"dir"`
	Source  string          `json:"source,omitempty"`
	Ref     string          `json:"ref,omitempty"`
	Commit  string          `json:"commit,omitempty"`
	Done    bool            `json:"done"`
	Changes []changeResult  `json:"changes"`
	Added   []install.Added `json:"added,omitempty"`
}

// installRun is one call of install, update or remove.
type installRun struct {
	*session
	install.Request
	in   *install.Installer
	from string // registry that has Source; "" means none
	yes  bool

	verb     string                          // "install", "update" or "remove"
	needsYes func(c []*install.Change) error // why the changes need --yes where nobody can be asked; nil if they do not
	only     bool                            // only show what would be done
	user     *person                         // nil means that nobody can be asked
}

func newInstallCommand(e env) *cobra.Command {
	r := &installRun{verb: "install", needsYes: func([]*install.Change) error { return nil }}
	cmd := &cobra.Command{
		Use:     "install SOURCE",
		Aliases: []string{"add"},
		Short:   "Install skills from a repository, a folder, an archive or a site",
		Long:    installHelp,
		Example: "  skills install anthropics/skills --skill pdf --skill docx\n  skills install ./my-skills --all\n" +
			"  skills install https://github.com/owner/repo/tree/v2/skills/pdf\n  skills install --from clawhub.ai pdf-forms",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) > 1 && len(r.Skills) > 0 {
				return &usageError{cmd.CommandPath(), fmt.Errorf("%q is an argument too many; each skill has a --skill of its own: --skill %s --skill %[1]s", given[1], r.Skills[0])}
			}
			return args(1, 1)(cmd, given)
		},
		ValidArgsFunction: arguments(anyText(), anyFile()),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.session, r.Source = e.session(cmd), args[0]
			if err := r.ask(cmd); err != nil {
				return err
			}
			return r.run(func(in *install.Installer) (*install.Result, error) { return in.Install(cmd.Context(), r.Request, r) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Ref, "ref", "", "install this branch, tag or commit (`name`) of a repository")
	f.StringVar(&r.Name, "name", "", "install the skill under another `name`")
	f.StringArrayVarP(&r.Skills, "skill", "s", nil, "install the skill with this `name` (repeatable)")
	f.BoolVar(&r.All, "all", false, "install all skills of the source")
	f.StringVar(&r.from, "from", "", "install the skill that this `registry` has under the name SOURCE")
	f.BoolVarP(&r.yes, "yes", "y", false, "do not ask")
	return cmd
}

// ask finds the source of what a registry has, if --from names one.
func (r *installRun) ask(cmd *cobra.Command) error {
	switch {
	case r.from == "":
		return nil
	case r.All || len(r.Skills) > 0 || r.Ref != "":
		return &usageError{cmd.CommandPath(), errors.New("--from installs one skill, and takes none of --skill, --all and --ref")}
	}
	settings, err := r.settings()
	if err != nil {
		return err
	}
	offer, err := settings.RegistryClient().Find(cmd.Context(), r.from, r.Source)
	if err != nil {
		return err
	}
	r.Source = offer.Source
	if offer.Skill != "" {
		r.Skills = []string{offer.Skill}
	}
	if offer.Verdict != "" {
		r.note("%s: registry %s says of it: %s", offer.Name, offer.Registry, offer.Verdict)
	}
	return nil
}

// openInstaller opens the folder of installed skills.
func openInstaller(s *session) (*install.Installer, error) {
	settings, err := s.settings()
	if err != nil {
		return nil, err
	}
	data, err := config.DataDir()
	if err != nil {
		return nil, err
	}
	return install.Open(cmp.Or(settings.InstallDir, filepath.Join(data, "skills")), &install.Options{
		Keys: settings.Trust.Keys,
		Ask:  settings.RegistryClient().File,
		Inspect: func(ctx context.Context, _ *skill.Skill, folder string) []skill.Problem {
			return doctor.Folder(ctx, folder)
		},
		Limits: &unpack.Limits{Files: settings.Limits.Files, Bytes: settings.Limits.Bytes},
		Aside:  filepath.Join(data, "edited"),
	})
}

// origins returns where skills were installed from. They are never nil, whatever the error.
func (s *session) origins() (*origins.Origins, error) {
	settings, err := s.settings()
	if err != nil {
		return new(origins.Origins), err
	}
	dir, err := settings.InstalledDir()
	if err != nil {
		return new(origins.Origins), err
	}
	home, _ := os.UserHomeDir() // without one others have no lock
	return origins.Read(dir, home)
}

// run opens the folder, changes it, and prints what was done.
func (r *installRun) run(change func(*install.Installer) (*install.Result, error)) error {
	in, err := openInstaller(r.session)
	if err != nil {
		return err
	}
	r.in = in
	if !r.yes {
		r.user = r.reader()
	}
	result, err := change(in)
	if err != nil {
		return err
	}
	if r.json {
		if err := r.printJSON(changesOf(in.Dir(), result)); err != nil {
			return err
		}
	} else {
		r.printChanges(result)
	}
	return reportedIf(result.Refused() > 0)
}

// Resolve implements install.Caller.
func (r *installRun) Resolve(_ context.Context, c *install.Change, may bool) (install.Action, string, error) {
	switch {
	case c.Beside != "" && r.yes:
		r.note("%s: %s: both are offered, as %s and %s", c.Name, c.Reason, install.FullName(c.Name), install.FullName(c.Beside))
		return install.Add, c.Beside, nil
	case c.Beside != "" && r.user == nil:
		return "", "", fmt.Errorf("%s; --yes installs it beside that one, as %s, and --name NAME gives it another name (nothing was installed)", c.Reason, install.FullName(c.Beside))
	case r.user == nil:
		return "", "", fmt.Errorf("%s; --name NAME gives it another name (nothing was installed)", c.Reason)
	}
	r.note("%s: %s", c.Name, c.Reason)
	choices := "[r]ename or [s]kip it?"
	if may {
		choices = "[r]ename, [s]kip or re[p]lace it?"
	}
	if c.Beside != "" {
		choices = "keep [b]oth, " + choices
	}
	for {
		switch answer := r.user.ask("%s", choices); {
		case answer == "s" || answer == "skip" || answer == "":
			return install.Skip, "", nil
		case may && (answer == "p" || answer == "replace"):
			return install.Replace, "", nil
		case c.Beside != "" && (answer == "b" || answer == "both"):
			return install.Add, c.Beside, nil
		case answer == "r" || answer == "rename":
			if name := r.user.ask("new name:"); name != "" {
				return install.Add, name, nil
			}
		}
	}
}

// Approve implements install.Caller.
func (r *installRun) Approve(ctx context.Context, changes []*install.Change) (bool, error) {
	r.printPlan(changes)
	if ok, err := r.approveShadows(ctx, changes); !ok {
		return false, err
	}
	switch {
	case r.only:
		return false, nil
	case r.yes:
		return true, nil
	case r.user == nil:
		if err := r.needsYes(changes); err != nil {
			return false, err
		}
		return true, nil
	}
	if !r.user.agrees("%s %s?", r.verb, namesOf(changes)) {
		r.note("nothing was changed")
		return false, errReported
	}
	return true, nil
}

// approveShadows reports whether new skills should be installed that have the name of one elsewhere, of which only
// one is offered.
func (r *installRun) approveShadows(ctx context.Context, changes []*install.Change) (bool, error) {
	for _, shadow := range r.shadows(ctx, changes) {
		switch {
		case r.yes:
			r.note("%s", shadow)
		case r.user == nil:
			return false, fmt.Errorf("%s; nothing was installed: nobody can be asked here (--name NAME gives the new one another name, --yes installs it as it is)", shadow)
		case !r.user.agrees("%s; install it all the same?", shadow):
			r.note("nothing was changed (--name NAME gives the new one another name)")
			return false, errReported
		}
	}
	return true, nil
}

// shadows says of each new skill that has the name of one elsewhere where they lie, and which is offered.
func (r *installRun) shadows(ctx context.Context, changes []*install.Change) (shadows []string) {
	adds := func(c *install.Change) bool { return c.Action == install.Add }
	if !slices.ContainsFunc(changes, adds) {
		return nil
	}
	c, err := r.openFresh(ctx, freshen)
	if err != nil {
		return nil // what is wrong with the catalog is not about this installation
	}
	defer c.Catalog.Close()
	list, err := c.List(ctx, nil, &repertoire.ListOptions{Held: true, Shadowed: true})
	if err != nil {
		return nil
	}
	own := r.in.Dir()
	for _, ch := range changes {
		i := slices.IndexFunc(list, func(e repertoire.Entry) bool {
			return words.SameName(e.Name, ch.Name) && !regular.In(own, e.Location)
		})
		if i >= 0 && adds(ch) {
			shadows = append(shadows, fmt.Sprintf("%s: %s has a skill of this name in %s, and the new one comes into %s: only %s will be offered",
				ch.Name, list[i].Source, filepath.Dir(list[i].Location), filepath.Join(own, ch.Name), c.offeredOf(list[i].Source)))
		}
	}
	return shadows
}

// offeredOf says which of two skills of one name is offered, of which one is in the source with this label, and
// a new one is installed.
func (c *catalog) offeredOf(label string) string {
	var there, installed *source.Info
	for _, src := range c.Config().Sources {
		switch info := src.Info(); {
		case info.Label == label:
			there = &info
		case info.Kind == source.KindInstalled:
			installed = &info
		}
	}
	switch {
	case there == nil || installed == nil:
		return "one of them"
	case there.Priority > installed.Priority:
		return "that one"
	}
	return "the new one"
}

// namesOf says in a question which skills are changed.
func namesOf(changes []*install.Change) string {
	var names []string
	for _, c := range changes {
		if c.Action != install.Refuse && c.Action != install.Skip && c.Action != install.Unchanged {
			names = append(names, c.Name)
		}
	}
	if most := 5; len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

var errNeedsYes = errors.New("nothing was changed: nobody can be asked here; --yes does it without a question")

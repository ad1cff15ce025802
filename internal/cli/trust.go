package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

const trustHelp = `Trust shows the skills of the project in FOLDER (the working folder if it is
left out) that you have not trusted yet, what has changed since you did, and
signs that a skill misleads its reader ("skills doctor --rules"), and asks
whether to trust them. To be told of no sign does not mean that a skill is safe.
Where nobody can be asked, --yes trusts them. With the NAME of a skill, or
SOURCE/NAME, it shows that skill alone, wherever it comes from.

With "trust: {project: ask}" in your configuration the skills of projects are
offered to nobody until you trust them. Trust is for the digest of all files of
a skill: the same skill in a clone or a worktree is trusted at once, a changed
one is asked for again. Programs that are running notice it at once. With
"skills mcp --allow-run" the scripts of a skill run once you trust it.

--list prints what you trust, --forget removes skills of that name or in that
folder, or --all. The file is "trusted" in $REPERTOIRE_STATE or your state
folder; you may edit it.

When the output of --list or --forget is piped, each line holds name, digest,
date and folder, separated by tabs.

--json prints an object with trusted, untrusted and forgotten: lists of objects
with digest, name, folder and date; of those that were shown also description,
files (their number), since (the date of the version that you trusted last),
changed, added and removed (paths of files that are not as they were then), and
findings (the signs, a list of objects with rule, severity, path, line, message
and hint).`

// trustResult is what "trust --json" prints.
type trustResult struct {
	Trusted   []trust.Skill `json:"trusted"`   // by this call, or all with --list
	Untrusted []unsureSkill `json:"untrusted"` // that were shown, and are not trusted
	Forgotten []trust.Skill `json:"forgotten"`
}

// unsureSkill is a skill that the user is asked for.
type unsureSkill struct {
	trust.Skill
	Description string          `json:"description"`
	Files       int             `json:"files"`
	Since       *time.Time      `json:"since,omitempty"`
	Changed     []string        `json:"changed,omitempty"`
	Added       []string        `json:"added,omitempty"`
	Removed     []string        `json:"removed,omitempty"`
	Findings    []skill.Problem `json:"findings,omitempty"`

	seen   trust.Seen
	change *trust.Change
}

// trustFlags say what trust does.
type trustFlags struct{ yes, list, forget, all bool }

func newTrustCommand(e env) *cobra.Command {
	var l trustFlags
	cmd := &cobra.Command{
		Use:               "trust [FOLDER|NAME] | --list | --forget NAME|FOLDER|--all",
		Short:             "Trust the skills of a project, or one skill",
		Long:              trustHelp,
		Example:           "  skills trust\n  skills trust ~/src/website --yes\n  skills trust pdf-forms\n  skills trust --forget pdf-forms",
		Args:              args(0, 1),
		ValidArgsFunction: arguments(anyText(), e.ofCatalog(skillNames).orFile()),
		PreRunE:           checked(l.check),
		RunE: e.run(func(ctx context.Context, s *session, args []string) error {
			state, err := config.StateDir()
			if err != nil {
				return err
			}
			file, name := trust.Open(state), ""
			switch {
			case l.list:
				return listTrusted(s.screen, file)
			case l.forget:
				return forgetTrusted(ctx, s.screen, file, strings.Join(args, ""))
			case len(args) == 1:
				switch err := s.enter(args[0]); {
				case errors.Is(err, errNoFolder):
					name = args[0]
				case err != nil:
					return err
				}
			}
			return s.ask(ctx, freshen, nil, func(ctx context.Context, s *session, c *catalog, _ []string) error {
				return runTrust(ctx, s.screen, c, file, name, l.yes)
			})
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&l.yes, "yes", false, "trust them without asking")
	f.BoolVar(&l.list, "list", false, "print what is trusted")
	f.BoolVar(&l.forget, "forget", false, "trust skills of this name, or in this folder, no longer")
	f.BoolVar(&l.all, "all", false, "with --forget: trust no skill any longer")
	return cmd
}

func (l *trustFlags) check(args []string) error {
	switch {
	case l.list && (l.forget || l.yes || len(args) > 0):
		return errors.New("--list takes no FOLDER or NAME and none of --yes and --forget")
	case l.forget && l.yes:
		return errors.New("--yes is not for --forget, which does not ask")
	case l.all && !l.forget:
		return errors.New("--all is for --forget")
	case l.forget && l.all == (len(args) == 1):
		return errors.New("--forget needs a NAME, a FOLDER or --all")
	}
	return nil
}

// errNoFolder means that there is no such folder.
var errNoFolder = errors.New("there is no such folder")

// enter makes a folder the one whose project counts.
func (s *session) enter(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", errNoFolder, dir)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", dir)
	}
	if err == nil {
		s.dir, err = filepath.Abs(dir)
	}
	return err
}

// runTrust shows the skills that are not trusted, or only the skill called name, and trusts
// them if the user agrees.
func runTrust(ctx context.Context, ui *screen, c *catalog, file *trust.File, name string, yes bool) error {
	list, err := unsureSkills(ctx, ui, c, file, name)
	if err != nil {
		return err
	}
	if len(list) == 0 && !ui.json {
		noteTrusted(ui, c, name)
		return nil
	}
	if !ui.json {
		if err := printUnsure(ui, list); err != nil {
			return err
		}
	}
	agreed := len(list) > 0 && (yes || ui.reader().agrees("trust %s?", count(len(list), "skill")))
	out := trustResult{Trusted: []trust.Skill{}, Untrusted: list, Forgotten: []trust.Skill{}}
	if agreed {
		if err := file.Add(ctx, mapped(list, func(s unsureSkill) trust.Seen { return s.seen })...); err != nil {
			return fmt.Errorf("remembering what is trusted: %w", err)
		}
		out.Trusted, out.Untrusted = mapped(list, func(s unsureSkill) trust.Skill { return s.Skill }), []unsureSkill{}
		ui.note("%s trusted; \"skills trust --forget\" takes it back", count(len(list), "skill"))
	}
	if ui.json {
		err = ui.printJSON(out)
	}
	if err == nil && !agreed && len(list) > 0 {
		ui.note("nothing was changed; --yes trusts them without a question")
		return errReported
	}
	return err
}

// noteTrusted says why there is nothing to trust.
func noteTrusted(ui *screen, c *catalog, name string) {
	if name != "" {
		ui.note("%s is trusted as it is now", name)
		return
	}
	if p := c.Config().Policy; p == nil || len(p.Ask) == 0 {
		ui.note("the skills of projects are offered without asking; \"trust: {project: ask}\" in your configuration changes that")
		return
	}
	ui.note("nothing to trust: the project has no skill that is not trusted")
}

// unsureSkills returns the skills that are not trusted, as they are on disk now.
func unsureSkills(ctx context.Context, ui *screen, c *catalog, file *trust.File, name string) ([]unsureSkill, error) {
	entries, err := toTrust(ctx, c, name)
	if err != nil {
		return nil, err
	}
	list := []unsureSkill{}
	file.Version() // reads it
	for _, e := range entries {
		l, err := c.Listing(ctx, e.ID, asOwner(c.agent), true)
		if err != nil {
			ui.note("%v", err)
			continue
		}
		if l.Partial {
			ui.note("%s cannot be trusted: it has too many files or folders to be compared, or one that cannot be read, so nobody would notice a change of it", e.ID)
			continue
		}
		if i := slices.IndexFunc(l.Files, func(f contextprovider.Resource) bool { return f.SHA256 == "" }); i >= 0 {
			ui.note("%s cannot be trusted: its file %s is too large to hash, or cannot be read, so nobody would notice a change of it", e.ID, l.Files[i].Path)
			continue
		}
		if file.Trusted(l.Digest) {
			continue
		}
		s := trust.Skill{Digest: l.Digest, Name: e.Name, Folder: l.Folder, Date: ui.start.UTC().Truncate(time.Second)}
		u := unsureSkill{Skill: s, Description: e.Description, Files: len(l.Files), seen: trust.Seen{Skill: s, Files: mapped(l.Files, fileOf)}}
		if u.change, err = file.Change(u.seen); err != nil {
			return nil, err
		}
		if ch := u.change; ch != nil {
			u.Since, u.Changed, u.Added, u.Removed = &ch.Since.Date, ch.Changed, ch.Added, ch.Removed
		}
		u.Findings = signsIn(ctx, l.Folder)
		list = append(list, u)
	}
	return list, nil
}

// toTrust returns the skill of a name, for "" those that are held back until they are trusted.
func toTrust(ctx context.Context, c *catalog, name string) ([]repertoire.Entry, error) {
	if name == "" {
		return (&listFlags{untrusted: true}).entries(ctx, c)
	}
	e, err := c.Lookup(ctx, name, asOwner(c.agent))
	if err != nil {
		return nil, fmt.Errorf("there is no folder %s, and %w", name, err)
	}
	return []repertoire.Entry{e}, nil
}

func fileOf(r contextprovider.Resource) skill.File {
	return skill.File{Path: r.Path, Size: r.Size, SHA256: r.SHA256}
}

// signsIn returns the signs that a skill misleads its reader, without mere notes.
func signsIn(ctx context.Context, folder string) []skill.Problem {
	return slices.DeleteFunc(doctor.Folder(ctx, folder), func(p skill.Problem) bool { return p.Severity == skill.Note })
}

// printUnsure prints what the user should know before trusting skills.
func printUnsure(ui *screen, list []unsureSkill) error {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(lineOf("%s: %s", s.Name, s.Description))
		b.WriteString(lineOf("  %s in %s", count(s.Files, "file"), s.Folder))
		b.WriteString(sinceTrusted(s.change, s.Folder))
		for _, p := range s.Findings {
			b.WriteString(lineOf("  %v", p))
		}
	}
	return ui.printText(b.String())
}

// sinceTrusted is the line that lists the files that are not as they were; "" for no change.
func sinceTrusted(ch *trust.Change, folder string) string {
	if ch == nil {
		return ""
	}
	text := "  changed since you trusted it on " + ch.Since.Date.Local().Format(time.DateOnly)
	if ch.Since.Folder != folder {
		text += " in " + ch.Since.Folder
	}
	for _, part := range []struct {
		what  string
		paths []string
	}{{"changed", ch.Changed}, {"new", ch.Added}, {"gone", ch.Removed}} {
		if len(part.paths) > 0 {
			text += "; " + part.what + ": " + strings.Join(part.paths, ", ")
		}
	}
	return lineOf("%s", text)
}

func listTrusted(ui *screen, file *trust.File) error {
	list, err := file.List()
	if err != nil {
		ui.note("%v", err)
	}
	return printTrusted(ui, trustResult{Trusted: list}, list)
}

// forgetTrusted removes the trusted skills of a name or in a folder; "" means all.
func forgetTrusted(ctx context.Context, ui *screen, file *trust.File, what string) error {
	folder, err := filepath.Abs(what)
	if err != nil {
		return err
	}
	gone, err := file.Forget(ctx, func(s trust.Skill) bool {
		return what == "" || words.SameName(s.Name, what) || regular.In(folder, s.Folder)
	})
	if err != nil {
		return err
	}
	if len(gone) == 0 && what != "" {
		return fmt.Errorf("nothing that is trusted is called %q or is in that folder; \"skills trust --list\" shows what is", what)
	}
	return printTrusted(ui, trustResult{Forgotten: gone}, gone)
}

// printTrusted prints a result, or its skills as a table.
func printTrusted(ui *screen, r trustResult, list []trust.Skill) error {
	if ui.json {
		r.Trusted, r.Forgotten, r.Untrusted = append([]trust.Skill{}, r.Trusted...), append([]trust.Skill{}, r.Forgotten...), []unsureSkill{}
	}
	return ui.tableOr(r, []string{"NAME", "DIGEST", "DATE", "FOLDER"}, mapped(list, func(s trust.Skill) []string {
		return []string{s.Name, s.Digest, s.Date.Format(time.RFC3339), s.Folder}
	}))
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/postgres"
)

const pushHelp = `Push brings a catalog in a PostgreSQL database, from which several machines
answer, in step with folders of this machine: what --root names and the roots of
your configuration. Repositories and archives are fetched first if they are due.
It pushes no other folders: what clients keep in your home stays there.

Each root is pushed in one transaction, or not at all: its skills, their files
and their vectors. A skill whose files are as they were when this machine last
read them (times, sizes and inodes) is not read again; --full reads it too. Of
all others the digests are compared. Two pushes at once run one after the other.
At the end the ranking is compiled for all machines, if enough has changed.

The database keeps, as a digest, which repository a root comes from, or which
folder of which machine; all clones of a repository are one. If it has a root of
the same label from elsewhere, nothing is pushed: --label NAME pushes yours as
another one, and --replace LABEL takes the place of what is there.

A root that cannot be read, or that holds no skill any more, is kept as the
database has it, and push ends with status 1. Roots in the database that are not
pushed stay too, because others may push them. --prune removes those that the
repositories which are pushed have pushed before and have no more: their folder
is gone, or has another label now. It names the others and leaves them;
--prune-label LABEL removes one, whoever has pushed it, and asks before. Where
nobody can be asked, it needs --yes. A file of more than 16 MiB, one whose name
is not the same on all systems, and one whose name only passwords and keys have
(.env, id_rsa, .ssh/… and the like), is left out.

--store takes a URL, such as postgres://writer@db.example/skills, or keywords
(host=… dbname=…). Give the password as for psql: in ~/.pgpass, in $PGPASSWORD
or in a service file. "skills store" shows what a database holds, and "skills
store roles" prints the SQL of the roles that it should have.

--json prints an object with store, dry_run, generation, took_ms, shared (the
ranking was compiled anew), unembedded (why some texts have no vectors) and
sources, a list of objects with source, found, added, changed, removed (lists of
objects with name and path), unchanged, refused, unreadable, complete, files and
bytes (that the database did not have), pruned, kept (why it was not pushed),
secrets (paths of files that were left out) and problems (rule, severity, path,
line, message, hint). left is what --prune has left, a list of objects with
source, skills and why.`

// pushResult is what "push --json" prints.
type pushResult struct {
	Store      string        `json:"store"`
	DryRun     bool          `json:"dry_run"`
	Generation int64         `json:"generation"`
	TookMS     float64       `json:"took_ms"`
	Shared     bool          `json:"shared"`
	Unembedded string        `json:"unembedded,omitempty"`
	Sources    []push.Source `json:"sources"`
	Left       []push.Left   `json:"left,omitempty"`
}

func newPushCommand(e env) *cobra.Command {
	var fetch, yes bool
	var label string
	var o push.Options
	cmd := &cobra.Command{
		Use:     "push",
		Short:   "Bring a catalog for several machines up to date",
		Long:    pushHelp,
		Example: "  skills push --store postgres://db.example/skills --root ./skills --dry-run\n  skills push --catalog web --only-root --root ./skills --prune",
		Args:    args(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := e.session(cmd)
			fetched, err := fetchRoots(cmd.Context(), s, fetch)
			if err != nil {
				return err
			}
			defer fetched.note(s.screen)
			return runPush(s, cmd, &o, label, yes)
		},
	}
	cmd.Flags().BoolVar(&o.Full, "full", false, "read and write every skill anew, as after an update of this program")
	cmd.Flags().BoolVar(&o.Prune, "prune", false, "remove what the repositories that are pushed have pushed before and have no more")
	cmd.Flags().StringArrayVar(&o.Remove, "prune-label", nil, "remove the root with this `label` from the database, whoever has pushed it (repeatable)")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "with --prune-label: do not ask")
	cmd.Flags().StringVar(&label, "label", "", "push the only root under this `name`")
	cmd.Flags().StringArrayVar(&o.Replace, "replace", nil, "push the root with this `label` although the database has it from elsewhere (repeatable)")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVar(&fetch, "fetch", false, "fetch all roots that are elsewhere, also those that are not due")
	return cmd
}

func runPush(s *session, cmd *cobra.Command, o *push.Options, label string, yes bool) error {
	start, ctx := time.Now(), cmd.Context()
	setGarbage(100) // as "index"
	settings, err := s.settings()
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("label") {
		if err := push.Label(&settings, label); err != nil {
			return &usageError{cmd.CommandPath(), err}
		}
	}
	sources, err := pushedSources(s, cmd, &settings, o)
	if err != nil {
		return err
	}
	db, err := openDatabase(s, cmd.CommandPath(), settings, false)
	if err != nil {
		return err
	}
	defer db.Close()
	if !o.DryRun {
		err = mayWrite(db.Migrate(ctx))
	}
	if err == nil && len(o.Remove) > 0 {
		err = mayRemove(s, cmd, db, sources, o, yes)
	}
	if err != nil {
		return err
	}
	r, err := pushTo(ctx, s.screen, db, sources, o)
	if foreign, ok := errors.AsType[*push.OriginError](err); ok {
		return fmt.Errorf("%w; it stays as it is. Push yours under a name of its own with --label NAME, or take its place with --replace %s", err, foreign.Label)
	}
	if err != nil {
		return mayWrite(err)
	}
	return printPush(s.screen, pushOf(r, db.Name(), o.DryRun, time.Since(start)), r)
}

// mayWrite adds to the error of a user who may only read what to do.
func mayWrite(err error) error {
	if errors.Is(err, store.ErrReadOnly) {
		return fmt.Errorf("%w; connect as a user who may write, see \"skills store roles\"", err)
	}
	return err
}

// mayRemove asks whether the roots that --prune-label names may be removed.
func mayRemove(s *session, cmd *cobra.Command, db *postgres.DB, sources []source.Source, o *push.Options, yes bool) error {
	list, err := o.Removable(cmd.Context(), db, sources)
	if err != nil {
		return fmt.Errorf("--prune-label: %w (%s lists the roots of a catalog)", err, `"skills store --catalog NAME"`)
	}
	yes = yes || o.DryRun
	if !yes && s.reader() == nil {
		return &usageError{cmd.CommandPath(), fmt.Errorf("--prune-label would remove %s, which others may have pushed; where nobody can be asked, give --yes too", rootsOf(list))}
	}
	if !s.confirmed(yes, "remove %s from %s?", rootsOf(list), db.Name()) {
		return errReported
	}
	return nil
}

// fewRoots is how many roots are named in one line.
const fewRoots = 10

// rootsOf names roots with their skills.
func rootsOf(list []push.Left) string {
	names := mapped(list, func(l push.Left) string { return fmt.Sprintf("%s (%s)", l.Source, count(l.Skills, "skill")) })
	if n := len(names); n > fewRoots {
		names = append(names[:fewRoots], fmt.Sprintf("and %s more", figures.Thousands(n-fewRoots)))
	}
	return strings.Join(names, ", ")
}

// noteLeft says what --prune has left, the roots with one reason in one line.
func noteLeft(ui *screen, left []push.Left) {
	for len(left) > 0 {
		why := left[0].Why
		var same, others []push.Left
		for _, l := range left {
			if l.Why == why {
				same = append(same, l)
			} else {
				others = append(others, l)
			}
		}
		ui.note("--prune leaves %s %s: %s. --prune-label LABEL removes one", count(len(same), "root"), why, rootsOf(same))
		left = others
	}
}

// pushTo pushes sources into a database, with progress bars.
func pushTo(ctx context.Context, ui *screen, db *postgres.DB, sources []source.Source, o *push.Options) (*push.Result, error) {
	reading, embedding := ui.progress("reading", -1), ui.progress("embedding", 1)
	o.Found, o.Embedded = reading.step, embedding.set
	r, err := push.Push(ctx, db, sources, o)
	reading.done()
	embedding.done()
	return r, err
}

// pushedSources returns the sources that are pushed, and completes o.
func pushedSources(s *session, cmd *cobra.Command, settings *config.Settings, o *push.Options) ([]source.Source, error) {
	sources, err := o.From(settings, s.dir, s.warnOnce)
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 && len(o.Remove) == 0 {
		return nil, &usageError{cmd.CommandPath(), errors.New(`there is nothing to push; name a folder with --root, or add one to your configuration with "skills root add"`)}
	}
	labels := mapped(sources, func(src source.Source) string { return src.Info().Label })
	for _, label := range o.Replace {
		if !slices.Contains(labels, label) {
			return nil, &usageError{cmd.CommandPath(), fmt.Errorf("--replace %s: no root of this label is pushed%s", label, words.Suggest(label, labels))}
		}
	}
	return sources, nil
}

func pushOf(r *push.Result, name string, dryRun bool, took time.Duration) pushResult {
	out := pushResult{Store: name, DryRun: dryRun, Generation: r.After.Number, TookMS: figures.Milliseconds(took), Shared: r.Shared, Sources: append([]push.Source{}, r.Sources...), Left: r.Left}
	if r.Unembedded != nil {
		out.Unembedded = r.Unembedded.Error()
	}
	return out
}

func printPush(ui *screen, out pushResult, r *push.Result) error {
	failed := slices.ContainsFunc(out.Sources, func(s push.Source) bool { return s.Kept != "" })
	if ui.json {
		if err := ui.printJSON(out); err != nil {
			return err
		}
	} else if err := ui.printText(pushText(ui, out, r)); err != nil {
		return err
	}
	for _, s := range out.Sources {
		if s.Kept != "" {
			ui.note("%s was not pushed: %s; the database keeps what it has. To remove it, leave it out here and give --prune-label %s", s.Source, s.Kept, s.Source)
		}
		if n := len(s.Secrets); n > 0 {
			ui.note("%s: %s left out that may hold a password or key, such as %s; rename what holds none", s.Source, count(n, "file"), s.Secrets[0])
		}
	}
	noteLeft(ui, out.Left)
	if out.Unembedded != "" {
		ui.note("%s; ranking does without these vectors until nearly all are there (the next push goes on)", out.Unembedded)
	}
	if r.Unshared != nil {
		ui.note("%v; machines compile the ranking themselves until the next push", r.Unshared)
	}
	return reportedIf(failed)
}

// pushText describes a push: a line for each source, with its skills below.
func pushText(ui *screen, out pushResult, r *push.Result) string {
	var b strings.Builder
	for _, s := range out.Sources {
		if ui.quiet {
			break
		}
		b.WriteString(sourceLine(s, out.DryRun))
		for _, list := range []struct {
			sign   string
			skills []push.Skill
		}{{"+", s.Added}, {"~", s.Changed}, {"-", s.Removed}} {
			b.WriteString(skillLines(ui, list.sign, list.skills))
		}
	}
	switch {
	case out.DryRun:
		b.WriteString(lineOf("dry run: nothing was changed in %s", out.Store))
	case r.Before == r.After:
		b.WriteString(lineOf("%s is up to date (generation %d)", out.Store, out.Generation))
	default:
		b.WriteString(lineOf("%s is now at generation %d", out.Store, out.Generation))
	}
	return b.String()
}

// sourceLine is the line of one source.
func sourceLine(s push.Source, dryRun bool) string {
	n := figures.Thousands
	switch {
	case s.Kept != "":
		return lineOf("%s: not pushed", s.Source)
	case s.Pruned:
		return lineOf("%s: removed, with %s", s.Source, count(len(s.Removed), "skill"))
	}
	line := fmt.Sprintf("%s: %s added, %s changed, %s removed, %s unchanged", s.Source, n(len(s.Added)), n(len(s.Changed)), n(len(s.Removed)), n(s.Unchanged))
	if s.Refused > 0 {
		line += fmt.Sprintf(", %s refused", n(s.Refused))
	}
	if s.Unreadable > 0 {
		line += fmt.Sprintf(", %s unreadable", n(s.Unreadable))
	}
	if done := "sent"; s.Files > 0 {
		if dryRun {
			done = "to send"
		}
		line += fmt.Sprintf("; %s (%s bytes) %s", count(s.Files, "file"), n(int(s.Bytes)), done)
	}
	if !s.Complete {
		line += " (incomplete: nothing was removed where it could not look)"
	}
	return lineOf("%s", line)
}

// fewSkills is how many skills of a kind are listed without --verbose.
const fewSkills = 20

// skillLines lists skills of one source.
func skillLines(ui *screen, sign string, skills []push.Skill) string {
	var b strings.Builder
	for i, s := range skills {
		if i == fewSkills && len(skills) > fewSkills+1 && !ui.verbose {
			b.WriteString(lineOf("  %s %s more (--verbose lists all)", sign, figures.Thousands(len(skills)-i)))
			break
		}
		if s.Name == "" {
			b.WriteString(lineOf("  %s %s (cannot be used)", sign, s.Path))
		} else {
			b.WriteString(lineOf("  %s %s (%s)", sign, s.Name, s.Path))
		}
	}
	return b.String()
}

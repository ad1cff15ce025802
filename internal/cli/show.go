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

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

const showHelp = `Show prints the instructions of a skill: its whole SKILL.md, as it is on disk
now. NAME is the name of the skill, or source/name or source/folder for a copy
that another skill of the same name shadows.

Characters that a reader cannot see (Unicode tags, bidirectional controls,
zero-width characters inside words, control characters) are removed, and their
number is shown, on a terminal as in a pipe.

The placeholders that clients fill (${CLAUDE_SKILL_DIR}, {baseDir} and, for a
skill of a plugin, ${CLAUDE_PLUGIN_ROOT}) are filled with the folders on this
machine; --raw leaves them. The digests are always of the file on disk.

A skill that is held back from everybody (see "skills list") is not printed,
unless --held is given.

--manifest reads all files of the skill and prints their kind, path, size and
SHA-256 instead, as "skills read NAME" does without the SHA-256.

--json prints an object with id, name, source, version, license, author,
compatibility and invoked_by (if the skill says so), location, folder (what
relative paths in the text are relative to), text, tokens (estimated), resources
(the other files: path, kind, size), requires (skills that this one asks for:
name, available), required (these skills as further objects, if the
configuration says that they are loaded with it), unavailable (what it needs and
is not there), stale (SKILL.md changed since it was indexed), hidden_chars, and
partial and unread if folders of skills have not been read yet. With --manifest
it has id, folder, files (path, kind, size, sha256), digest (over all files) and
partial (files lacks some: there are too many, or a folder cannot be read).`

func newShowCommand(e env) *cobra.Command {
	var manifest, held, raw bool
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Print the instructions of a skill",
		Long:              showHelp,
		Example:           "  skills show writing-skills\n  skills show user:.claude/pdf --json\n  skills show pdf-forms --manifest",
		Args:              args(1, 1),
		ValidArgsFunction: e.first(skillNames),
		RunE: e.onCatalog(func(ctx context.Context, s *session, c *catalog, args []string) error {
			if held {
				c.agent = asOwner(c.agent)
			}
			if manifest {
				return listFiles(ctx, s.screen, c, args[0], "", true)
			}
			return runShow(ctx, s, c, args[0], raw)
		}),
	}
	cmd.Flags().BoolVar(&held, "held", false, "print it even if it is held back from everybody")
	cmd.Flags().BoolVar(&raw, "raw", false, "do not fill placeholders such as ${CLAUDE_SKILL_DIR}")
	cmd.Flags().BoolVar(&manifest, "manifest", false, "print all files with their SHA-256 instead")
	return cmd
}

// asOwner returns an agent that finds skills that are held back, too.
func asOwner(agent *repertoire.Agent) *repertoire.Agent {
	var owner repertoire.Agent
	if agent != nil {
		owner = *agent
	}
	owner.Held = true
	return &owner
}

// isHeld reports whether an error says that a skill is held back.
func isHeld(err error) bool {
	_, ok := errors.AsType[*search.HeldError](err)
	return ok
}

func runShow(ctx context.Context, s *session, c *catalog, id string, raw bool) error {
	body, err := c.Body(ctx, id, c.agent)
	if err != nil {
		return err
	}
	if !raw {
		body.Fill()
		for i := range body.Required {
			body.Required[i].Fill()
		}
	}
	c.used(usage.Event{Kind: usage.Loaded}, body.ID)
	if err := s.notePart(ctx, c); err != nil {
		return err
	}
	if s.json {
		return s.printJSON(shownBody{body, c.part})
	}
	noteHidden(s.screen, body.HiddenChars, body.Location)
	if body.Unavailable != "" {
		s.note("it is not offered: it %s", body.Unavailable)
	}
	if body.InvokedBy != "" {
		s.note("its author lets only the %s start it", body.InvokedBy)
	}
	noteRequired(s.screen, body)
	if len(body.Resources) > 0 {
		s.note("%s in %s; \"skills read %s\" lists them", count(len(body.Resources), "more file"), body.Folder, body.ID)
	}
	text := body.Text
	for _, r := range body.Required {
		text = strings.TrimRight(text, "\n") + "\n\n" + lineOf("----- skill %s, which is required, in %s -----", r.ID, r.Folder) + "\n" + r.Text
	}
	return s.printText(text)
}

// shownBody is what "show --json" prints.
type shownBody struct {
	repertoire.Body
	search.Part
}

// noteRequired says which skills a skill asks for, unless their instructions are printed.
func noteRequired(ui *screen, b repertoire.Body) {
	for _, r := range b.Requires {
		switch {
		case !r.Available:
			ui.note("it asks for the skill %s, which is not in the catalog", r.Name)
		case !slices.ContainsFunc(b.Required, func(q repertoire.Body) bool { return q.ID == r.Name }):
			ui.note("it asks for the skill %s too; \"skills show %[1]s\" prints it", r.Name)
		}
	}
}

// noteHidden tells how many characters were removed from a text.
func noteHidden(ui *screen, n int, from string) {
	if n > 0 {
		ui.note("removed %s from %s", count(n, "invisible character"), from)
	}
}

const readHelp = `Read prints one file of a skill as it is on disk now. The path is relative to
the folder of the skill, as instructions write it (./scripts/run.sh), and cannot
lead out of it. Invisible characters are removed from the printed text, on a
terminal as in a pipe, and their number is shown.

Without a path it lists the files of the skill: kind, path and size in bytes.
The kind says what a file is for: script, reference and asset are the files
below scripts/, references/ and assets/, all others are other. --kind lists the
files of one kind only.

A binary file is not printed; --output writes any file, byte for byte.

Instead of all of a long text it prints the parts that matter, of SKILL.md and
all text files of the skill, or of the one at PATH:
  --find TEXT     the sections that have to do with TEXT, best first; without
                  NAME, of the 20 skills that fit TEXT best
  --grep RE       the lines that match a regular expression (RE2)
  --section NAME  all below a heading, or a trail of headings ("Setup > Keys")
A section ends at the next heading, function or key; each is shown with its
file, its lines, its headings and its size in tokens. --limit says how many
there are at most. Binary, empty and huge files are not searched, but named.

--json prints an object with id, path, size, sha256, binary, text (unless it is
binary) and hidden_chars; without a path, one with id, folder (what the paths
are relative to) and files (path, kind, size). "skills show NAME --manifest"
prints the files with sha256 and their digest. partial says that files lacks
some: there are too many, or a folder cannot be read. With --find, --grep or
--section it has passages (id of the skill, path, sha256 of the file, trail of
headings, first and last line, tokens, text, at: the line where text begins,
matches), skills and files that were searched, skipped (id, path, reason) and
partial: there is more than was searched or is listed.`

func newReadCommand(e env) *cobra.Command {
	var output string
	var kind skill.Kind
	var q contextprovider.TextQuery
	cmd := &cobra.Command{
		Use:   "read NAME [PATH]",
		Short: "Print a file of a skill, list its files, or find something in them",
		Long:  readHelp,
		Example: "  skills read pdf-forms\n  skills read pdf-forms scripts/list_fields.py\n  skills read brand assets/logo.png --output logo.png\n" +
			"  skills read pdf-forms --find \"which fields are required\"\n  skills read --find \"rotate the signing key\"",
		Args:              args(0, 2),
		ValidArgsFunction: arguments(anyText(), e.ofCatalog(skillNames), e.ofCatalog(skillFiles)),
		PreRunE: checked(func(args []string) error {
			find := q.Text != "" || q.Pattern != "" || q.Section != ""
			switch {
			case len(args) == 0 && q.Text == "":
				return errors.New("NAME is missing. Usage: skills read NAME [PATH], or skills read --find TEXT")
			case find && (kind != "" || output != ""):
				return errors.New("--find, --grep and --section take neither --kind nor --output")
			case !find && q.Limit != 0:
				return errors.New("--limit needs --find, --grep or --section")
			case find:
				return q.Check()
			case kind != "" && !slices.Contains(skill.Kinds[:], kind):
				return fmt.Errorf("no kind %q; there are: script, reference, asset, other", kind)
			case kind != "" && len(args) == 2:
				return errors.New("--kind lists files and takes no PATH")
			case output != "" && len(args) == 1:
				return errors.New("--output writes one file: PATH is missing")
			}
			return nil
		}),
		RunE: e.onCatalog(func(ctx context.Context, s *session, c *catalog, args []string) error {
			if q.Text != "" || q.Pattern != "" || q.Section != "" {
				args = append(args, "", "")
				q.Skill, q.Path = args[0], args[1]
				return runFind(ctx, s, c, q)
			}
			if len(args) == 1 {
				return listFiles(ctx, s.screen, c, args[0], kind, false)
			}
			return runRead(ctx, s.screen, c, args[0], args[1], output)
		}),
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the file's bytes to this new `file`")
	cmd.Flags().StringVar(&q.Text, "find", "", "print the sections that have to do with this `text`")
	cmd.Flags().StringVar(&q.Pattern, "grep", "", "print the lines that match this `pattern`")
	cmd.Flags().StringVar(&q.Section, "section", "", "print what is below the `heading`")
	cmd.Flags().IntVar(&q.Limit, "limit", 0, "find at most this `number` of sections; 0 for 5")
	cmd.Flags().StringVar((*string)(&kind), "kind", "", "list files of this `kind` only: script, reference, asset or other")
	return cmd
}

// listFiles prints the files of a skill, grouped by kind. A kind of "" means all of them.
func listFiles(ctx context.Context, ui *screen, c *catalog, id string, kind skill.Kind, digests bool) error {
	list, err := c.Listing(ctx, id, c.agent, digests)
	if err != nil {
		return err
	}
	list.Files = slices.DeleteFunc(list.Files, func(r contextprovider.Resource) bool { return kind != "" && r.Kind != kind })
	if ui.json {
		return ui.printJSON(list)
	}
	slices.SortStableFunc(list.Files, func(x, y contextprovider.Resource) int {
		return cmp.Compare(slices.Index(skill.Kinds[:], x.Kind), slices.Index(skill.Kinds[:], y.Kind))
	})
	header := []string{"KIND", "PATH", "SIZE", "SHA256"}
	if !digests {
		header = header[:3]
	}
	return ui.rows(header, mapped(list.Files, func(r contextprovider.Resource) []string {
		return cells(r.Kind, r.Path, r.Size, r.SHA256)[:len(header)]
	}))
}

func runRead(ctx context.Context, ui *screen, c *catalog, id, name, output string) error {
	f, err := c.File(ctx, id, name, c.agent)
	if err != nil {
		return err
	}
	c.used(usage.Event{Kind: usage.Read, What: f.Path}, f.ID)
	switch {
	case output != "":
		return writeNew(output, f.Data)
	case ui.json:
		return ui.printJSON(f)
	case f.Binary:
		return fmt.Errorf("%s of skill %s is a binary file (%s, sha256 %s); --output FILE writes it", f.Path, f.ID, count(int(f.Size), "byte"), f.SHA256)
	}
	noteHidden(ui, f.HiddenChars, f.Path)
	return ui.printText(f.Text)
}

// runFind prints sections of the files of a skill, or of several skills.
func runFind(ctx context.Context, s *session, c *catalog, q contextprovider.TextQuery) error {
	q.Person = true
	found, err := c.FindText(ctx, q, c.agent)
	if err != nil {
		return err
	}
	for _, p := range found.Passages {
		c.used(usage.Event{Kind: usage.Read, What: p.Path}, p.ID)
	}
	if s.json {
		return s.printJSON(found)
	}
	var b strings.Builder
	for i, p := range found.Passages {
		if i > 0 {
			b.WriteString("\n")
		}
		if q.Section == "" || len(found.Passages) > 1 {
			b.WriteString(lineOf("%s %s:%d-%d, %s: %s", p.ID, p.Path, p.First, p.Last, count(p.Tokens, "token"), p.Heading()) + "\n")
		}
		b.WriteString(strings.TrimRight(p.Text, "\n") + "\n")
	}
	for _, k := range found.Skipped {
		s.note("not searched: %s %s: %s", k.ID, k.Path, k.Reason)
	}
	if mode := found.Unusual(); mode != "" {
		s.note("ranking: %s", mode)
	}
	if found.Partial {
		s.note("there is more: --limit lists more sections, and PATH searches one file only")
	}
	if len(found.Passages) == 0 {
		s.note("nothing found in %s of %s", count(found.Files, "file"), count(found.Skills, "skill"))
		return nil
	}
	return s.printText(b.String())
}

// writeNew writes a file that does not exist yet.
func writeNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return cmp.Or(err, f.Close())
}

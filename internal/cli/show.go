package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/skill"
)

const showHelp = `Show prints the instructions of a skill: its whole SKILL.md, as it is on disk
now. NAME is the name of the skill, or source/name or source/folder for a copy
that another skill of the same name shadows.

Characters that a reader cannot see (Unicode tags, bidirectional controls,
zero-width characters inside words, control characters) are removed, and their
number is shown.

--manifest reads all files of the skill and prints their kind, path, size and
SHA-256 instead, as "skills read NAME" does without the SHA-256.

--json prints an object with id, name, source, location, folder (what relative
paths in the text are relative to), text, tokens (estimated), resources (the
other files: path, kind, size), requires (skills that this one asks for: name,
available), stale (SKILL.md changed since it was indexed) and hidden_chars. With
--manifest it has id, folder, files (path, kind, size, sha256) and digest (over
all files).`

func (a *app) showCommand() *cobra.Command {
	var manifest bool
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Print the instructions of a skill",
		Long:    showHelp,
		Example: "  skills show writing-skills\n  skills show user:.claude/pdf --json\n  skills show pdf-forms --manifest",
		Args:    args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if manifest {
				return a.listFiles(cmd, args[0], "", true)
			}
			return a.show(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&manifest, "manifest", false, "print all files with their SHA-256 instead")
	return cmd
}

func (a *app) show(cmd *cobra.Command, args []string) error {
	c, err := a.openFresh(cmd.Context(), freshen)
	if err != nil {
		return err
	}
	defer c.Close()
	body, err := c.Body(cmd.Context(), args[0], c.agent)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(body)
	}
	if body.HiddenChars > 0 {
		a.note("removed %s from %s", count(body.HiddenChars, "invisible character"), body.Location)
	}
	for _, r := range body.Requires {
		if !r.Available {
			a.note("it asks for the skill %s, which is not in the catalog", r.Name)
		}
	}
	if len(body.Resources) > 0 {
		a.note("%s in %s; \"skills read %s\" lists them", count(len(body.Resources), "more file"), body.Folder, body.ID)
	}
	return a.printText(body.Text)
}

// printText prints s, with a line feed at the end.
func (a *app) printText(s string) error {
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, err := io.WriteString(a.stdout, s)
	return err
}

const readHelp = `Read prints one file of a skill as it is on disk now. The path is relative to
the folder of the skill and cannot lead out of it. Invisible characters are
removed from the printed text, and their number is shown.

Without a path it lists the files of the skill: kind, path and size in bytes.
The kind says what a file is for: script, reference and asset are the files
below scripts/, references/ and assets/, all others are other. --kind lists the
files of one kind only.

A binary file is not printed; --output writes any file, byte for byte.

--json prints an object with id, path, size, sha256, binary, text (unless it is
binary) and hidden_chars; without a path, one with id, folder (what the paths
are relative to) and files (path, kind, size). "skills show NAME --manifest"
prints the files with sha256 and their digest.`

func (a *app) readCommand() *cobra.Command {
	var output, kind string
	cmd := &cobra.Command{
		Use:     "read NAME [PATH]",
		Short:   "Print a file of a skill, or list its files",
		Long:    readHelp,
		Example: "  skills read pdf-forms\n  skills read pdf-forms scripts/list_fields.py\n  skills read brand assets/logo.png --output logo.png",
		Args:    args(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			switch {
			case kind != "" && !slices.Contains(skill.Kinds[:], skill.Kind(kind)):
				err = fmt.Errorf("no kind %q; there are: script, reference, asset, other", kind)
			case kind != "" && len(args) == 2:
				err = errors.New("--kind lists files and takes no PATH")
			case output != "" && len(args) == 1:
				err = errors.New("--output writes one file: PATH is missing")
			case len(args) == 1:
				return a.listFiles(cmd, args[0], skill.Kind(kind), false)
			default:
				return a.read(cmd, args[0], args[1], output)
			}
			return &usageError{cmd.CommandPath(), err}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the file's bytes to this new `file`")
	cmd.Flags().StringVar(&kind, "kind", "", "list files of this `kind` only: script, reference, asset or other")
	return cmd
}

// listFiles prints the files of a skill, grouped by kind. A kind of "" means all
// of them.
func (a *app) listFiles(cmd *cobra.Command, id string, kind skill.Kind, digests bool) error {
	c, err := a.openFresh(cmd.Context(), freshen)
	if err != nil {
		return err
	}
	defer c.Close()
	list, err := c.Listing(cmd.Context(), id, c.agent, digests)
	if err != nil {
		return err
	}
	list.Files = slices.DeleteFunc(list.Files, func(r contextprovider.Resource) bool { return kind != "" && r.Kind != kind })
	if a.json {
		return a.printJSON(list)
	}
	slices.SortStableFunc(list.Files, func(x, y contextprovider.Resource) int {
		return cmp.Compare(slices.Index(skill.Kinds[:], x.Kind), slices.Index(skill.Kinds[:], y.Kind))
	})
	header := []string{"KIND", "PATH", "SIZE"}
	if digests {
		header = append(header, "SHA256")
	}
	var rows [][]string
	for _, r := range list.Files {
		rows = append(rows, []string{string(r.Kind), r.Path, strconv.FormatInt(r.Size, 10), r.SHA256}[:len(header)])
	}
	return a.rows(header, rows)
}

func (a *app) read(cmd *cobra.Command, id, name, output string) error {
	c, err := a.openFresh(cmd.Context(), freshen)
	if err != nil {
		return err
	}
	defer c.Close()
	f, err := c.File(cmd.Context(), id, name, c.agent)
	switch {
	case err != nil:
		return err
	case output != "":
		return writeNew(output, f.Data)
	case a.json:
		return a.printJSON(f)
	case f.Binary:
		return fmt.Errorf("%s of skill %s is a binary file (%d bytes, sha256 %s); --output FILE writes it", f.Path, f.ID, f.Size, f.SHA256)
	}
	if f.HiddenChars > 0 {
		a.note("removed %s from %s", count(f.HiddenChars, "invisible character"), f.Path)
	}
	return a.printText(f.Text)
}

// writeNew writes a file that does not exist yet.
func writeNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

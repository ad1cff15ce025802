package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

const showHelp = `Show prints the instructions of a skill: its whole SKILL.md, as it is on disk
now. The name is that of the skill, or source/name or source/folder for a copy
that another skill of the same name shadows.

Characters that a reader cannot see (Unicode tags, bidirectional controls,
zero-width characters inside words, control characters) are removed, and their
number is told.

--json prints an object with id, name, source, location, folder (what relative
paths in the text are relative to), text, tokens (estimated), resources (the
other files: path, size, sha256), requires (skills that this one asks for: name,
available), stale (it changed since it was indexed) and hidden_chars.`

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME",
		Short:   "Print the instructions of a skill",
		Long:    showHelp,
		Example: "  skills show writing-skills\n  skills show user:.claude/pdf --json",
		Args:    args(1, 1),
		RunE:    a.show,
	}
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
		a.note("%s in %s; \"skills read %s PATH\" prints one", count(len(body.Resources), "more file"), body.Folder, body.ID)
	}
	return a.printText(body.Text)
}

// printText prints s and sees to it that it ends with a line end.
func (a *app) printText(s string) error {
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, err := io.WriteString(a.stdout, s)
	return err
}

const readHelp = `Read prints one file of a skill as it is on disk now. The path is relative to
the folder of the skill and cannot lead out of it. Invisible characters are
removed from the printed text, and their number is told.

A binary file is not printed; --output writes any file, byte for byte.

--json prints an object with id, path, size, sha256, binary, text (unless it is
binary) and hidden_chars.`

func (a *app) readCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "read NAME PATH",
		Short:   "Print a file of a skill",
		Long:    readHelp,
		Example: "  skills read pdf-forms scripts/list_fields.py\n  skills read brand assets/logo.png --output logo.png",
		Args:    args(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd, args[0], args[1], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the file's bytes to this new `file`")
	return cmd
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

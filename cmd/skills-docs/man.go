package main

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// writePages writes a man page for each command.
func writePages(root *cobra.Command, dir string, date time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true // no date of today
	asMarkdown(root)
	return doc.GenManTreeFromOpts(root, doc.GenManTreeOptions{
		Header:           &doc.GenManHeader{Section: "1", Date: &date, Source: "Repertoire", Manual: "Repertoire"},
		Path:             dir,
		CommandSeparator: "-",
	})
}

// asMarkdown turns the texts of a command, which are plain, into the Markdown that the
// maker of man pages reads.
func asMarkdown(cmd *cobra.Command) {
	cmd.Short, cmd.Long = escape(cmd.Short), markdown(cmd.Long)
	for _, c := range cmd.Commands() {
		asMarkdown(c)
	}
}

// markdown returns a plain text as Markdown that looks the same: indented lines, which are
// lists and code, keep their layout.
func markdown(text string) string {
	var out strings.Builder
	inBlock := false
	fence := func(open bool) {
		if open != inBlock {
			out.WriteString("\n```\n")
			inBlock = open
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "  "):
			fence(true)
			out.WriteString(line + "\n")
		case line == "" && inBlock:
			out.WriteString("\n")
		default:
			fence(false)
			out.WriteString(escape(line) + "\n")
		}
	}
	fence(false)
	return out.String()
}

// escape keeps Markdown from taking a character for more than itself.
func escape(line string) string {
	var out strings.Builder
	for _, r := range line {
		if strings.ContainsRune("\\`*_{}[]()#+-.!:|&<>~", r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

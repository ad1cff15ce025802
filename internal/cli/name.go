package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// ownName is the name of the program in the texts of this package. A program of another
// name replaces it where a text tells people what to type, see env.named.
const ownName = "skills"

// quotedName matches the name at the start of a message, in a quoted command, and in a
// line of code of a help.
var quotedName = lazyregexp.New("(?m)(^|^  |[\"`(]|\\| |# )skills(: |[ \n](?:--|[a-z]))")

// nameFor returns the name of a program: the given one, unless it was started through a
// link or a copy that has another of our names.
func nameFor(given, started string) string {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(started)), ".exe")
	if slices.Contains([]string{ownName, "repertoire"}, name) {
		return name
	}
	return given
}

// named returns a text of this program in which commands have the name of the program
// that runs. Texts of others, such as instructions of a skill, must not get here.
func (e env) named(text string) string {
	if e.name == ownName || e.name == "" {
		return text
	}
	return quotedName().ReplaceAllStringFunc(text, func(found string) string {
		before, after, _ := strings.Cut(found, ownName)
		if before == "" && after != ": " {
			return found // a line of prose that begins with the word
		}
		return before + e.name + after
	})
}

// Command returns the tree of commands of the program of a name, with all its help, for
// what is made from it: man pages and scripts for completion.
func Command(name string) *cobra.Command {
	e := env{name: name}
	root := e.command()
	var complete func(cmd *cobra.Command)
	complete = func(cmd *cobra.Command) {
		e.completeHelp(cmd)
		for _, c := range cmd.Commands() {
			complete(c)
		}
	}
	complete(root)
	for _, t := range topics() {
		root.Long += fmt.Sprintf("\n\n%s\n\n%s", strings.ToUpper(t.about), e.filled(t.text))
	}
	return root
}

package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCompletionOfNouns: what the usage of a command or a flag calls a name of something, a file
// or a folder is completed as that.
func TestCompletionOfNouns(t *testing.T) {
	var e env
	root := e.command()
	root.InitDefaultHelpCmd()
	flags := e.flagCompleters()
	names := []string{"name", "label", "tag", "format", "syntax", "form", "kind", "severity", "user", "agent", "skill", "source", "root", "executor", "client", "shell", "scope"}
	texts := []string{"PROMPT", "TEXT"}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		check := func(f *pflag.Flag) {
			noun, _ := pflag.UnquoteUsage(f)
			_, all := flags["--"+f.Name]
			_, one := flags[cmd.Name()+" --"+f.Name]
			_, own := cmd.GetFlagCompletionFunc(f.Name)
			if slices.Contains(names, noun) && !all && !one && !own {
				t.Errorf("%s --%s: nothing completes a %s; add it to flagCompleters", cmd.CommandPath(), f.Name, noun)
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(check)
		cmd.PersistentFlags().VisitAll(check)
		words := strings.FieldsFunc(cmd.Use, func(r rune) bool { return !unicode.IsUpper(r) })
		takes := slices.ContainsFunc(words, func(noun string) bool { return len(noun) > 1 && !slices.Contains(texts, noun) })
		if takes && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			t.Errorf("%s: nothing completes its arguments", cmd.CommandPath())
		}
		for _, c := range cmd.Commands() {
			each(c)
		}
	}
	each(root)
	e.addCompletion(root)
	for _, f := range []string{"agent", "root", "config"} {
		if _, ok := root.GetFlagCompletionFunc(f); !ok {
			t.Errorf("--%s is not completed", f)
		}
	}
}

package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCompletionOfNouns: what the usage of a command or a flag calls a name of something, a file
// or a folder is completed as that.
func TestCompletionOfNouns(t *testing.T) {
	var e env
	root := e.command()
	root.InitDefaultHelpCmd()
	flags, arguments := e.flagCompleters(), e.argumentCompleters()
	names := []string{"name", "label", "tag", "format", "syntax", "form", "kind", "severity", "user", "agent", "skill", "source", "root", "executor", "client", "shell", "scope"}
	texts := []string{"PROMPT", "TEXT", "URL", "ID", "VERSION", "ARGUMENT"}
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
		places, _ := nounsOf(cmd.Use)
		for _, noun := range slices.Concat(places...) {
			_, all := arguments[noun]
			_, one := arguments[cmd.Name()+" "+noun]
			own := cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0
			if !slices.Contains(texts, noun) && !all && !one && !own {
				t.Errorf("%s: nothing completes %s; add it to argumentCompleters", cmd.CommandPath(), noun)
			}
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

func TestNounsOf(t *testing.T) {
	for use, want := range map[string]string{
		"list":             "[]",
		"read NAME [PATH]": "[[NAME] [PATH]]",
		"setup CLIENT…":    "[[CLIENT]] …",
		"trust [FOLDER|NAME] | --list | --forget NAME|FOLDER|--all": "[[FOLDER NAME NAME FOLDER]]",
		"why NAME PROMPT… | NAME -":                                 "[[NAME NAME] [PROMPT]] …",
		"run SKILL -- COMMAND [ARGUMENT…]":                          "[[SKILL]]",
	} {
		places, repeats := nounsOf(use)
		got := make([]string, len(places))
		for i, p := range places {
			got[i] = "[" + strings.Join(p, " ") + "]"
		}
		text := "[" + strings.Join(got, " ") + "]"
		if repeats {
			text += " …"
		}
		if text != want {
			t.Errorf("%q has %s, want %s", use, text, want)
		}
	}
}

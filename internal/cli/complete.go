package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/registries"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/sandbox/executors"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// Completion is bounded, because somebody waits for the key to do something.
const (
	completeWithin = 200 * time.Millisecond // to ask the catalog; 5,000 skills take 50
	mostDescribed  = 200                    // names; a shell takes long to lay out the descriptions of more
	maxDescribed   = 60                     // characters of a description
)

// completes reports whether a shell calls the program to complete what is typed.
func completes(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// A completer returns what an argument or the value of a flag may be.
type completer struct {
	names func(cmd *cobra.Command, args []string) []cobra.Completion // nil means none
	files cobra.ShellCompDirective                                   // which files it may be, too
}

func anyText() completer   { return completer{nil, cobra.ShellCompDirectiveNoFileComp} }
func anyFile() completer   { return completer{nil, cobra.ShellCompDirectiveDefault} }
func anyFolder() completer { return completer{nil, cobra.ShellCompDirectiveFilterDirs} }

// addCompletion completes the arguments and flags of a command, and of those below it. What they
// complete themselves stays.
func (e env) addCompletion(root *cobra.Command) {
	root.InitDefaultHelpCmd() // cobra adds it later
	flags := e.flagCompleters()
	var each func(*cobra.Command)
	each = func(cmd *cobra.Command) {
		complete := func(f *pflag.Flag) {
			if _, own := cmd.GetFlagCompletionFunc(f.Name); !own {
				c := completerOf(flags, f)
				if one, ok := flags[cmd.Name()+" --"+f.Name]; ok {
					c = one
				}
				// It fails only for a flag that does not exist, or has a function.
				_ = cmd.RegisterFlagCompletionFunc(f.Name, c.function())
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(complete)
		cmd.PersistentFlags().VisitAll(complete)
		if cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 && !cmd.HasSubCommands() {
			cmd.ValidArgsFunction = arguments(anyText())
		}
		for _, c := range cmd.Commands() {
			each(c)
		}
	}
	each(root)
}

// completerOf returns the completer of the value of a flag, by its name or its noun.
func completerOf(flags map[string]completer, f *pflag.Flag) completer {
	if c, ok := flags["--"+f.Name]; ok {
		return c
	}
	switch noun, _ := pflag.UnquoteUsage(f); noun {
	case "folder":
		return anyFolder()
	case "file":
		return anyFile()
	}
	return anyText()
}

// arguments completes the arguments of a command: each place as it says, what follows as the rest.
func arguments(rest completer, places ...completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		c := rest
		if len(args) < len(places) {
			c = places[len(args)]
		}
		list, files := c.function()(cmd, args, begun)
		given := func(s cobra.Completion) bool { return slices.Contains(args, nameIn(s)) }
		return slices.DeleteFunc(list, given), files
	}
}

// orFile returns the completer that completes files, too. Shells have no names beside folders,
// so it is for commands that take a folder as well.
func (c completer) orFile() completer {
	c.files = cobra.ShellCompDirectiveDefault
	return c
}

// function returns the completer as cobra wants it. It leaves out names that are no plain words:
// somebody else may have written them, and a shell would have to quote them.
func (c completer) function() cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if c.names == nil {
			return nil, c.files
		}
		list := slices.DeleteFunc(c.names(cmd, args), func(s cobra.Completion) bool {
			return !strings.HasPrefix(s, begun) || !isPlain(nameIn(s))
		})
		if len(list) > mostDescribed {
			list = mapped(list, nameIn)
		}
		return list, c.files
	}
}

// nameIn returns the name of a completion, without its description.
func nameIn(s cobra.Completion) string {
	name, _, _ := strings.Cut(s, "\t")
	return name
}

// isPlain reports whether no shell gives a meaning to a character of a name.
func isPlain(name string) bool {
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@+", r)
	}
	return name != "" && name[0] != '-' && !strings.ContainsFunc(name, special)
}

// wholeName returns a name as a completion, or "", which no shell gets: what follows a tab would be
// its description.
func wholeName(name string) cobra.Completion {
	if strings.Contains(name, "\t") {
		return ""
	}
	return name
}

// described returns a name with a description.
func described(name, description string) cobra.Completion {
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune("`$\\\"'", r) {
			return ' '
		}
		return r
	}, description)
	return cobra.CompletionWithDesc(wholeName(name), tidy.Shorten(tidy.Line(plain), maxDescribed))
}

// oneOf completes one of some fixed names.
func oneOf[S ~string](names ...S) completer { return oneOfThese(func() []S { return names }) }

// oneOfThese is oneOf for names that take time to make.
func oneOfThese[S ~string](names func() []S) completer {
	return completer{func(*cobra.Command, []string) []cobra.Completion {
		return mapped(names(), func(s S) cobra.Completion { return string(s) })
	}, cobra.ShellCompDirectiveNoFileComp}
}

// flagCompleters returns the completers of flags whose usage does not say what they take, or of
// which a command has others.
func (e env) flagCompleters() map[string]completer {
	agents := e.ofCatalog(agentNames)
	return map[string]completer{
		"--agent": agents, "--reviewer": agents, "--public": agents,
		"--skill": e.ofCatalog(skillNames), "install --skill": anyText(), // of what is not there yet
		"install --from": e.registryNames(),
		"--source":       e.ofCatalog(sourceLabels), "index --forget": e.ofCatalog(sourceLabels), "push --replace": e.ofCatalog(sourceLabels), "push --prune-label": e.ofCatalog(sourceLabels),
		"--tag":      e.ofCatalog(tagNames),
		"--executor": oneOf(executors.Names()...),
		"--scope":    oneOf(client.User, client.Project),
		"--listing":  oneOf("name-only", "on"),
		"--form":     oneOf("short", "full"),
		"--kind":     oneOf(skill.Kinds[:]...),
		"--fail-on":  oneOf("error", "warn", "note", "never"),
		"--embedder": oneOf(config.EmbedderStatic, config.EmbedderNone, config.EmbedderOpenAI),
		"--mode":     oneOf("text", "vector", "hybrid"),
		"--model":    oneOf(config.EmbedderStatic, config.EmbedderNone, config.EmbedderOpenAI),
		"--name":     anyText(), "--label": anyText(), "--mcp-server": anyText(), "--ref": anyText(), // new ones
		"chat --model": anyText(), "evals --model": anyText(), // of a server
		"--path": anyText(), "--catalog": anyText(), // elsewhere

		"context --format": oneOf("xml", "markdown", "json"), "prompt --format": oneOf("xml", "markdown", "json"),
		"doctor --format": oneOf("text", "json", "sarif", "github"), "test --format": oneOf("text", "json", "junit"),
		"tools --format": oneOf(tool.Formats()...), "tools --tool": oneOf(agent.ToolNames()...),
	}
}

// registryNames returns the completer of the registries of the configuration.
func (e env) registryNames() completer {
	return completer{func(cmd *cobra.Command, _ []string) []cobra.Completion {
		s := e.session(cmd)
		s.warn, s.lastGood = func(error) {}, true
		settings, err := s.settings()
		if err != nil {
			return nil
		}
		return mapped(settings.Registries, func(r registries.Registry) cobra.Completion { return described(r.Name, r.Form) })
	}, cobra.ShellCompDirectiveNoFileComp}
}

// first completes the first argument with names of the catalog, each all of them.
func (e env) first(names catalogNames) cobra.CompletionFunc {
	return arguments(anyText(), e.ofCatalog(names))
}
func (e env) each(names catalogNames) cobra.CompletionFunc { return arguments(e.ofCatalog(names)) }

// catalogNames returns names that a catalog has, for a command with these arguments.
type catalogNames func(ctx context.Context, c *catalog, args []string) []cobra.Completion

// ofCatalog returns the completer of names that the catalog of the flags has as it is: it is
// not brought up to date. One that is missing or broken has none, and says nothing.
func (e env) ofCatalog(names catalogNames) completer {
	return completer{func(cmd *cobra.Command, args []string) []cobra.Completion {
		ctx := cmd.Context()
		s := e.session(cmd)
		s.warn, s.lastGood, s.verbose = func(error) {}, true, false
		c, err := s.open(ctx)
		if err != nil {
			return nil
		}
		defer c.Catalog.Close()
		return names(ctx, c, args)
	}, cobra.ShellCompDirectiveNoFileComp}
}

func agentNames(_ context.Context, c *catalog, _ []string) []cobra.Completion {
	return mapped(c.Config().Agents, func(a *repertoire.Agent) cobra.Completion { return wholeName(a.Name) })
}

func sourceLabels(_ context.Context, c *catalog, _ []string) []cobra.Completion {
	return mapped(c.Config().Sources, func(s source.Source) cobra.Completion { return described(s.Info().Label, s.Info().Root) })
}

// asIs returns the skills of the catalog if its ranking is compiled, so that nothing needs
// to be made or repaired to list them.
func (c *catalog) asIs(ctx context.Context, o *repertoire.ListOptions) []repertoire.Entry {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	if c.Owner().Glance(ctx, 0).Looked == 0 {
		return nil
	}
	list, err := c.List(ctx, c.agent, o)
	if err != nil {
		return nil
	}
	return list
}

func describedNames(list []repertoire.Entry) []cobra.Completion {
	return mapped(list, func(e repertoire.Entry) cobra.Completion { return described(e.ID, e.Description) })
}

func skillNames(ctx context.Context, c *catalog, _ []string) []cobra.Completion {
	return describedNames(c.asIs(ctx, &repertoire.ListOptions{Person: true}))
}

// disabledNames returns the skills that rules of the configuration disable.
func disabledNames(ctx context.Context, c *catalog, _ []string) []cobra.Completion {
	return describedNames(slices.DeleteFunc(c.asIs(ctx, &repertoire.ListOptions{Held: true}), func(e repertoire.Entry) bool { return e.State != search.Disabled }))
}

// installedNames returns the installed skills, by the names with which they were installed.
func installedNames(ctx context.Context, c *catalog, _ []string) []cobra.Completion {
	installed := c.installed()
	list := slices.DeleteFunc(c.asIs(ctx, &repertoire.ListOptions{Shadowed: true, Held: true}), func(e repertoire.Entry) bool { return !slices.Contains(installed, e.Source) })
	return mapped(list, func(e repertoire.Entry) cobra.Completion { return described(e.Name, e.Description) })
}

func tagNames(ctx context.Context, c *catalog, _ []string) (list []cobra.Completion) {
	counts := make(map[string]int)
	for _, e := range c.asIs(ctx, nil) {
		for _, tag := range e.Tags {
			counts[tag]++
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, described(tag, count(counts[tag], "skill")))
	}
	return list
}

// skillFiles returns the files of the skill that is the first argument.
func skillFiles(ctx context.Context, c *catalog, args []string) []cobra.Completion {
	if len(args) == 0 || len(c.asIs(ctx, nil)) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	l, err := c.Listing(ctx, args[0], c.agent, false)
	if err != nil {
		return nil
	}
	return mapped(l.Files, func(f contextprovider.Resource) cobra.Completion { return wholeName(f.Path) })
}

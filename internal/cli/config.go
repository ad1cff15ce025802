package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/config"
)

const configHelp = `Config shows and changes the configuration, and describes its files to editors.
Yours is repertoire/config.yaml in your configuration folder, or
$REPERTOIRE_CONFIG; a project's is .agents/repertoire.yaml in it. "skills config
paths" shows both. All keys, of which most people need few; what is left out has
its default:

{configuration}

A project's file may hold roots in the project, agents, and disabled and ignore,
which hold for the skills of the project only. Its agents use skills by name,
and may only narrow how scripts run: shorter, without network, in the virtual
executor.

"skills config set" and "unset", "skills disable", "skills enable" and "skills
root" edit your file; its comments stay.
"skills config show" prints each setting with its origin, and no secrets; in a
pipe each line holds key, value (as JSON), origin and place, with tabs between.
"skills config schema" prints the JSON Schema, of a project's file with
--project. An editor checks a file that begins with the line
  # yaml-language-server: $schema=/path/to/schema.json

--json prints an object with settings, a list of objects with key, value, origin
(default, file, variable or flag) and place (path:line, or a name).`

// configExample is the configuration that the help shows: what people change first comes
// first.
const configExample = `  roots:                 # further folders, repositories, archives and sites
    - ~/more/skills
    - {path: ../team, label: team, names: {old: new}}
    - {git: "https://git.example/team/skills", ref: v2, path: skills}
    - {url: "https://example.com/skills.zip", fetch: "@daily", trusted: true}
  registries:            # asked by skills search --registries
    - {url: "https://clawhub.ai", form: clawhub, name: hub}
  disabled: [legacy-*]   # or {names: […], tags: […], sources: […]}
  ignore: [no-trigger, {rules: unused-file, skills: ["x-*"]}]  # by doctor
  usage: false           # or true, or {prompts: true}: a local log of use
  disturb: 0.1           # at most this share of prompts that need none gets one
  unfit: 0.25            # and of those that need one which is not there
  # threshold: 0.6       # instead: least probability that one is wanted
  form: full             # of skills in a block: full or short
  offer: auto            # chat, tools and libraries list all skills where they
                         # are few: or relevant, or all
  wording: {certain: "Load {name} first."}  # what is said of the best skill
  triggers: {user: certain, project: evidence, "git:a/b": off}  # or one of them
  agents:
    reviewer:            # skills --agent reviewer …
      include: {names: ["review-*"], tags: [quality], sources: [user:.claude]}
      exclude: {names: [review-legacy]}
      pinned: [code-review]
    writer:              # skills --agent writer prompt …
      prompt: You write short notes.
      uses_skills: [house-style, ~/skills/tone]  # always with all instructions
      instructions: Sign with the name of the team.
      script: {timeout: 1m, output: 1048576, network: [443]}
      executor: confined # or plain, bubblewrap, container, virtual
  scripts:               # of single skills; what an agent says wins
    - {skills: ["fetch-*"], sources: [team], timeout: 2m, network: [443]}
  projects: {~/work/app: {disabled: [deploy]}}  # in that project only
  project: true          # look at the project's folders
  user: true             # look at the folders in your home
  # user_dir: ~/skills   # instead of the usual ones in your home
  # install_dir: ~/inst  # instead of a folder in your data folder
  bundled: true          # offer the skills that are compiled in, or [NAME, …]
  order: [roots, installed, project, project-clients, user, bundled, elsewhere]
  trust:
    project: offer       # or ask: a project's skills wait until you trust them
    require_digest: false  # hold back installed skills that were changed
    lower: [other]       # sources whose skills rank below equals
  requires: {ignore: false, assume: [gh], load: false}
  embedder: static       # the built-in one; or none; or a server:
  # embedder: {openai: {base_url: "http://127.0.0.1:11434/v1", model: NAME}}
  contextual: auto       # the encoder: where it is fast enough; or on, or off
  model: {base_url: "http://127.0.0.1:11434/v1", model: NAME, key_env: NAME}
  deadline: 250ms        # for the embedding of a prompt
  schedule: "@every 5s"  # of rescans in programs that stay running
  db: ~/catalog.db       # instead of one in the cache folder
  # store: postgres://reader@db.example/skills   # a shared catalog, no folders
  # catalog: NAME        # of that database
  limits: {name: 64, description: 1024, body: 8000, files: 512, bytes: 16777216}
  max_file: 1048576      # bytes of the largest file that is served`

func newConfigCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config",
		Short:   "Show, change or describe the configuration",
		Long:    configHelp,
		Example: "  skills config",
		Args:    noCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigSchemaCommand(e), newConfigShowCommand(e), newConfigSetCommand(e), newConfigUnsetCommand(e), newPathsCommand(e))
	return cmd
}

const configSetHelp = `Set gives a setting of your configuration a value: a key such as usage, or, in a
section, trust.project. The value is YAML, or a text as it is. What the program
does not understand is refused, and the file stays as it was. Comments, order
and quotes stay.

` + editHelp

const configUnsetHelp = `Unset removes settings from your configuration, so that their defaults hold.

` + editHelp

func newConfigSetCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use: "set KEY VALUE", Short: "Change a setting in your configuration", Long: configSetHelp,
		Example:           "  skills config set usage true\n  skills config set disturb 0.05\n  skills config set order '[project, user]'",
		Args:              args(2, 2),
		ValidArgsFunction: settings(true),
		RunE: e.run(func(_ context.Context, s *session, args []string) error {
			return editConfig(s, func(e *config.Editor, done func(changed bool, did, was string)) error {
				was, is, changed, err := e.Set(args[0], args[1])
				if text := jsonText(is); text != "" {
					old := jsonText(was)
					if old != "" {
						old = " (it was " + old + ")"
					}
					done(changed, args[0]+" is now "+text+old, args[0]+" is "+text+" already")
				} else { // a section
					done(changed, args[0]+" is changed", args[0]+" is so already")
				}
				return err
			})
		}),
	}
}

func newConfigUnsetCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use: "unset KEY…", Short: "Remove settings from your configuration", Long: configUnsetHelp, Example: "  skills config unset usage",
		Args:              args(1, -1),
		ValidArgsFunction: settings(false),
		RunE: e.run(func(_ context.Context, s *session, args []string) error {
			return editConfig(s, func(e *config.Editor, done func(changed bool, did, was string)) error {
				for _, key := range args {
					changed, err := e.Unset(key)
					if err != nil {
						return err
					}
					done(changed, key+" has its default", key+" is not set there")
				}
				return nil
			})
		}),
	}
}

// settings completes the keys of settings, and the values of the first if it has few.
func settings(values bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
		known := config.Keys()
		switch {
		case !values || len(args) == 0:
			for _, key := range slices.Sorted(maps.Keys(known)) {
				if !slices.Contains(args, key) {
					list = append(list, described(key, known[key].About))
				}
			}
		case len(args) == 1:
			list = known[args[0]].Values
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func newConfigSchemaCommand(e env) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of the configuration",
		Long:    "Schema prints the JSON Schema (draft 2020-12) of your configuration file.",
		Example: "  skills config schema > schema.json",
		Args:    args(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return e.session(cmd).printJSON(config.Schema(project)) },
	}
	cmd.Flags().BoolVar(&project, "project", false, "of a project's file instead")
	return cmd
}

// configResult is what "config show --json" prints.
type configResult struct {
	Settings []config.Shown `json:"settings"`
}

func newConfigShowCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:     "show",
		Short:   "Print each setting with its origin",
		Long:    "Show prints each setting with its origin, see \"skills config --help\".",
		Example: "  skills config show --json",
		Args:    args(0, 0),
		RunE: e.run(func(_ context.Context, s *session, _ []string) error {
			o, err := s.options()
			if err != nil {
				return err
			}
			settings, err := config.Read(s.dir, (*config.Options)(o))
			if err != nil {
				return err
			}
			shown := config.Show(settings, (*config.Options)(o))
			return s.tableOr(configResult{shown}, []string{"KEY", "VALUE", "ORIGIN", "PLACE"}, mapped(shown, func(s config.Shown) []string {
				return []string{s.Key, jsonText(s.Value), s.Origin, s.Place}
			}))
		}),
	}
}

// jsonText returns a value in one line; "" if there is none.
func jsonText(v any) string {
	if v == nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error() // unreachable: settings are plain values
	}
	return string(text)
}

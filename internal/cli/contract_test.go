package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire/agent/skilltest"
	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/status"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/internal/wellknown"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/usage"
)

// TestHelpNamesFields ties the help of each command to what it prints with
// --json: a field that is added must be explained.
func TestHelpNamesFields(t *testing.T) {
	results := map[string]any{
		"bench":   bench.Result{},
		"search":  searched{},
		"context": contextResult{},
		"show":    shown{},
		"read":    read{},
		"list":    listResult{},
		"why":     whyResult{},
		"doctor":  doctor.Report{},
		"setup":   setupResult{},
		"index":   indexResult{},
		"embed":   embedResult{},
		"push":    pushResult{},
		"store":   storeResult{},
		"version": versionResult{},
		"status":  status.Status{},
		"paths":   pathsResult{},
		"trust":   trustResult{},
		"stats":   usage.Stats{},
		"config":  configResult{},
		"enable":  editResult{},
		"disable": editResult{},
		"pin":     editResult{},
		"unpin":   editResult{},
		"root":    rootsResult{},
		"token":   tokensShown{},
		"prompt":  promptResult{},
		"chat":    chatLine{},
		"run":     runResult{},
		"call":    callResult{},
		"test":    skilltest.Outcome{},
		"try":     tried{},

		"web":        webResult{},
		"well-known": wellknown.Result{}, "publish": wellknown.Result{},

		"install":   changesResult{},
		"update":    changesResult{},
		"remove":    changesResult{},
		"verify":    verifyResult{},
		"propose":   proposal.Proposal{},
		"proposals": proposalsShown{},
		"history":   proposal.Log{},
		"revert":    nothing{},
	}
	for _, cmd := range new(env).command().Commands() {
		result, ok := results[cmd.Name()]
		if !ok {
			if strings.Contains(cmd.Long, "--json") {
				t.Errorf("the help of %s explains --json, but this test knows no result of it", cmd.Name())
			}
			continue
		}
		delete(results, cmd.Name())
		_, explained, _ := strings.Cut(cmd.Long, "--json prints ")
		fields := fieldsOf(reflect.TypeOf(result), cmd.Name() == "search")
		if cmd.Name() == "bench" {
			fields = append(fields, fieldsOf(reflect.TypeFor[bench.Speed](), false)...)
			fields = append(fields, fieldsOf(reflect.TypeFor[loadResult](), false)...)
		}
		for _, field := range fields {
			if !regexp.MustCompile(`\b` + field + `\b`).MatchString(explained) {
				t.Errorf("the help of %s does not explain the field %q of its --json", cmd.Name(), field)
			}
		}
	}
	for name := range results {
		t.Errorf("there is no command %s", name)
	}
}

// tried is what try prints, depending on its flags.
type tried struct {
	Prompt trial.Result
	Skill  trial.Skill
}

// searched is what search prints, without registries and with them.
type searched struct {
	Here       searchResult
	Registries discoverResult
}

// shown and read are what these commands print, depending on their arguments.
type (
	shown struct {
		Body     shownBody
		Manifest contextprovider.Listing
	}
	read struct {
		File    contextprovider.File
		Listing contextprovider.Listing
	}
)

// tokensShown is what token prints, depending on its arguments.
type tokensShown struct {
	List tokensResult
	One  tokenResult
}

// proposalsShown is what proposals prints, depending on its arguments; nothing is for a
// command whose help names another one that prints the same.
type (
	proposalsShown struct {
		List  proposalsResult
		Shown proposal.Shown
	}
	nothing struct{}
)

// fieldsOf returns the JSON names of all fields of a type and of the types in it. The
// help of search explains hits; other commands refer to it.
func fieldsOf(typ reflect.Type, hits bool) []string {
	for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[resultHit]() && !hits {
		return nil
	}
	var names []string
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() && !f.Anonymous { // not printed
			continue
		}
		if name != "" {
			names = append(names, name)
		}
		if f.Type != reflect.SliceOf(typ) { // as of the bodies that come with a body
			names = append(names, fieldsOf(f.Type, hits)...)
		}
	}
	return names
}

// TestExamplesParse runs the command lines in the help up to the point where a
// command would do its work.
func TestExamplesParse(t *testing.T) {
	for _, cmd := range new(env).command().Commands() {
		if cmd.Example == "" {
			t.Errorf("the help of %s has no example", cmd.Name())
		}
		for line := range strings.Lines(cmd.Example) {
			if err := parse(commandLine(t, line), cmd.Name()); err != nil {
				t.Errorf("%s: %s: %v", cmd.Name(), strings.TrimSpace(line), err)
			}
		}
	}
}

// commandLine returns the arguments of the call of skills in a shell line.
func commandLine(t *testing.T, line string) []string {
	t.Helper()
	_, line, ok := strings.Cut(line, "skills ")
	if !ok {
		t.Fatalf("%q does not call skills", line)
	}
	line, _, _ = strings.Cut(line, " < ")
	var args []string
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		if quote := word[:1]; quote == `"` || quote == "'" {
			word = strings.Trim(word, quote)
		}
		args = append(args, word)
	}
	return args
}

// parse checks the flags and the number of arguments of a command line.
func parse(args []string, want string) error {
	cmd, rest, err := new(env).command().Find(args)
	if err != nil {
		return err
	}
	if cmd.Name() != want {
		return &usageError{err: os.ErrInvalid}
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// TestQuotedCommands checks that what help, hints and the bundled skills tell
// people to type exists.
func TestQuotedCommands(t *testing.T) {
	names := map[string]bool{}
	for _, cmd := range new(env).command().Commands() {
		names[cmd.Name()] = true
	}
	files, err := filepath.Glob("../../source/bundled/*/SKILL.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no bundled skills", err)
	}
	own, err := filepath.Glob("*.go")
	must.Do(t, err)
	own = slices.DeleteFunc(own, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	found := 0
	for _, file := range slices.Concat(files, own, []string{"../../contextprovider/format.go"}) {
		text, err := os.ReadFile(file)
		must.Do(t, err)
		for _, m := range regexp.MustCompile("[\"`\n]skills ([a-z]+)").FindAllSubmatch(text, -1) {
			found++
			if !names[string(m[1])] {
				t.Errorf("%s tells to call %q", file, m[0][1:])
			}
		}
	}
	if found < 10 {
		t.Errorf("found %d quoted commands only: the pattern misses them", found)
	}
}

// TestJSON pins the fields of each result: programs rely on them.
func TestJSON(t *testing.T) {
	home := fixture(t)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"index", []string{"index"}, "db found mode needless offered sources took_ms unfit"},
		{"embed", []string{"embed"}, "embedders mode"},
		{"search", []string{"search", "feed the cat"}, "demand disturb mode nothing_fits query results threshold took_ms unfit unfit_rate"},
		{"context", []string{"context", "feed the cat"}, "block demand disturb mode omitted skills threshold tokens unfit_rate"},
		{"context of an agent", []string{"context", "--agent", "keeper", "hello"}, "block demand disturb kind mode omitted pinned skills threshold tokens unfit_rate"},
		{"list", []string{"list"}, "skills"},
		{"show", []string{"show", "cat"}, "folder id location name requires resources source stale text tokens"},
		{"show --manifest", []string{"show", "cat", "--manifest"}, "digest files folder id"},
		{"read", []string{"read", "cat", "notes.md"}, "binary id path sha256 size text"},
		{"read without a path", []string{"read", "cat"}, "files folder id"},
		{"why", []string{"why", "cat", "feed the cat"}, "advice background best demand demand_terms description disturb id missing mode name of path probability prompt rank relevant score source threshold unfit_rate verdict why"},
		{"try", []string{"try", "feed the cat"}, "background client deadline_ms demand disturb in_scope late mode omitted outcome prompt set_up skills text threshold tokens took_ms unfit_rate"},
		{"try --skill", []string{"try", "--skill", "cat"}, "among id path prompts summary"},
		{"doctor", []string{"doctor"}, "errors ignored not_analysed notes problems skills warnings"},
		{"doctor --rules", []string{"doctor", "--rules"}, "rules"},
		{"setup", []string{"setup", "cursor", "--dry-run", "--program", "skills", "--no-check"}, "changes files written"},
		{"setup --list", []string{"setup", "--list"}, "clients written"},
		{"bench", []string{"bench", "--from-evals"}, "breakdown mean mode seed sets"},
		{"well-known", []string{"well-known", filepath.Join(home, "site")}, "archives dir kept manifest old omitted removed same_version skills"},
		{"disable", []string{"disable", "post"}, "changed file unchanged"},
		{"enable", []string{"enable", "post"}, "changed file unchanged"},
		{"pin", []string{"pin", "--agent", "keeper", "cat"}, "changed file unchanged"},
		{"root list", []string{"root", "list"}, "registries roots"},
		{"token add", []string{"token", "add", "ci"}, "secret token"},
		{"token list", []string{"token", "list"}, "tokens"},
		{"config show", []string{"config", "show"}, "settings"},
		{"install", []string{"install", "--yes", filepath.Join(home, ".agents", "skills", "cat")}, "changes dir done source"},
		{"update", []string{"update"}, "changes dir done"},
		{"verify", []string{"verify"}, "dir ok skills unknown"},
		{"remove", []string{"remove", "cat"}, "changes dir done"},
		{"propose", []string{"propose", "cat", "--diff", "cat.diff", "--why", "Better."}, "agent base base_text dir id kind made skill source state why"},
		{"proposals", []string{"proposals"}, "proposals waiting"},
		{"history", []string{"history", "cat", "--record"}, "folder skill versions"},
		{"version", []string{"version"}, "date go platform revision version"},
		{"version as a flag", []string{"--version"}, "date go platform revision version"},
		{"paths", []string{"paths"}, "paths"},
		{"status", []string{"status"}, "catalog clients held late next offers skills sources usage verdict waiting"},
		{"no command", nil, "catalog clients held late next offers skills sources usage verdict waiting"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := object(t, call(t, 0, append(c.args, "--json")...))
			if diff := cmp.Diff(c.want, keysOf(out)); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
	hit := object(t, call(t, 0, "search", "--json", "feed the cat"))["results"].([]any)[0].(map[string]any)
	if diff := cmp.Diff("description id name path probability relevant score snippet source why", keysOf(hit)); diff != "" {
		t.Errorf("fields of a result (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("coverage evidence matched strength terms", keysOf(hit["why"].(map[string]any))); diff != "" {
		t.Errorf("fields of why (-want +got):\n%s", diff)
	}
	if want := filepath.Join(home, ".agents", "skills", "cat", "SKILL.md"); hit["path"] != want || hit["relevant"] != true {
		t.Errorf("path %v, relevant %v, want %s, true", hit["path"], hit["relevant"], want)
	}
}

// fixture makes a home with one skill and an agent, and returns it.
func fixture(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Cleanup(func() { waitForIndexes(t, home) })
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "REPERTOIRE_DATA", "REPERTOIRE_CACHE", "REPERTOIRE_STATE", "REPERTOIRE_CONFIG", "REPERTOIRE_DB", "CURSOR_VERSION"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	t.Setenv("USER", "ann")
	t.Setenv("GORACE", noExitSleep)
	t.Setenv("REPERTOIRE_CACHE", filepath.Join(home, "cache"))
	t.Setenv("REPERTOIRE_DATA", filepath.Join(home, "data"))
	t.Setenv("REPERTOIRE_CONFIG", filepath.Join(home, "config.yaml"))
	t.Chdir(home)
	must.Write(t, "config.yaml", "bundled: false\nagents: {keeper: {pinned: [cat]}}\n")
	must.Write(t, ".agents/skills/cat/SKILL.md", "---\nname: cat\ndescription: Feeds the cat.\nrequires: [vet]\n---\nFeed it.\n")
	must.Write(t, ".agents/skills/cat/notes.md", "Notes.\n")
	must.Write(t, ".agents/skills/cat/evals/evals.json", `["feed the cat"]`)
	must.Write(t, "cat.diff", "@@\n-Feed it.\n+Feed it well.\n")
	must.Write(t, ".agents/skills/post/SKILL.md", "---\nname: post\ndescription: Fetches <the> letters.\n---\nFetch them.\n")
	return home
}

// run runs the command in this process and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newEnv("", stdin, stdout, stderr).execute(ctx, args)
}

// call runs the command in this process, checks its exit code, and returns its
// output.
func call(t *testing.T, code int, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); got != code {
		t.Fatalf("skills %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, &stderr)
	}
	return stdout.String()
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

func keysOf(v map[string]any) string {
	var keys []string
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// TestCommandTree checks what cobra does not: every command has a short and a
// long help, and refuses what it does not know.
func TestCommandTree(t *testing.T) {
	root := new(env).command()
	if wide := widest(root); wide > 80 {
		t.Errorf("the help is %d characters wide", wide)
	}
	var names []string
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
		if wide := widest(cmd); wide > 80 {
			t.Errorf("the help of %s is %d characters wide", cmd.Name(), wide)
		}
		if cmd.Short == "" || !strings.HasPrefix(cmd.Long, strings.ToUpper(cmd.Name()[:1])+cmd.Name()[1:]+" ") {
			t.Errorf("the help of %s does not start with its name: %q", cmd.Name(), cmd.Long)
		}
		if cmd.RunE == nil || cmd.Run != nil {
			t.Errorf("%s cannot fail", cmd.Name())
		}
	}
	want := "bench call chat completion config context disable doctor embed enable evals help history hook index install list mcp paths pin prompt proposals propose publish push read remove revert root run search setup show stats status store test token tools trust try unpin update verify version web well-known why"
	if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// TestProgramHelp: the help of the program fits on little more than one screen, and leaves no
// command, topic or flag out; each of them has a help of its own.
func TestProgramHelp(t *testing.T) {
	text := call(t, 0, "--help")
	if n := strings.Count(text, "\n"); n > 45 {
		t.Errorf("the help has %d lines, want 45 at most:\n%s", n, text)
	}
	root := new(env).command()
	var names []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	for _, topic := range topics() {
		names = append(names, topic.name)
	}
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	for _, name := range names {
		if !regexp.MustCompile(`(^|\W)` + name + `\b`).MatchString(text) {
			t.Errorf("the help does not name %s", name)
		}
		if help := ""; !strings.HasPrefix(name, "-") {
			if help = call(t, 0, "help", name); len(help) < 200 {
				t.Errorf("the help of %s is %q", name, help)
			}
			checkWidth(t, "the help of "+name, help)
		}
	}
	checkWidth(t, "the help", text)
	if completed := call(t, 0, "__complete", "help", "fo"); !strings.HasPrefix(completed, "folders\t") {
		t.Errorf("completions of help: %q", completed)
	}
}

// checkWidth reports lines of more than 80 characters.
func checkWidth(t *testing.T, what, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); len([]rune(line)) > 80 {
			t.Errorf("%s has a line of %d characters: %q", what, len([]rune(line)), line)
		}
	}
}

func widest(cmd *cobra.Command) int {
	wide := 0
	for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
		wide = max(wide, len([]rune(strings.TrimSuffix(line, "\n"))))
	}
	return wide
}

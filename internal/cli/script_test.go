package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/registrytest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the test binary be the command, for scripts, for tests that kill it, and for
// the hook that a test of "skills try" runs.
func TestMain(m *testing.M) {
	sandbox.Main()
	if os.Getenv(trial.Var) != "" {
		os.Exit(Main(ownName))
	}
	commands := map[string]func(){
		ownName:      func() { os.Exit(Main(ownName)) },
		"repertoire": func() { os.Exit(Main("repertoire")) },
	}
	if commands[strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")] == nil && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(0) // what a hook in a test's process runs in the background would leave files behind
	}
	testsize.LetGarbageGather() // also of the command: it ends before the collector is of use
	testscript.Main(testsize.Hermetic(m), commands)
}

// TestScript runs testdata/*.txt, see testdata/README.md.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup:               prepare,
		Condition:           condition,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"until": until, "chatserver": chatServer, "registry": startRegistry},
	})
}

// condition is "long", for lines of scripts that do more of what others do too, or
// "exists:FILE", for what the machine has.
func condition(name string) (bool, error) {
	if file, ok := strings.CutPrefix(name, "exists:"); ok {
		_, err := os.Stat(file)
		return err == nil, nil
	}
	if name != "long" {
		return false, fmt.Errorf("there is no condition %q", name)
	}
	return testsize.Rounds(0, 1) == 1, nil
}

// noExitSleep keeps processes under the race detector from sleeping for a
// second at their end.
const noExitSleep = "atexit_sleep_ms=0"

// prepare gives a script a home of its own. Of the environment of whoever runs
// the tests, scripts see nothing but PATH.
func prepare(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("USERPROFILE", home)
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
	env.Setenv("REPERTOIRE_CONTEXTUAL", "off") // or answers depend on how fast the machine is
	env.Setenv("GORACE", noExitSleep)
	env.Setenv("ESC", "\x1b")
	env.Setenv("LF", "\n")
	env.Setenv("RLO", "\u202e") // right-to-left override, which hides what a name ends with
	return os.MkdirAll(home, 0o700)
}

// until waits for a file to match a pattern: "until FILE PATTERN".
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until file pattern")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && pattern.Match(data) {
			return
		}
	}
	ts.Fatalf("%s does not come to match %q: %s", args[0], args[1], ts.ReadFile(args[0]))
}

// startRegistry starts a registry: "registry VAR FORM [MODE]", see package registrytest. The mode
// "key" wants the key hunter22hunter22. VAR becomes its address.
func startRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: registry var form [mode]")
	}
	s := registrytest.New(args[1])
	ts.Defer(func() {
		s.CloseClientConnections()
		s.Close()
	})
	if len(args) == 3 && args[2] == "key" {
		s.Token = "hunter22hunter22"
	} else if len(args) == 3 {
		s.Mode.Store(args[2])
	}
	ts.Setenv(args[0], s.URL)
}

// Package testsize decides how long tests take: which of them "go test -short" leaves
// out, how much they do, how often garbage is collected meanwhile, and where their files
// lie. The lists of the first two are in short_test.go of the module. It keeps the settings
// of whoever runs the tests out of them, too.
package testsize

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Long skips a test that takes seconds when the tests are to be short, as under the race
// detector of .ci/run. Such a test starts nothing that could race and that a short test
// does not start too.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// Rounds returns how many rounds a test does, or how large it is: usual, and long when
// REPERTOIRE_LONG is 1, as in .ci/run-long.
func Rounds(usual, long int) int {
	if os.Getenv("REPERTOIRE_LONG") == "1" {
		return long
	}
	return usual
}

// Main is the TestMain of most packages whose tests read settings, or make much garbage and
// need little memory.
func Main(m *testing.M) {
	LetGarbageGather()
	os.Exit(Hermetic(m).Run())
}

// LetGarbageGather makes the collector run less often: it took a quarter of the time of
// some tests.
func LetGarbageGather() { debug.SetGCPercent(400) }

// Tests are the tests of a package, which see nothing of the settings of whoever runs them.
type Tests struct{ m *testing.M }

// Hermetic returns the tests of a package. It is for a TestMain that does more than Main: what
// children of the tests find in their environment is up to the tests.
func Hermetic(m *testing.M) Tests { return Tests{m} }

// Run clears the environment, moves temporary folders into memory and runs the tests.
func (t Tests) Run() int {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); isSetting(name) {
			os.Unsetenv(name)
		}
	}
	os.Setenv("REPERTOIRE_CONTEXTUAL", "off") // or answers depend on how fast the machine is
	inMemory()
	return t.m.Run()
}

// isSetting reports whether a variable names folders, settings or servers of the person, to this
// program, to git or to clients of agents.
func isSetting(name string) bool {
	for _, own := range []string{"REPERTOIRE_LONG", "REPERTOIRE_SOAK", "REPERTOIRE_TEST", "REPERTOIRE_DIST", "REPERTOIRE_NODE_MODULES", "REPERTOIRE_CLIENTS"} {
		if strings.HasPrefix(name, own) {
			return false // for the tests
		}
	}
	for _, start := range []string{"REPERTOIRE_", "XDG_", "GIT_", "CLAUDE_", "OPENCLAW_", "OPENAI_", "LC_"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return name != "HOME" && strings.HasSuffix(name, "_HOME") ||
		slices.Contains([]string{"CURSOR_VERSION", "SLASH_COMMAND_TOOL_CHAR_BUDGET", "NO_COLOR", "COLUMNS", "LANG", "LANGUAGE", "SOURCE_DATE_EPOCH"}, name)
}

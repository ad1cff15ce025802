package cli

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/repertoire-skills/repertoire/agent/agenttest"
)

// chatServer starts a server whose model follows a script, see agenttest.Parse:
// "chatserver VAR FILE" sets VAR to its base URL. The lines of FILE begin with ">", or the
// archive of the test would end the turns.
func chatServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: chatserver var file")
	}
	turns, err := agenttest.Parse([]byte(unquoted(ts.ReadFile(args[1]))))
	ts.Check(err)
	ts.Setenv(args[0], agenttest.NewServer(scriptTB{ts}, agenttest.New(turns...)).URL)
}

// unquoted returns a text without the ">" that begins each line.
func unquoted(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll(text, "\n>", "\n"), ">")
}

// scriptTB lets a server run in a script. The chat is told what is not as a turn wants it, so
// that the script fails.
type scriptTB struct{ ts *testscript.TestScript }

func (scriptTB) Helper()               {}
func (scriptTB) Errorf(string, ...any) {}

func (s scriptTB) Fatalf(format string, args ...any) { s.ts.Fatalf(format, args...) }
func (s scriptTB) Cleanup(f func())                  { s.ts.Defer(f) }

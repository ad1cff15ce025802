package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/agent/agenttest"
)

// TestChatCut: an answer that the server ended half-way is not shown as a whole one.
func TestChatCut(t *testing.T) {
	const half, stop, done = `data: {"choices":[{"index":0,"delta":{"content":"half of an ans"}}]}` + "\n\n",
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n", "data: [DONE]\n\n"
	fixture(t)
	for _, tt := range []struct {
		raw string
		cut bool
	}{{half, true}, {half + stop, false}, {half + done, false}} {
		s := agenttest.NewServer(t, agenttest.New(agenttest.Turn{Raw: tt.raw}, agenttest.Turn{Raw: tt.raw}))
		for _, json := range []string{"--json=false", "--json"} {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"chat", json, "--base-url", s.URL, "--model", "m", "hello"}, strings.NewReader(""), &stdout, &stderr)
			if code != 0 || !strings.Contains(stdout.String(), "half of an ans") || json == "--json" && strings.Contains(stdout.String(), `"cut":true`) != tt.cut ||
				strings.Contains(stderr.String(), "cut off") != (tt.cut && json != "--json") {
				t.Errorf("%q %s: exit code %d\n%s%s", tt.raw, json, code, &stdout, &stderr)
			}
		}
	}
}

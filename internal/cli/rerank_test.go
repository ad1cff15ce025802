package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// rerankServer speaks TEI's protocol as behaviour says, and prefers texts about
// letters.
func rerankServer(t *testing.T, behaviour *atomic.Value) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // only then the end of the connection is noticed
		var req struct{ Texts []string }
		if err == nil {
			err = json.Unmarshal(body, &req)
		}
		if err != nil {
			t.Errorf("request: %v", err)
		}
		switch behaviour.Load() {
		case "refuse":
			http.Error(w, `{"error":"no such key"}`, http.StatusUnauthorized)
		case "sleep":
			<-r.Context().Done()
		default:
			type result struct {
				Index int     `json:"index"`
				Score float64 `json:"score"`
			}
			var list []result
			for i, text := range req.Texts {
				list = append(list, result{i, float64(strings.Count(text, "letters"))})
			}
			if err := json.NewEncoder(w).Encode(list); err != nil {
				t.Error(err)
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestRerank: a configured server decides the order; if it refuses or is late, the order
// of the first stage stays.
func TestRerank(t *testing.T) {
	fixture(t)
	var behaviour atomic.Value
	server := rerankServer(t, &behaviour)
	config := func(deadline string) {
		must.Write(t, "config.yaml", fmt.Sprintf("bundled: false\nembedder: none\nreranker:\n  tei: {base_url: %q, deadline: %s}\n", server.URL, deadline))
	}
	const prompt = "feed or fetch"
	for _, step := range []struct{ server, deadline, best, mode, why string }{
		{"work", "1m", "post", "text (no embedder), reranked", "reranker  0.00\n"},
		{"refuse", "1m", "cat", "text (no embedder), reranker failed", ": no such key (no key was sent: name its variable)"},
		{"sleep", "100ms", "cat", "text (no embedder), reranker timed out", "did not answer within 100ms"},
	} {
		behaviour.Store(step.server)
		config(step.deadline)
		// A block of one skill has nothing to order.
		for _, command := range [][]string{{"search"}, {"context", "--threshold", "0"}} {
			if mode := modeOf(t, append(command, prompt)...); mode != step.mode {
				t.Errorf("%q while the server would %s: mode %q, want %q", command, step.server, mode, step.mode)
			}
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"search", "--verbose", prompt}, strings.NewReader(""), &stdout, &stderr)
		if code != exitOK || !strings.HasPrefix(stdout.String(), step.best+"\t") {
			t.Errorf("%s: exit code %d, want %s first of\n%s", step.server, code, step.best, &stdout)
		}
		if told := strings.Contains(stderr.String(), "not reranked: "); told != (step.server != "work") {
			t.Errorf("%s: standard error %s", step.server, &stderr)
		}
		if out := call(t, 0, "why", "cat", prompt); !strings.Contains(out, step.why) {
			t.Errorf("%s: want %q in\n%s", step.server, step.why, out)
		}
		why := object(t, call(t, 0, "why", "--json", "cat", prompt))
		score, scored := why["why"].(map[string]any)["rerank"]
		if message, _ := why["rerank_error"].(string); scored != (step.server == "work") || scored && score != 0. || scored == (message != "") {
			t.Errorf("%s: score %v, error %q", step.server, score, message)
		}
	}
}

func TestMisconfiguredReranker(t *testing.T) {
	fixture(t)
	for config, want := range map[string]string{
		"reranker: magic": `config.yaml:1: no reranker "magic"; there are: none, jina`,
		`reranker: {jina: {base_url: "ftp://x/v1", model: m}}`: "config.yaml:1: reranker: base URL does not start with http:// or https://",
	} {
		must.Write(t, "config.yaml", config+"\n")
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"list"}, strings.NewReader(""), &stdout, &stderr); code != exitError {
			t.Errorf("%s: exit code %d, want %d", config, code, exitError)
		}
		if !strings.Contains(stderr.String(), want) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: standard error %q, want one line with %q", config, &stderr, want)
		}
	}
}

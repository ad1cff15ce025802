package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestBenchURL: a server is asked with the token and the agent, and its answers and errors are
// counted apart.
func TestBenchURL(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("BENCH_TOKEN", "sk-5d0c2b7a")
	must.Write(t, "prompts.jsonl", `{"id":"1","query":"feed the cat"}`+"\n"+`{"id":"2","query":"crash"}`+"\n")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p api.Prompt
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Agent != "keeper" || r.Header.Get("Authorization") != "Bearer sk-5d0c2b7a" || p.Text != "feed the cat" && p.Text != "crash" && p.Text != "busy" {
			t.Errorf("request %+v, %v", p, err)
		}
		if p.Text == "busy" {
			w.Header().Set("Retry-After", "3600")
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		if p.Text == "crash" {
			http.Error(w, "out of order", http.StatusServiceUnavailable)
			return
		}
		json.NewEncoder(w).Encode(api.Suggestion{Skills: []api.Offer{{Name: "cat"}}})
	}))
	defer server.Close()
	args := []string{"bench", "--url", server.URL, "--token-env", "BENCH_TOKEN", "--agent", "keeper", "--clients", "2", "--duration", "20ms", "--prompts", "prompts.jsonl"}
	got := object(t, call(t, exitOK, append(args, "--json")...))
	if got["clients"] != 2. || got["prompts"] != 2. || got["requests"].(float64) <= got["failed"].(float64) || got["failed"] == 0. || got["offered"] != 1. || got["per_s"] == 0. {
		t.Errorf("%v", got)
	}
	errors := got["errors"].([]any)
	if first := errors[0].(map[string]any); len(errors) != 1 || first["kind"] != "status 503" || !strings.Contains(first["first"].(string), "out of order") {
		t.Errorf("%v", errors)
	}
	if lines := call(t, exitOK, args...); !strings.Contains(lines, "throughput\t") || !strings.Contains(lines, "p99.9\t") || !strings.Contains(lines, "\nfailed: status 503\t") {
		t.Error(lines)
	}
	must.Write(t, "prompts.jsonl", `{"id":"1","query":"feed the cat"}`+"\n"+`{"id":"2","query":"busy"}`+"\n")
	got = object(t, call(t, exitOK, append(args, "--json")...))
	if failed := got["failed"].(float64); failed == 0 || failed > 2 { // then each client waits
		t.Errorf("a busy server: %v", got)
	}
	server.Close()
	call(t, exitError, append(args, "--json")...)
	for _, wrong := range [][]string{{"--clients", "0"}, {"--duration", "0s"}, {"--speed"}, {"--url", "ftp://x"}} {
		call(t, exitUsage, append(args, wrong...)...)
	}
}

package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// configure points the configuration at an embeddings server, which must answer
// prompts within a deadline.
func configure(t *testing.T, url, deadline string) {
	t.Helper()
	must.Write(t, "config.yaml", fmt.Sprintf(`
bundled: false
deadline: %s
embedder:
  openai: {base_url: "%s/v1", model: fake, timeout: 1m}
`, deadline, url))
}

func modeOf(t *testing.T, args ...string) string {
	t.Helper()
	mode, _ := object(t, call(t, 0, append(args, "--json")...))["mode"].(string)
	return mode
}

// TestHybrid goes from a configured server to a ranking that uses it, and to
// one that does without when the server is gone.
func TestHybrid(t *testing.T) {
	fixture(t)
	fake := new(embedtest.Fake)
	server := embedtest.Server(t, fake)
	configure(t, server.URL, "1m")

	if mode := modeOf(t, "search", "feed the cat"); mode != "text (no vectors yet)" {
		t.Errorf("mode %q before indexing", mode)
	}
	if fake.Calls() > 0 {
		t.Error("the prompt was sent although there is nothing to compare it with")
	}
	for _, args := range [][]string{{"index"}, {"search", "feed the cat"}, {"context", "feed the cat"}, {"why", "post", "feed the cat"}} {
		if mode := modeOf(t, args...); mode != "hybrid" {
			t.Errorf("%s: mode %q, want hybrid", args[0], mode)
		}
	}
	if out := call(t, 0, "why", "cat", "feed the cat"); !strings.Contains(out, " + description vector ") {
		t.Errorf("why does not tell the vectors' part:\n%s", out)
	}

	texts := fake.Texts()
	call(t, 0, "index")
	if again := fake.Texts() - texts; again > 1 { // 1: the mode is found out by a query
		t.Errorf("the second run embedded %d texts again", again)
	}
	must.Write(t, ".agents/skills/dog/SKILL.md", "---\nname: dog\ndescription: Walks the dog.\n---\nWalk it.\n")
	if out := call(t, 0, "search", "walk the dog"); !strings.HasPrefix(out, "dog\t") {
		t.Errorf("a skill without vectors is not found:\n%s", out)
	}

	server.Close()
	for _, command := range []string{"search", "context", "index"} {
		var stdout, stderr bytes.Buffer
		args := []string{command, "--json", "feed the cat"}
		if command == "index" {
			args = args[:2]
		}
		if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr); code != exitOK {
			t.Errorf("%s without the server: exit code %d, %s", command, code, &stderr)
		}
		if mode, _ := object(t, stdout.String())["mode"].(string); !strings.HasPrefix(mode, "text (") {
			t.Errorf("%s without the server: mode %q", command, mode)
		}
		if command == "index" && !strings.Contains(stderr.String(), `ranking does without these vectors until nearly all are there ("skills index" goes on)`) {
			t.Errorf("index does not tell that the server is gone: %s", &stderr)
		}
	}
	if out := call(t, 0, "search", "feed the cat"); !strings.HasPrefix(out, "cat\t") {
		t.Errorf("without the server the cat is not found:\n%s", out)
	}
}

// TestBenchModes measures with a server and without using it.
func TestBenchModes(t *testing.T) {
	fixture(t)
	configure(t, embedtest.Server(t, new(embedtest.Fake)).URL, "1m")
	for _, c := range []struct{ flag, mode, answers string }{
		{"", "hybrid", "hybrid"}, {"--mode=hybrid", "hybrid", "hybrid"},
		{"--mode=text", "text", "text (no embedder)"},
	} {
		out := object(t, call(t, 0, append([]string{"bench", "--from-evals", "--json"}, strings.Fields(c.flag)...)...))
		set := out["sets"].([]any)[0].(map[string]any)
		if answers := keysOf(set["modes"].(map[string]any)); out["mode"] != c.mode || answers != c.answers {
			t.Errorf("bench %s: mode %v, answers by %s, want %s, %s", c.flag, out["mode"], answers, c.mode, c.answers)
		}
	}
}

// TestBadEmbedders has a server that refuses the key or does not answer in
// time: everything works by text.
func TestBadEmbedders(t *testing.T) {
	fixture(t)
	inner := embedtest.Server(t, new(embedtest.Fake)).Config.Handler
	var behaviour atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch behaviour.Load() {
		case "refuse":
			http.Error(w, "no such key", http.StatusUnauthorized)
		case "sleep":
			io.Copy(io.Discard, r.Body) // only then the end of the connection is noticed
			<-r.Context().Done()
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	for _, step := range []struct{ server, command, want string }{
		{"refuse", "index", "text (no vectors yet)"},
		{"work", "index", "hybrid"},
		{"refuse", "search", "text (embedder failed)"},
		{"sleep", "search", "text (embedder timed out)"},
		{"sleep", "context", "text (embedder timed out)"},
		{"work", "search", "hybrid"},
	} {
		behaviour.Store(step.server)
		configure(t, server.URL, map[bool]string{true: "100ms", false: "1m"}[step.server == "sleep"])
		args := []string{step.command, "feed the cat"}
		if step.command == "index" {
			args = args[:1]
		}
		if mode := modeOf(t, args...); mode != step.want {
			t.Errorf("%s while the server would %s: mode %q, want %q", step.command, step.server, mode, step.want)
		}
	}
}

// TestMisconfiguredEmbedder tells what is wrong before it does anything.
func TestMisconfiguredEmbedder(t *testing.T) {
	fixture(t)
	for config, want := range map[string]string{
		"embedder: {openai: {model: m}}":                             "config.yaml:1: embedder openai: base_url and model are needed",
		"embedder: magic":                                            `config.yaml:1: no embedder "magic"; there are: static, none, openai`,
		`embedder: {openai: {base_url: "ftp://x/v1", model: m}}`:     "config.yaml:1: embedder openai: embedding endpoint: base URL does not start with http:// or https://",
		`embedder: {openai: {base_url: "http://x/v1", modell: "m"}}`: `config.yaml:1: embedder openai: no key "modell"; did you mean model?`,
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

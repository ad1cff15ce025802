package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/repertoire-skills/repertoire/embed/embedtest"
)

// models starts a server that answers like Ollama: "models VAR NAME…" sets VAR to its port.
// Models whose names begin with "chat" do not embed. Without models it is a web page.
func models(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: models var name...")
	}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/embeddings", embedtest.Handler(new(embedtest.Fake)))
	if len(args) > 1 {
		mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
			list := mapped(args[1:], func(name string) map[string]string { return map[string]string{"name": name} })
			json.NewEncoder(w).Encode(map[string]any{"models": list})
		})
		mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			can := "embedding"
			if strings.Contains(string(body), `"chat`) {
				can = "completion"
			}
			json.NewEncoder(w).Encode(map[string]any{"capabilities": []string{can}, "model_info": map[string]int{"bert.embedding_length": embedtest.Dim}})
		})
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") })
	s := httptest.NewServer(mux)
	ts.Defer(s.Close)
	u, err := url.Parse(s.URL)
	ts.Check(err)
	ts.Setenv(args[0], u.Port())
}

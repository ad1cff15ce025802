package doctor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/registries"
	"github.com/repertoire-skills/repertoire/rerank/remote"
)

// TestServers: a server that refuses the key or is silent is a finding, each with its host; one that
// answers, and what is built in, is none.
func TestServers(t *testing.T) {
	healthy := map[string]string{
		"/embeddings": `{"data": [{"index": 0, "embedding": [1, 0]}]}`, "/rerank": `[{"index": 0, "score": 1}]`, "/search": `{"results": []}`,
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc // nil means that nothing listens
		rule   string           // "" means none
	}{
		"healthy": {func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, healthy[r.URL.Path]) }, ""},
		"broken": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "refused by 127.0.0.1: try later", http.StatusInternalServerError)
		}, "server-silent"},
		"refuses": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusUnauthorized) }, "key-refused"},
		"forbids": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not you", http.StatusForbidden) }, "key-refused"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // or the server would not see that nobody waits any more
			<-r.Context().Done()
		}, "server-silent"},
		"dead": {nil, "server-silent"},
	} {
		answer := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, healthy[r.URL.Path]) }
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
		t.Cleanup(s.Close)
		t.Cleanup(s.CloseClientConnections) // of those that hang
		e, err := openai.New(openai.Config{BaseURL: s.URL, Model: "m", KeyEnv: "-"}, nil)
		must.Do(t, err)
		r, err := remote.New(remote.Config{API: remote.TEI, BaseURL: s.URL}, nil)
		must.Do(t, err)
		from := registries.New([]registries.Registry{{Name: "team", URL: s.URL, Form: "ard"}}, &registries.Options{Cache: t.TempDir()})
		if f := from.Search(t.Context(), "skills", 1); f.Asked[0].Error != "" {
			t.Fatal(f) // its answer is kept, and must not count
		}
		if answer = tt.answer; answer == nil {
			s.Close()
		}
		found := doctor.Servers(t.Context(), repertoire.Config{Embedder: e, Reranker: r}, from, 300*time.Millisecond)
		for i, who := range []string{"the embedder", "the reranker", "the registry team"} {
			switch {
			case tt.rule == "" && len(found) == 0:
			case len(found) != 3:
				t.Fatalf("%s: %+v", name, found)
			case found[i].Rule != tt.rule || !strings.HasPrefix(found[i].Message, who+" "):
				t.Errorf("%s: %+v, want %s of %s", name, found[i], tt.rule, who)
			case tt.rule == "key-refused" && !strings.HasPrefix(found[i].Message, who+" is refused by "+s.Listener.Addr().String()+": "):
				t.Errorf("%s: %q names no host", name, found[i].Message)
			}
		}
	}
	if found := doctor.Servers(t.Context(), repertoire.Config{}, registries.New(nil, nil), time.Second); len(found) > 0 {
		t.Errorf("nothing to ask: %+v", found)
	}
}

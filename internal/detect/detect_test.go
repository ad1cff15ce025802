package detect_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/detect"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// program serves answers by method and path; other requests get 404, and an answer that
// begins with 501 has that status. The path /v1/embeddings computes vectors unless answers
// says something else.
func program(t *testing.T, answers map[string]string) int {
	t.Helper()
	vectors := embedtest.Handler(new(embedtest.Fake))
	return listen(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s is asked with a key", r.URL)
		}
		body, ok := answers[r.Method+" "+r.URL.Path]
		switch {
		case ok:
			rest, failed := strings.CutPrefix(body, "501 ")
			if failed {
				w.WriteHeader(http.StatusNotImplemented)
			}
			io.WriteString(w, rest)
		case r.URL.Path == "/v1/embeddings":
			vectors.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	})
}

// listen serves h until the test ends and returns the port.
func listen(t *testing.T, h http.HandlerFunc) int {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return port(t, s.Listener)
}

func port(t *testing.T, l net.Listener) int {
	t.Helper()
	_, text, err := net.SplitHostPort(l.Addr().String())
	must.Do(t, err)
	n, err := strconv.Atoi(text)
	must.Do(t, err)
	return n
}

// closed returns a port on which nothing listens.
func closed(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	return port(t, l)
}

// one returns what Find says about the only port.
func one(t *testing.T, port int) detect.Server {
	t.Helper()
	found := detect.Find(t.Context(), &detect.Options{Ports: []int{port}})
	if len(found) != 1 {
		t.Fatalf("%d servers on port %d", len(found), port)
	}
	if want := fmt.Sprintf("http://127.0.0.1:%d/v1", port); found[0].Address != want {
		t.Errorf("address %s, want %s", found[0].Address, want)
	}
	return found[0]
}

// TestKinds: every server is known by its answers, whatever its port, and offers the models
// that embed.
func TestKinds(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	show := func(what string) string {
		return fmt.Sprintf(`{"license":"…","capabilities":[%q],"model_info":{"general.architecture":"x","x.embedding_length":768}}`, what)
	}
	const dim = embedtest.Dim
	for name, tt := range map[string]struct {
		answers map[string]string
		want    detect.Server
	}{
		"Ollama": {map[string]string{
			"GET /api/tags":  `{"models":[{"name":"nomic-embed-text:latest"},{"name":"mine:1b"},{"name":"qwen3-embedding:cloud","remote_host":"https://ollama.com:443"}]}`,
			"GET /v1/models": `{"data":[{"id":"nomic-embed-text:latest","owned_by":"library"},{"id":"mine:1b"}]}`,
			"POST /api/show": show("embedding"),
		}, detect.Server{Kind: "Ollama", Models: []detect.Model{{Name: "nomic-embed-text:latest", Dim: 768}, {Name: "mine:1b", Dim: 768}}}},
		"Ollama with models that chat": {map[string]string{
			"GET /api/tags":  `{"models":[{"name":"nomic-embed-text:latest"}]}`,
			"POST /api/show": show("completion"),
		}, detect.Server{Kind: "Ollama", Problem: "it has no model that embeds"}},
		"an old Ollama": {map[string]string{
			"GET /api/tags": `{"models":[{"name":"llama3:8b"},{"name":"bge-m3:latest"}]}`,
		}, detect.Server{Kind: "Ollama", Models: []detect.Model{{Name: "bge-m3:latest", Dim: 0}}}},
		"an old Ollama that chats": {map[string]string{
			"GET /api/tags": `{"models":[{"name":"llama3:8b"}]}`,
		}, detect.Server{Kind: "Ollama", Problem: "it has no model that embeds"}},
		"LM Studio": {map[string]string{
			"GET /api/v0/models": `{"data":[{"id":"qwen","type":"llm"},{"id":"text-embedding-x","type":"embeddings"},{"id":"see","type":"vlm"}]}`,
			"GET /v1/models":     `{"data":[{"id":"qwen","owned_by":"organization_owner"},{"id":"text-embedding-x"}]}`,
			"GET /info":          `{"error":"Unexpected endpoint or method. (GET /info)"}`,
			"GET /api/tags":      `{"error":"Unexpected endpoint or method. (GET /api/tags)"}`,
		}, detect.Server{Kind: "LM Studio", Models: []detect.Model{{Name: "text-embedding-x", Dim: 0}}}},
		"llama.cpp": {map[string]string{
			"GET /v1/models": `{"models":[{"name":"m.gguf","capabilities":["completion"]}],"data":[{"id":"m.gguf","owned_by":"llamacpp","meta":{"n_embd":1024}}]}`,
			"GET /api/tags":  `{"models":[{"name":"m.gguf"}],"data":[{"id":"m.gguf","owned_by":"llamacpp"}]}`,
		}, detect.Server{Kind: "llama.cpp", Models: []detect.Model{{Name: "m.gguf", Dim: dim}}}},
		"vLLM":           {map[string]string{"GET /v1/models": `{"data":[{"id":"BAAI/bge-m3","owned_by":"vllm","max_model_len":8192}]}`}, detect.Server{Kind: "vLLM", Models: []detect.Model{{Name: "BAAI/bge-m3", Dim: dim}}}},
		"TEI":            {map[string]string{"GET /info": `{"model_id":"thenlper/gte-base","model_type":{"embedding":{"pooling":"cls"}}}`}, detect.Server{Kind: "TEI", Models: []detect.Model{{Name: "thenlper/gte-base", Dim: dim}}}},
		"TEI that ranks": {map[string]string{"GET /info": `{"model_id":"BAAI/bge-reranker","model_type":{"reranker":{}}}`}, detect.Server{Kind: "TEI", Problem: "it has no model that embeds"}},
		"another":        {map[string]string{"GET /v1/models": `{"data":[{"id":"chat"},{"id":"all-minilm"},{"id":"jina-reranker"}]}`}, detect.Server{Kind: "OpenAI-compatible", Models: []detect.Model{{Name: "all-minilm", Dim: 0}}}},
		"without models": {map[string]string{"GET /v1/models": `{"data":[]}`}, detect.Server{Kind: "OpenAI-compatible", Problem: "it has no model that embeds"}},
		"one that only chats": {map[string]string{
			"GET /v1/models":      `{"data":[{"id":"m.gguf","owned_by":"llamacpp","meta":null}]}`,
			"POST /v1/embeddings": `501 {"error":{"message":"This server does not support embeddings. Start it with --embeddings"}}`,
		}, detect.Server{Kind: "llama.cpp", Problem: "it computes no vectors: model m.gguf: http 501: This server does not support embeddings. Start it with --embeddings"}},
		"a name that no terminal should see": {map[string]string{"GET /v1/models": `{"data":[{"id":"embed\u001b[31m"},{"id":"bge-m3"},{"id":"chat"}]}`},
			detect.Server{Kind: "OpenAI-compatible", Models: []detect.Model{{Name: "bge-m3", Dim: 0}}, Problem: `a model with the name "embed\x1b[31m" is left out`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := one(t, program(t, tt.answers))
			got.Address = ""
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestNonsense: the finding of a server whose answer is no list of models says so.
func TestNonsense(t *testing.T) {
	huge := `{"data":[{"id":"` + strings.Repeat("x", 1<<20) + `"}]}`
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		problem string
	}{
		"a web page":  {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>\x1b[2J") }, "its answer is no list of models: an HTML page"},
		"nothing":     {func(http.ResponseWriter, *http.Request) {}, "its answer is no list of models: no message"},
		"other JSON":  {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"status":"ok"}`) }, `its answer has no models: {"status":"ok"}`},
		"wrong JSON":  {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"data":"x"}`) }, `its answer is no list of models: {"data":"x"}`},
		"not found":   {http.NotFound, "it lists no models: http 404: 404 page not found"},
		"a key":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "it asks for a key: write it into the configuration yourself, with key_env"},
		"too much":    {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, huge) }, "its list of models is longer than 1048576 bytes"},
		"it hangs up": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "it does not speak HTTP: EOF"},
		"a redirect out": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/v1/models", http.StatusTemporaryRedirect)
		}, "it lists no models: http 307: redirect to http://192.0.2.1 refused"},
	} {
		t.Run(name, func(t *testing.T) {
			got := one(t, listen(t, tt.handler))
			if got.Problem != tt.problem || got.Kind != "" || len(got.Models) > 0 {
				t.Errorf("%+v; want the problem %q", got, tt.problem)
			}
		})
	}
}

// TestRedirectIsNotFollowed: not even to another server on this machine.
func TestRedirectIsNotFollowed(t *testing.T) {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	one(t, listen(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
	}))
	if n := asked.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// TestSilence: a server that accepts connections and says nothing costs a timeout, and the
// others are found.
func TestSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	drips := listen(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			io.WriteString(w, strings.Repeat(" ", 1<<10))
		}
	})
	tei := program(t, map[string]string{"GET /info": `{"model_id":"bge","model_type":{"embedding":{}}}`})
	found := detect.Find(t.Context(), &detect.Options{Ports: []int{closed(t), port(t, l), drips, tei}, Timeout: 300 * time.Millisecond})
	if len(found) != 3 || found[0].Problem != "it does not answer within 300ms" || found[1].Problem == "" || found[2].Kind != "TEI" || found[2].Problem != "" {
		t.Errorf("found %+v", found)
	}
	if found := detect.Find(t.Context(), &detect.Options{Ports: []int{closed(t)}}); len(found) > 0 {
		t.Errorf("found %+v where nothing listens", found)
	}
	if !slices.Contains(detect.Ports(), 11434) {
		t.Error("Ollama's port is not among the usual ones")
	}
}

// TestIPv6: a server may listen on the other loopback address alone.
func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(http.NotFound))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	found := detect.Find(t.Context(), &detect.Options{Ports: []int{port(t, l)}})
	if len(found) != 1 || found[0].Address != fmt.Sprintf("http://[::1]:%d/v1", port(t, l)) {
		t.Errorf("found %+v", found)
	}
}

// TestOneConnectionAtATime: simple servers serve no other connection while one is open.
func TestOneConnectionAtATime(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			for in := bufio.NewReader(conn); ; {
				r, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				body, status := "", 404
				if r.URL.Path == "/api/tags" {
					body, status = `{"models":[{"name":"bge-m3"}]}`, 200
				}
				fmt.Fprintf(conn, "HTTP/1.1 %d -\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
				if r.Close {
					break
				}
			}
			conn.Close()
		}
	}()
	if got := one(t, port(t, l)); got.Kind != "Ollama" || len(got.Models) != 1 {
		t.Errorf("found %+v", got)
	}
}

// TestChoices: the model in use comes first, then known names, in the order of the servers.
func TestChoices(t *testing.T) {
	servers := func() []detect.Server {
		return []detect.Server{
			{Kind: "a", Address: "http://127.0.0.1:1/v1", Models: []detect.Model{{Name: "mine", Dim: 1}, {Name: "my-embedder", Dim: 1}, {Name: "BGE-M3", Dim: 1}}},
			{Kind: "b", Address: "http://[::1]:2/v1", Models: []detect.Model{{Name: "nomic-embed-text:latest", Dim: 1}, {Name: "mine", Dim: 1}}},
		}
	}
	for _, tt := range []struct {
		cfg  *openai.Config
		want string
	}{
		{nil, "a BGE-M3, b nomic-embed-text:latest, a my-embedder, a mine, b mine"},
		{&openai.Config{BaseURL: "http://localhost:2/v1/", Model: "mine"}, "b mine, a BGE-M3, b nomic-embed-text:latest, a my-embedder, a mine"},
		{&openai.Config{BaseURL: "http://localhost:2/v1", Model: "nomic-embed-text"}, "b nomic-embed-text:latest, a BGE-M3, a my-embedder, a mine, b mine"},
		{&openai.Config{BaseURL: "http://192.0.2.1:2/v1", Model: "mine"}, "a BGE-M3, b nomic-embed-text:latest, a my-embedder, a mine, b mine"},
	} {
		var got []string
		marked := servers()
		detect.Mark(marked, tt.cfg)
		for _, c := range detect.Choices(marked) {
			got = append(got, c.Kind+" "+c.Name)
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%+v: %s; want %s", tt.cfg, strings.Join(got, ", "), tt.want)
		}
	}
	if c, err := detect.Choose(servers(), "nomic-embed-text"); err != nil || c.Name != "nomic-embed-text:latest" {
		t.Errorf("picked %+v, %v", c, err)
	}
	if _, err := detect.Choose(servers(), "nomik-embed-text:latest"); err == nil || !strings.Contains(err.Error(), `did you mean nomic-embed-text:latest?`) {
		t.Errorf("error %v", err)
	}
}

// TestNothingToChoose: the error says where was looked, and what to do.
func TestNothingToChoose(t *testing.T) {
	for _, servers := range [][]detect.Server{nil, {{Address: "http://127.0.0.1:1/v1", Problem: "it lists no models"}}} {
		_, err := detect.Choose(servers, "")
		if err == nil || !strings.HasPrefix(err.Error(), "no server with a model that embeds answers on this machine") {
			t.Errorf("error %v", err)
		}
	}
	c, err := detect.Choose([]detect.Server{{Models: []detect.Model{{Name: "mine", Dim: 1}, {Name: "bge-m3", Dim: 1}}}}, "")
	if err != nil || c.Name != "bge-m3" {
		t.Errorf("chosen %+v, %v", c, err)
	}
}

// TestConfig: what is configured has the prefixes of the model and sends no key.
func TestConfig(t *testing.T) {
	for model, want := range map[string]string{
		"nomic-embed-text:latest": `{"query":"search_query: ","document":"search_document: "}`,
		"mxbai-embed-large":       `{"query":"Represent this sentence for searching relevant passages: ","document":null}`,
		"bge-m3":                  `{"query":null,"document":null}`,
	} {
		cfg := detect.Choice{Address: "http://127.0.0.1:1/v1", Model: detect.Model{Name: model}}.Config()
		got, err := json.Marshal(map[string]*string{"query": cfg.QueryPrefix, "document": cfg.DocumentPrefix})
		var a, b any
		json.Unmarshal(got, &a)
		json.Unmarshal([]byte(want), &b)
		if err != nil || !cmp.Equal(a, b) || cfg.KeyEnv != "-" {
			t.Errorf("%s: %s, key %q, %v; want %s", model, got, cfg.KeyEnv, err, want)
		}
	}
}

// TestTime times a server: five rounds after a first vector, no two with the same text.
func TestTime(t *testing.T) {
	fake := new(embedtest.Fake)
	s := embedtest.Server(t, fake)
	timing, err := detect.Choice{Address: s.URL + "/v1", Model: detect.Model{Name: "m"}}.Time(t.Context())
	if err != nil || timing.Rounds != 5 || timing.Size != 16 || timing.Dim != embedtest.Dim || timing.Prompt <= 0 || timing.Batch <= 0 {
		t.Errorf("%+v, %v", timing, err)
	}
	if n := fake.Texts(); n != 1+5*17 {
		t.Errorf("%d texts were embedded", n)
	}
	timing.Batch = time.Second
	if got := timing.Estimate(1000).Round(time.Second); got != 202*time.Second {
		t.Errorf("1,000 texts are estimated at %v", got)
	}
	s.Close()
	if _, err := (detect.Choice{Address: s.URL + "/v1", Model: detect.Model{Name: "m"}}).Time(t.Context()); err == nil || !strings.Contains(err.Error(), "timing m on http://127.0.0.1:") {
		t.Errorf("error %v", err)
	}
}

// TestOtherHost: what is timed must be on this machine.
func TestOtherHost(t *testing.T) {
	_, err := detect.Choice{Address: "http://192.0.2.1:1/v1", Model: detect.Model{Name: "m"}}.Time(t.Context())
	if err == nil || !strings.Contains(err.Error(), "192.0.2.1:1 is not on this machine") {
		t.Errorf("error %v", err)
	}
}

package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/must"
)

func TestContract(t *testing.T) {
	for _, encoding := range []string{"float", "base64"} {
		t.Run(encoding, func(t *testing.T) {
			s := embedtest.Server(t, new(embedtest.Fake))
			embedtest.TestEmbedder(t, newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) {
				c.Encoding = encoding
				c.Dimensions = embedtest.Dim
			}))
		})
	}
}

// A requestTest says what is sent under a changed configuration.
type requestTest struct {
	name        string
	change      func(*openai.Config, *openai.Options)
	path, query string
	header      map[string]string // an empty value means absent
	body        map[string]any    // nil means not looked at
}

func requestTests() []requestTest {
	none, query := "", "find: "
	return []requestTest{
		{
			name: "plain",
			path: "/v1/embeddings", header: map[string]string{"Authorization": "Bearer " + testKey, "Api-Key": ""},
			body: map[string]any{"model": "some-model", "input": []any{"a"}, "encoding_format": "float"},
		},
		{
			name: "dimensions and base64",
			change: func(c *openai.Config, _ *openai.Options) {
				c.Dimensions, c.Encoding = 2, "base64"
			},
			path: "/v1/embeddings",
			body: map[string]any{"model": "some-model", "input": []any{"a"}, "encoding_format": "base64", "dimensions": 2.0},
		},
		{
			name:   "no key",
			change: func(c *openai.Config, _ *openai.Options) { c.KeyEnv = "-" },
			path:   "/v1/embeddings", header: map[string]string{"Authorization": "", "Api-Key": ""},
		},
		{
			name: "Azure",
			change: func(c *openai.Config, _ *openai.Options) {
				c.Azure = true
				c.BaseURL = strings.TrimSuffix(c.BaseURL, "/v1") + "/openai/deployments/d?api-version=2024-10-21"
			},
			path: "/openai/deployments/d/embeddings", query: "api-version=2024-10-21",
			header: map[string]string{"Authorization": "", "Api-Key": testKey},
		},
		{
			name: "headers",
			change: func(c *openai.Config, _ *openai.Options) {
				c.Headers = map[string]string{"X-Team": "blue", "Authorization": "Basic Zm9v"}
			},
			path: "/v1/embeddings", header: map[string]string{"X-Team": "blue", "Authorization": "Basic Zm9v"},
		},
		{
			name:   "whole address of the endpoint",
			change: func(c *openai.Config, _ *openai.Options) { c.BaseURL += "/embeddings/" },
			path:   "/v1/embeddings",
		},
		{
			name:   "whole address of the chat endpoint",
			change: func(c *openai.Config, _ *openai.Options) { c.BaseURL += "/chat/completions" },
			path:   "/v1/embeddings",
		},
		{
			name: "prefix",
			change: func(c *openai.Config, _ *openai.Options) {
				c.QueryPrefix, c.Model = &query, "nomic-embed-text"
			},
			path: "/v1/embeddings",
			body: map[string]any{"model": "nomic-embed-text", "input": []any{"find: a"}, "encoding_format": "float"},
		},
		{
			name: "preset switched off",
			change: func(c *openai.Config, _ *openai.Options) {
				c.QueryPrefix, c.Model = &none, "nomic-embed-text"
			},
			path: "/v1/embeddings",
			body: map[string]any{"model": "nomic-embed-text", "input": []any{"a"}, "encoding_format": "float"},
		},
	}
}

func TestRequest(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ int, r request) { ok(w, r) })
	for _, tt := range requestTests() {
		t.Run(tt.name, func(t *testing.T) {
			e := newEmbedder(t, s.URL, tt.change)
			mustEmbed(t, e, embed.Query, []string{"a"})
			reqs := s.requests()
			got := reqs[len(reqs)-1]
			if got.Path != tt.path || got.Query != tt.query {
				t.Errorf("path %q, query %q; want %q, %q", got.Path, got.Query, tt.path, tt.query)
			}
			for name, want := range tt.header {
				if v := got.Header.Get(name); v != want {
					t.Errorf("header %s = %q, want %q", name, v, want)
				}
			}
			if diff := cmp.Diff(tt.body, got.Body); tt.body != nil && diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPresets(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ int, r request) { ok(w, r) })
	const passages = "Represent this sentence for searching relevant passages: "
	tests := []struct{ model, query, doc string }{
		{"intfloat/multilingual-e5-small", "query: ", "passage: "},
		{"e5-mistral-7b-instruct", "Instruct: *\nQuery: ", ""},
		{"multilingual-e5-large-instruct", "Instruct: *\nQuery: ", ""},
		{"Qwen/Qwen3-Embedding-0.6B", "Instruct: *\nQuery:", ""},
		{"text-embedding-nomic-embed-text-v1.5", "search_query: ", "search_document: "},
		{"BAAI/bge-small-en-v1.5", passages, ""},
		{"bge-m3", "", ""},
		{"snowflake-arctic-embed:137m", passages, ""},
		{"snowflake-arctic-embed2", "query: ", ""},
		{"Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""},
		{"mxbai-embed-large:latest", passages, ""},
		{"embeddinggemma:300m", "task: search result | query: ", "title: none | text: "},
		{"all-minilm", "", ""},
		{"gte-large", "", ""},
		{"text-embedding-3-small", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.model, func(t *testing.T) {
			e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.Model = tt.model })
			for kind, prefix := range map[embed.Kind]string{embed.Query: tt.query, embed.Document: tt.doc} {
				mustEmbed(t, e, kind, []string{"TEXT"})
				reqs := s.requests()
				got := reqs[len(reqs)-1].Input[0]
				start, end, _ := strings.Cut(prefix+"TEXT", "*")
				if !strings.HasPrefix(got, start) || !strings.HasSuffix(got, end) || end == "" && got != start {
					t.Errorf("kind %d sent %q, want the prefix %q", kind, got, prefix)
				}
			}
		})
	}
}

func TestTextsAreCut(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ int, r request) { ok(w, r) })
	e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.MaxChars = 5 })
	in := []string{"", " \n", "short", "shört", "longer", "ünïcödé", "日本語日本語", "ab\xffcdefg"}
	mustEmbed(t, e, embed.Document, in)
	got := s.requests()[0].Input
	want := []string{" ", " ", "short", "shört", "longe", "ünïcö", "日本語日本", "ab\uFFFDcd"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range got {
		if !utf8.ValidString(text) {
			t.Errorf("sent %q", text)
		}
	}
}

func TestEmptyInputSendsNothing(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ int, r request) { ok(w, r) })
	e := newEmbedder(t, s.URL, nil)
	if vs, err := e.Embed(t.Context(), embed.Document, nil); err != nil || len(vs) != 0 {
		t.Errorf("Embed(nil) = %v, %v", vs, err)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestModel(t *testing.T) {
	base := openai.Config{BaseURL: "http://localhost:1/v1", Model: "m", KeyEnv: "-"}
	model := func(change func(*openai.Config)) string {
		cfg := base
		if change != nil {
			change(&cfg)
		}
		e, err := openai.New(cfg, nil)
		must.Do(t, err)
		return e.Model()
	}
	want, prefix := model(nil), "p"
	for _, part := range []string{"http://localhost:1/v1", " m ", "dim=0"} {
		if !strings.Contains(want, part) {
			t.Errorf("Model() = %q lacks %q", want, part)
		}
	}
	same := map[string]func(*openai.Config){
		"slash":      func(c *openai.Config) { c.BaseURL += "/" },
		"upper case": func(c *openai.Config) { c.BaseURL = "HTTP://LOCALHOST:1/v1" },
		"encoding":   func(c *openai.Config) { c.Encoding = "base64" },
		"batch":      func(c *openai.Config) { c.MaxBatch = 3 },
		"no prefix":  func(c *openai.Config) { c.QueryPrefix = new(string) },
	}
	for name, change := range same {
		if got := model(change); got != want {
			t.Errorf("%s: Model() = %q, want %q", name, got, want)
		}
	}
	seen := map[string]string{want: "unchanged"}
	for name, change := range map[string]func(*openai.Config){
		"host":       func(c *openai.Config) { c.BaseURL = "http://localhost:2/v1" },
		"path":       func(c *openai.Config) { c.BaseURL = "http://localhost:1/V1" },
		"model":      func(c *openai.Config) { c.Model = "n" },
		"dimensions": func(c *openai.Config) { c.Dimensions = 3 },
		"query":      func(c *openai.Config) { c.QueryPrefix = &prefix },
		"document":   func(c *openai.Config) { c.DocumentPrefix = &prefix },
		"cut":        func(c *openai.Config) { c.MaxChars = 3 },
	} {
		got := model(change)
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s: the same Model() %q", name, other, got)
		}
		seen[got] = name
	}
}

func TestNewErrors(t *testing.T) {
	t.Setenv("REPERTOIRE_TEST_KEY", testKey)
	t.Setenv("REPERTOIRE_TEST_BAD", "sk-a\nb")
	const secret = "hunter22"
	good := openai.Config{BaseURL: "http://127.0.0.1:1/v1", Model: "m", KeyEnv: "REPERTOIRE_TEST_KEY"}
	tests := []struct {
		name   string
		change func(*openai.Config)
		want   string
	}{
		{"no base URL", func(c *openai.Config) { c.BaseURL = "" }, "base URL is empty"},
		{"no scheme", func(c *openai.Config) { c.BaseURL = "localhost:1/v1" }, "http://"},
		{"file", func(c *openai.Config) { c.BaseURL = "file:///etc" }, "http://"},
		{"no host", func(c *openai.Config) { c.BaseURL = "http:///v1" }, "no host"},
		{"malformed", func(c *openai.Config) { c.BaseURL = "http://u:" + secret + "@[::1/v1" }, "malformed"},
		{"password", func(c *openai.Config) { c.BaseURL = "https://u:" + secret + "@host/v1" }, "user or password"},
		{"query", func(c *openai.Config) { c.BaseURL = "https://host/v1?key=" + secret }, "query"},
		{"fragment", func(c *openai.Config) { c.BaseURL = "https://host/v1#" + secret }, "fragment"},
		{"no model", func(c *openai.Config) { c.Model = "" }, "model is empty"},
		{"encoding", func(c *openai.Config) { c.Encoding = "int8" }, "int8"},
		{"negative", func(c *openai.Config) { c.MaxBatch = -1 }, "negative"},
		{"variable not set", func(c *openai.Config) { c.KeyEnv = "REPERTOIRE_TEST_NOT_SET" }, "REPERTOIRE_TEST_NOT_SET"},
		{"key for its name", func(c *openai.Config) { c.KeyEnv = testKey }, "is it the key itself?"},
		{"bad key", func(c *openai.Config) { c.KeyEnv = "REPERTOIRE_TEST_BAD" }, "REPERTOIRE_TEST_BAD"},
		{"header name", func(c *openai.Config) { c.Headers = map[string]string{"a b": secret} }, "a b"},
		{"header value", func(c *openai.Config) { c.Headers = map[string]string{"a": secret + "\r\nb: c"} }, `"a"`},
		{"key over http", func(c *openai.Config) { c.BaseURL = "http://192.0.2.1/v1" }, "plain http to 192.0.2.1"},
		{"credential over http", func(c *openai.Config) {
			c.BaseURL, c.KeyEnv = "http://192.0.2.1/v1", "-"
			c.Headers = map[string]string{"X-API-Key": secret}
		}, "X-API-Key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := good
			tt.change(&cfg)
			_, err := openai.New(cfg, nil)
			checkError(t, err, tt.want)
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error %q holds a secret", err)
			}
		})
	}
}

func TestNewAccepts(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", testKey)
	for name, cfg := range map[string]openai.Config{
		"https":          {BaseURL: "https://192.0.2.1/v1"},
		"loopback name":  {BaseURL: "http://localhost:11434/v1"},
		"loopback IPv6":  {BaseURL: "http://[::1]:8080"},
		"no key":         {BaseURL: "http://192.0.2.1/v1", KeyEnv: "-"},
		"allowed":        {BaseURL: "http://192.0.2.1/v1", AllowInsecure: true},
		"no credentials": {BaseURL: "http://192.0.2.1/v1", KeyEnv: "-", Headers: map[string]string{"X-Team": "blue"}},
	} {
		cfg.Model = "m"
		e, err := openai.New(cfg, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, form := range []string{"%v", "%+v", "%#v"} {
			if strings.Contains(fmt.Sprintf(form, e), testKey) {
				t.Errorf("%s: printing the embedder with %s shows the key", name, form)
			}
		}
	}
}

func TestAzureHosts(t *testing.T) {
	for base, want := range map[string]string{
		"https://r.openai.azure.com":                                             "https://r.openai.azure.com/openai/v1 ",
		"https://r.openai.azure.com/openai/v1/":                                  "https://r.openai.azure.com/openai/v1 ",
		"https://r.openai.azure.com/?api-version=2024-10-21":                     "https://r.openai.azure.com/openai/deployments/m ",
		"https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21": "https://r.openai.azure.com/openai/deployments/d ",
		"https://openai.azure.com.example.org":                                   "https://openai.azure.com.example.org ",
	} {
		e, err := openai.New(openai.Config{BaseURL: base, Model: "m", KeyEnv: "-"}, nil)
		if err != nil {
			t.Errorf("%s: %v", base, err)
		} else if !strings.Contains(e.Model(), want) {
			t.Errorf("%s: Model() = %q lacks %q", base, e.Model(), want)
		}
	}
}

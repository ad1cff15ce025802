package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/rerank/remote"
)

// testKey is a key that must not appear in any error.
const testKey = "sk-test-5up3rS3cret"

// serve returns the URL of a server that gives answer. It stores the last request and its
// body in the other results.
func serve(t *testing.T, status int, answer string) (url string, req *http.Request, body map[string]any) {
	t.Helper()
	req, body = new(http.Request), make(map[string]any)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*req = *r
		clear(body)
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("request: %v", err)
		}
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, req, body
}

func newReranker(t *testing.T, url string, change func(*remote.Config)) *remote.Reranker {
	t.Helper()
	t.Setenv("REPERTOIRE_TEST_KEY", testKey)
	cfg := remote.Config{API: remote.Jina, BaseURL: url + "/v1", Model: "some-model", KeyEnv: "REPERTOIRE_TEST_KEY"}
	if change != nil {
		change(&cfg)
	}
	r, err := remote.New(cfg, nil)
	must.Do(t, err)
	return r
}

// checkError fails the test when err lacks one of the words, or holds the key.
func checkError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q lacks %q", err, word)
		}
	}
	if strings.Contains(fmt.Sprintf("%v %#v", err, err), testKey[:8]) {
		t.Errorf("the key is in the error %q", err)
	}
}

// TestProtocols checks the request of each protocol, and that its answer is accepted.
func TestProtocols(t *testing.T) {
	documents := []any{"first", "second", " "}
	for _, tt := range []struct {
		api          remote.API
		base, answer string
		path         string
		want         map[string]any
	}{
		{remote.Jina, "/v1", `{"model":"m","usage":{"total_tokens":9},"results":[{"index":1,"relevance_score":0.5},{"index":0,"relevance_score":-2},{"index":2,"relevance_score":0}]}`,
			"/v1/rerank", map[string]any{"model": "some-model", "query": "q", "documents": documents, "top_n": 3., "return_documents": false}},
		{remote.Cohere, "/v2/rerank/", `{"id":"x","results":[{"index":0,"relevance_score":-2},{"index":2,"relevance_score":0},{"index":1,"relevance_score":0.5}],"meta":{}}`,
			"/v2/rerank", map[string]any{"model": "some-model", "query": "q", "documents": documents, "top_n": 3.}},
		{remote.Voyage, "/v1/", `{"object":"list","data":[{"index":1,"relevance_score":0.5},{"index":2,"relevance_score":0},{"index":0,"relevance_score":-2}]}`,
			"/v1/rerank", map[string]any{"model": "some-model", "query": "q", "documents": documents, "top_k": 3.}},
		{remote.TEI, "", ` [{"index":1,"score":0.5},{"index":2,"score":0},{"index":0,"score":-2}]`,
			"/rerank", map[string]any{"model": "some-model", "query": "q", "texts": documents, "truncate": true}},
	} {
		t.Run(string(tt.api), func(t *testing.T) {
			url, req, body := serve(t, 200, tt.answer)
			r := newReranker(t, url, func(c *remote.Config) { c.API, c.BaseURL = tt.api, url+tt.base })
			scores, err := r.Rerank(t.Context(), "q", []string{"first", "second", ""})
			must.Do(t, err)
			if diff := cmp.Diff([]float64{-2, .5, 0}, scores); diff != "" {
				t.Errorf("scores (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, body); diff != "" {
				t.Errorf("request (-want +got)\n%s", diff)
			}
			if req.Method != "POST" || req.URL.Path != tt.path || req.Header.Get("Authorization") != "Bearer "+testKey {
				t.Errorf("%s %s with %v", req.Method, req.URL.Path, req.Header)
			}
		})
	}
}

func TestTEINeedsNoModelAndNoKey(t *testing.T) {
	url, req, body := serve(t, 200, `[{"index":0,"score":1}]`)
	r := newReranker(t, url, func(c *remote.Config) { *c = remote.Config{API: remote.TEI, BaseURL: url} })
	if _, err := r.Rerank(t.Context(), "q", []string{"d"}); err != nil {
		t.Fatal(err)
	}
	if _, ok := body["model"]; ok || req.Header.Get("Authorization") != "" {
		t.Errorf("sent %v with %v", body, req.Header)
	}
}

func TestTextsAreCut(t *testing.T) {
	url, _, body := serve(t, 200, `{"results":[{"index":0,"relevance_score":1}]}`)
	r := newReranker(t, url, func(c *remote.Config) { c.MaxChars = 3 })
	if _, err := r.Rerank(t.Context(), "日本語日本語", []string{"ünïcödé"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"日本語", "ünï"}, []any{body["query"], body["documents"].([]any)[0]}); diff != "" {
		t.Error(diff)
	}
}

// TestPartialAnswer: some servers return only the best documents.
func TestPartialAnswer(t *testing.T) {
	url, _, _ := serve(t, 200, `{"results":[{"index":2,"relevance_score":0.5}]}`)
	scores, err := newReranker(t, url, nil).Rerank(t.Context(), "q", []string{"a", "b", "c"})
	must.Do(t, err)
	if diff := cmp.Diff([]float64{math.NaN(), math.NaN(), .5}, scores, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

func TestNothingToRerank(t *testing.T) {
	r := newReranker(t, "http://127.0.0.1:1", nil) // where nobody listens
	if scores, err := r.Rerank(t.Context(), "q", nil); err != nil || len(scores) != 0 {
		t.Errorf("%v, %v", scores, err)
	}
}

func TestBadAnswers(t *testing.T) {
	for name, tt := range map[string]struct{ body, want string }{
		"out of range":      {`{"results":[{"index":2,"relevance_score":1}]}`, "index 2 twice or out of range"},
		"negative":          {`[{"index":-1,"score":1}]`, "index -1 twice or out of range"},
		"twice":             {`[{"index":1,"score":1},{"index":1,"score":2}]`, "index 1 twice or out of range"},
		"no index":          {`[{"score":1}]`, "without an index or a score"},
		"no score":          {`{"results":[{"index":0}]}`, "without an index or a score"},
		"null score":        {`{"results":[{"index":0,"relevance_score":null}]}`, "without an index or a score"},
		"NaN":               {`{"results":[{"index":0,"relevance_score":NaN}]}`, "does not come from a reranker"},
		"infinite":          {`[{"index":0,"score":1e999}]`, "does not come from a reranker"},
		"fraction of index": {`[{"index":0.5,"score":1}]`, "does not come from a reranker"},
		"empty":             {``, "no message"},
		"empty list":        {`[]`, "scores none of 2 documents"},
		"empty results":     {`{"results":[]}`, "scores none of 2 documents"},
		"other":             {`{"object":"list"}`, "scores none of 2 documents"},
		"null":              {`null`, "scores none of 2 documents"},
		"error":             {`{"error":{"message":"Unexpected endpoint"}}`, "the answer is an error: Unexpected endpoint"},
		"HTML":              {`<html>`, "an HTML page"},
		"text":              {`Ollama is running`, "Ollama is running"},
		"key in it":         {"your key is\n" + testKey, "your key is [secret]"},
		"control":           {"\x1b[31mred\u202e", ": [31mred"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _, _ := serve(t, 200, tt.body)
			scores, err := newReranker(t, url, nil).Rerank(t.Context(), "q", []string{"a", "b"})
			checkError(t, err, tt.want, "model some-model")
			if !errors.Is(err, remote.ErrUnavailable) || scores != nil || strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
				t.Errorf("scores %v, error %q", scores, err)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   string
		change func(*remote.Config)
		want   string
	}{
		{401, `{"detail":"Bad key ` + testKey + `"}`, nil, ": Bad key [secret] (check the key in REPERTOIRE_TEST_KEY)"},
		{403, ``, func(c *remote.Config) { c.KeyEnv = "" }, ": no message (no key was sent: name its variable)"},
		{404, `{"error":"no such model"}`, nil, "http 404: no such model (check the base URL and the model: nothing is at http://127.0.0.1:"},
		{422, `{"error":"batch size 20 > maximum allowed batch size 8","error_type":"Validation"}`, nil, "maximum allowed batch size 8"},
		{500, strings.Repeat(testKey+" ", 99), nil, "http 500: [secret]"},
		{503, `loading`, nil, "http 503: loading"},
	} {
		url, _, _ := serve(t, tt.status, tt.body)
		_, err := newReranker(t, url, tt.change).Rerank(t.Context(), "q", []string{"a"})
		checkError(t, err, tt.want)
		if !errors.Is(err, remote.ErrUnavailable) || len(err.Error()) > 400 {
			t.Errorf("error %q", err)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	other, req, _ := serve(t, 200, `[{"index":0,"score":1}]`)
	s := httptest.NewServer(http.RedirectHandler(other, http.StatusTemporaryRedirect))
	defer s.Close()
	_, err := newReranker(t, s.URL, nil).Rerank(t.Context(), "q", []string{"a"})
	checkError(t, err, "redirect to "+other+" refused")
	if req.Method != "" {
		t.Error("the other host got the request")
	}
}

func TestNoServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, err := newReranker(t, s.URL, nil).Rerank(t.Context(), "q", []string{"a"})
	checkError(t, err, "refused")
	if !errors.Is(err, remote.ErrUnavailable) || strings.Contains(err.Error(), "Post ") {
		t.Errorf("error %q", err)
	}
}

func TestEndlessAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := []byte(strings.Repeat(" ", 64<<10))
		for {
			if _, err := w.Write(piece); err != nil {
				return // the client hung up
			}
		}
	}))
	_, err := newReranker(t, s.URL, nil).Rerank(t.Context(), "q", []string{"a"})
	checkError(t, err, "the answer is longer than")
	s.Close() // waits for the handler, and so for the client to hang up
}

// TestContextEnds while the server does not answer.
func TestContextEnds(t *testing.T) {
	started := make(chan struct{}, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then the end of the connection is noticed
		started <- struct{}{}
		<-r.Context().Done()
	}))
	defer s.Close()
	r := newReranker(t, s.URL, nil)
	late, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	if _, err := r.Rerank(late, "q", []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	_, err := r.Rerank(ctx, "q", []string{"a"})
	if !errors.Is(err, context.Canceled) || errors.Is(err, remote.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestNewErrors(t *testing.T) {
	t.Setenv("REPERTOIRE_TEST_KEY", testKey)
	good := remote.Config{API: remote.Cohere, BaseURL: "http://127.0.0.1:1/v2", Model: "m", KeyEnv: "REPERTOIRE_TEST_KEY"}
	for _, tt := range []struct {
		name   string
		change func(*remote.Config)
		want   string
	}{
		{"protocol", func(c *remote.Config) { c.API = "soap" }, `reranker: no protocol "soap"; there are: jina, cohere, voyage, tei`},
		{"model", func(c *remote.Config) { c.Model = "" }, "reranker: model is empty"},
		{"base URL", func(c *remote.Config) { c.BaseURL = "ftp://x" }, "reranker: base URL does not start with http"},
		{"query", func(c *remote.Config) { c.BaseURL += "?key=" + testKey }, "reranker: base URL has a query"},
		{"negative", func(c *remote.Config) { c.MaxChars = -1 }, "negative"},
		{"variable not set", func(c *remote.Config) { c.KeyEnv = "REPERTOIRE_TEST_NOT_SET" }, "REPERTOIRE_TEST_NOT_SET for the key is not set"},
		{"key for its name", func(c *remote.Config) { c.KeyEnv = testKey }, "is it the key itself?"},
		{"key over http", func(c *remote.Config) { c.BaseURL = "http://192.0.2.1/v2" }, "plain http to 192.0.2.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := good
			tt.change(&cfg)
			_, err := remote.New(cfg, nil)
			checkError(t, err, tt.want)
		})
	}
	r, err := remote.New(good, nil)
	must.Do(t, err)
	if text := fmt.Sprintf("%v %+v %#v", r, r, r); strings.Contains(text, testKey) {
		t.Errorf("printing a reranker shows the key: %s", text)
	}
}

package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// testKey is a key that must not appear in any output of the package.
const testKey = "sk-test-5up3rS3cret"

// A request is a request that a test server received.
type request struct {
	Path, Query string
	Header      http.Header
	Body        map[string]any
	Input       []string
}

// A server is a real HTTP server whose answers the test defines.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	reqs []request
}

// newServer calls answer with the number of each request, from 0.
func newServer(t *testing.T, answer func(w http.ResponseWriter, n int, r request)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := request{Path: hr.URL.Path, Query: hr.URL.RawQuery, Header: hr.Header}
		body, err := io.ReadAll(hr.Body)
		if err == nil {
			err = json.Unmarshal(body, &r.Body)
		}
		if err != nil {
			t.Errorf("request body: %v", err)
		}
		input, _ := r.Body["input"].([]any)
		for _, x := range input {
			text, _ := x.(string)
			r.Input = append(r.Input, text)
		}
		s.mu.Lock()
		n := len(s.reqs)
		s.reqs = append(s.reqs, r)
		s.mu.Unlock()
		answer(w, n, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reqs)
}

// batches returns the number of texts in each request.
func (s *server) batches() []int {
	var out []int
	for _, r := range s.requests() {
		out = append(out, len(r.Input))
	}
	return out
}

// vectorOf returns the vector of length 3 with which ok answers a text. It depends on the
// text's length, so that a test notices one character more or less.
func vectorOf(text string) embed.Vector {
	sin, cos := math.Sincos(float64(len(text)))
	return embed.Vector{float32(3 * cos), float32(3 * sin)}
}

// ok answers each text with its vectorOf.
func ok(w http.ResponseWriter, r request) {
	var data []string
	for i, text := range r.Input {
		v := vectorOf(text)
		data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%v,%v]}`, i, v[0], v[1]))
	}
	fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(data, ","))
}

// always returns an answer that is the same for all requests.
func always(status int, body string) func(http.ResponseWriter, int, request) {
	return func(w http.ResponseWriter, _ int, _ request) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// failing answers request n with a status and a body, and all others as ok does.
func failing(n, status int, body string) func(http.ResponseWriter, int, request) {
	return func(w http.ResponseWriter, i int, r request) {
		if i == n {
			always(status, body)(w, i, r)
			return
		}
		ok(w, r)
	}
}

// pauses records the pauses that an embedder would have made.
type pauses struct {
	mu   sync.Mutex
	list []time.Duration
}

func (p *pauses) sleep(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, d)
	return ctx.Err()
}

// newEmbedder returns an embedder for the server at url that does not wait
// between retries. It sends testKey.
func newEmbedder(t *testing.T, url string, change func(*openai.Config, *openai.Options)) *openai.Embedder {
	t.Helper()
	t.Setenv("REPERTOIRE_TEST_KEY", testKey)
	cfg := openai.Config{BaseURL: url + "/v1", Model: "some-model", KeyEnv: "REPERTOIRE_TEST_KEY"}
	opts := &openai.Options{Sleep: new(pauses).sleep}
	if change != nil {
		change(&cfg, opts)
	}
	e, err := openai.New(cfg, opts)
	must.Do(t, err)
	return e
}

func mustEmbed(t *testing.T, e *openai.Embedder, kind embed.Kind, texts []string) []embed.Vector {
	t.Helper()
	vs, err := e.Embed(t.Context(), kind, texts)
	must.Do(t, err)
	return vs
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
	for _, form := range []string{"%v", "%+v", "%#v"} {
		if strings.Contains(fmt.Sprintf(form, err), testKey) {
			t.Errorf("the key is in the error: "+form, err)
		}
	}
}

// checkVectors fails the test unless vs are what ok answered to texts.
func checkVectors(t *testing.T, vs []embed.Vector, texts []string) {
	t.Helper()
	if len(vs) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(vs), len(texts))
	}
	for i, text := range texts {
		// The dot product with a vector of length 3 is 3 only for the unit
		// vector of the same direction.
		if d := embed.Dot(vs[i], vectorOf(text)); math.Abs(d-3) > 1e-5 {
			t.Errorf("vector %d = %v, want a third of %v", i, vs[i], vectorOf(text))
		}
	}
}

// texts returns n texts of different lengths, from 1.
func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strings.Repeat("x", i+1)
	}
	return out
}

package openai_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
)

func TestBatchLimit(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		message string
	}{
		{"DashScope", 400, `{"error":{"message":"batch size is invalid, it should not be larger than 3"}}`},
		{"TEI", 422, `{"error":"batch size 8 > maximum allowed batch size 3","error_type":"Validation"}`},
		{"proxy", 413, `<html><h1>413 Request Entity Too Large</h1></html>`},
		{"llama.cpp", 500, `{"error":{"message":"input (999 tokens) is too large to process. increase the physical batch size"}}`},
		{"OpenAI", 429, `{"error":{"message":"Request too large for model: Limit 10, Requested 20"}}`},
		{"FastAPI", 422, `{"detail":[{"loc":["body"],"msg":"List should have at most 3 items"}]}`},
	}
	for _, tt := range tests {
		for _, kind := range []embed.Kind{embed.Document, embed.Query} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, kind), func(t *testing.T) {
				s := newServer(t, func(w http.ResponseWriter, _ int, r request) {
					if len(r.Input) > 3 {
						w.WriteHeader(tt.status)
						io.WriteString(w, tt.message)
						return
					}
					ok(w, r)
				})
				e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.MaxBatch = 8 })
				checkVectors(t, mustEmbed(t, e, kind, texts(8)), texts(8))
				// The fourth batch of two ends what was asked, so none is tried larger.
				if diff := cmp.Diff([]int{8, 4, 2, 2, 2, 2}, s.batches()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestBatchGrows: one long text must not make batches small for ever.
func TestBatchGrows(t *testing.T) {
	s := newServer(t, failing(0, 413, ""))
	e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.MaxBatch = 4 })
	checkVectors(t, mustEmbed(t, e, embed.Document, texts(16)), texts(16))
	if diff := cmp.Diff([]int{4, 2, 2, 2, 2, 4, 4}, s.batches()); diff != "" {
		t.Error(diff)
	}
}

// TestSmallCallsDoNotGrowBatches: a batch that was not full is no reason to try a larger
// one.
func TestSmallCallsDoNotGrowBatches(t *testing.T) {
	s := newServer(t, failing(0, 413, ""))
	e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.MaxBatch = 4 })
	for _, n := range []int{4, 1, 1, 1, 1, 4} {
		mustEmbed(t, e, embed.Document, texts(n))
	}
	if diff := cmp.Diff([]int{4, 2, 2, 1, 1, 1, 1, 2, 2}, s.batches()); diff != "" {
		t.Error(diff)
	}
}

// tooLong answers like a server whose model takes at most 300 characters.
func tooLong(w http.ResponseWriter, _ int, r request) {
	for _, text := range r.Input {
		if len(text) > 300 {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"the input length exceeds the context length"}}`)
			return
		}
	}
	ok(w, r)
}

func TestLongTextIsCut(t *testing.T) {
	for _, kind := range []embed.Kind{embed.Document, embed.Query} {
		s := newServer(t, tooLong)
		e := newEmbedder(t, s.URL, nil)
		whole := strings.Repeat("c", 280) // longer than what is left of the text before
		in := []string{"a", strings.Repeat("b", 1000), whole}
		checkVectors(t, mustEmbed(t, e, kind, in), []string{"a", strings.Repeat("b", 250), whole})
		if diff := cmp.Diff([]int{3, 1, 1, 1, 1, 1}, s.batches()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestCutTextStaysAlone: while one text is being cut, other calls enlarge the batches; the
// next text must not be cut with it.
func TestCutTextStaysAlone(t *testing.T) {
	var e *openai.Embedder
	s := newServer(t, func(w http.ResponseWriter, n int, r request) {
		if len(r.Input) == 1 && len(r.Input[0]) == 500 { // the next request will fit
			for range 8 {
				if _, err := e.Embed(t.Context(), embed.Document, []string{"other"}); err != nil {
					t.Error(err)
				}
			}
		}
		tooLong(w, n, r)
	})
	e = newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.MaxBatch = 2 })
	long, whole := strings.Repeat("b", 1000), strings.Repeat("c", 280)
	checkVectors(t, mustEmbed(t, e, embed.Document, []string{long, whole}), []string{long[:250], whole})
}

// TestTextNeverFits: the error names the text that cannot be cut further.
func TestTextNeverFits(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, n int, r request) {
		if len(r.Input) > 1 || r.Input[0][0] == 'b' {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":"input is too long"}`)
			return
		}
		ok(w, r)
	})
	e := newEmbedder(t, s.URL, nil)
	vs, err := e.Embed(t.Context(), embed.Document, []string{"aaaa", strings.Repeat("b", 600), "cc"})
	checkError(t, err, "texts[1]", "http 400", "input is too long", "some-model")
	checkVectors(t, vs, []string{"aaaa"})
	if f := pick(t, err); f.Retryable {
		t.Errorf("%v is retryable", f)
	}
	last := s.requests()[len(s.requests())-1].Input[0]
	if len(last) != 150 {
		t.Errorf("the last request has %d characters, want 150", len(last))
	}
}

// TestSizeOfVectorIsNotSizeOfText: cutting texts would not help here.
func TestSizeOfVectorIsNotSizeOfText(t *testing.T) {
	s := newServer(t, always(400, `{"error":{"message":"dimensions must be at most 512"}}`))
	_, err := newEmbedder(t, s.URL, nil).Embed(t.Context(), embed.Document, texts(4))
	checkError(t, err, "at most 512", "texts[0:4]")
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// TestConcurrentLimits: goroutines that learn a limit together still get the vectors of
// their own texts.
func TestConcurrentLimits(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, n int, r request) {
		switch {
		case len(r.Input) > 5:
			w.WriteHeader(413)
		case n < 28 && n%7 == 3: // four times, as often as one batch is retried
			w.WriteHeader(503)
		default:
			ok(w, r)
		}
	})
	e := newEmbedder(t, s.URL, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			in := texts(20 + i)[i:]
			vs, err := e.Embed(t.Context(), embed.Document, in)
			if err != nil {
				t.Error(err)
				return
			}
			for j, v := range vs {
				if d := embed.Dot(v, vectorOf(in[j])); math.Abs(d-3) > 1e-5 {
					t.Errorf("goroutine %d, vector %d does not belong to its text: dot = %v", i, j, d)
				}
			}
		})
	}
	wg.Wait()
}

package openai_test

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
)

func TestEncodingOtherThanAsked(t *testing.T) {
	var b []byte
	want := vectorOf("x")
	for _, x := range want {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	answers := map[string]string{
		"base64": fmt.Sprintf("[%v,%v]", want[0], want[1]),
		"float":  `"` + base64.StdEncoding.EncodeToString(b) + `"`,
	}
	for asked, vector := range answers {
		t.Run(asked, func(t *testing.T) {
			s := newServer(t, always(200, `{"data":[{"index":0,"embedding":`+vector+`}]}`))
			e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.Encoding = asked })
			checkVectors(t, mustEmbed(t, e, embed.Query, []string{"x"}), []string{"x"})
		})
	}
}

func TestShuffledAnswer(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ int, r request) {
		var data []string
		for i := len(r.Input) - 1; i >= 0; i-- {
			v := vectorOf(r.Input[i])
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":[%v,%v]}`, i, v[0], v[1]))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	})
	e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.MaxBatch = 4 })
	checkVectors(t, mustEmbed(t, e, embed.Document, texts(10)), texts(10))
	if diff := cmp.Diff([]int{4, 4, 2}, s.batches()); diff != "" {
		t.Error(diff)
	}
}

// TestBadVector sends two batches of three; the text 4 is in the second.
func TestBadVector(t *testing.T) {
	tests := []struct{ name, vector, want string }{
		{"zero", "[0,0]", "zero or not finite"},
		{"null", "[1,null]", "zero or not finite"},
		{"NaN", "[NaN,1]", "zero or not finite"},
		{"infinity", "[1e400,1]", "zero or not finite"},
		{"absent", "null", "zero or not finite"},
		{"short", "[1]", "1 dimensions, want 2"},
		{"long", "[1,2,3]", "3 dimensions, want 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, n int, r request) {
				if n == 0 {
					ok(w, r)
					return
				}
				v := vectorOf(r.Input[0])
				fmt.Fprintf(w, `{"data":[{"embedding":[%v,%v]},{"embedding":%s},{"embedding":[6,1]}]}`, v[0], v[1], tt.vector)
			})
			e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.MaxBatch = 3 })
			vs, err := e.Embed(t.Context(), embed.Document, texts(6))
			checkError(t, err, "texts[4]", tt.want)
			checkVectors(t, vs, texts(4))
			if zero := strings.Contains(tt.want, "zero"); zero != errors.Is(err, embed.ErrVector) {
				t.Errorf("errors.Is(%v, ErrVector) = %v", err, !zero)
			}
			if n := len(s.requests()); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
		})
	}
}

func TestDimensionIsChecked(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ int, r request) { ok(w, r) })
	e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.Dimensions = 3 })
	vs, err := e.Embed(t.Context(), embed.Document, texts(2))
	checkError(t, err, "texts[0]", "2 dimensions, want 3")
	checkVectors(t, vs, nil)
}

// TestDimensionIsLearned changes the model behind the endpoint between calls.
func TestDimensionIsLearned(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, n int, r request) {
		if n == 0 {
			ok(w, r)
			return
		}
		io.WriteString(w, `{"data":[{"index":0,"embedding":[1,2,3]}]}`)
	})
	e := newEmbedder(t, s.URL, nil)
	mustEmbed(t, e, embed.Document, texts(1))
	_, err := e.Embed(t.Context(), embed.Query, texts(1))
	checkError(t, err, "3 dimensions, want 2")
}

// TestPartialResult: the caller gets the batches before the failed one.
func TestPartialResult(t *testing.T) {
	s := newServer(t, failing(2, 401, ""))
	e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.MaxBatch = 3 })
	vs, err := e.Embed(t.Context(), embed.Document, texts(10))
	checkError(t, err, "texts[6:9]")
	checkVectors(t, vs, texts(6))
}

// TestSuccessWithoutVectors is about answers that claim success.
func TestSuccessWithoutVectors(t *testing.T) {
	for name, body := range map[string]string{
		"error":       `{"error":"Unexpected endpoint or method. (POST /v1/embeddings)"}`,
		"HTML":        `<!doctype html><title>Open WebUI</title>`,
		"text":        `Ollama is running`,
		"nothing":     ``,
		"other shape": `[{"index":0,"embedding":[[1,2]]}]`,
		"wrong count": `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2]}]}`,
		"key in it":   `your key is ` + testKey,
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, always(200, body))
			vs, err := newEmbedder(t, s.URL, nil).Embed(t.Context(), embed.Document, texts(1))
			checkError(t, err, "http 200", "the answer")
			if f := pick(t, err); !errors.Is(err, openai.ErrUnavailable) || f.Status != 200 || f.Retryable || len(vs) != 0 {
				t.Errorf("%d vectors, error %+v", len(vs), f)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestEndlessAnswer(t *testing.T) {
	for status, want := range map[int]string{200: "longer than", 400: "http 400"} {
		s := newServer(t, func(w http.ResponseWriter, _ int, _ request) {
			w.WriteHeader(status)
			piece := []byte(strings.Repeat(" ", 64<<10))
			for {
				if _, err := w.Write(piece); err != nil {
					return // the client hung up
				}
			}
		})
		_, err := newEmbedder(t, s.URL, nil).Embed(t.Context(), embed.Document, texts(1))
		checkError(t, err, want)
		s.Close() // waits for the handler, and so for the client to hang up
	}
}

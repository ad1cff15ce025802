package embedtest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
)

type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Encoding   string   `json:"encoding_format"`
	Dimensions int      `json:"dimensions"`
}

type datum struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"`
}

// Server serves e in the format of OpenAI's embeddings endpoint, on a loopback address,
// until the test ends. The base URL is the server's URL and "/v1". Like OpenAI, it
// answers 400 to an empty text and to a wrong number of dimensions. An error of e
// becomes a 500.
func Server(t testing.TB, e embed.Embedder) *httptest.Server {
	s := httptest.NewServer(Handler(e))
	t.Cleanup(s.Close)
	return s
}

// Handler serves what Server serves, for servers that serve more.
func Handler(e embed.Embedder) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, e)
	})
	return mux
}

func serve(w http.ResponseWriter, r *http.Request, e embed.Embedder) {
	var req request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	for i, text := range req.Input {
		if text == "" {
			fail(w, http.StatusBadRequest, fmt.Errorf("'$.input[%d]' is an empty string", i))
			return
		}
	}
	vs, err := e.Embed(r.Context(), embed.Document, req.Input)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	data := make([]datum, len(vs))
	for i, v := range vs {
		if req.Dimensions != 0 && req.Dimensions != len(v) {
			fail(w, http.StatusBadRequest, fmt.Errorf("model has %d dimensions", len(v)))
			return
		}
		data[i] = datum{"embedding", i, encode(v, req.Encoding)}
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "model": req.Model, "data": data})
}

// encode returns v as it appears in the JSON answer.
func encode(v embed.Vector, encoding string) any {
	if encoding != "base64" {
		return v
	}
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func fail(w http.ResponseWriter, status int, err error) {
	reply(w, status, map[string]any{"error": map[string]string{"message": err.Error(), "type": "test"}})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// An error means that the test closed the connection.
	_ = json.NewEncoder(w).Encode(v)
}

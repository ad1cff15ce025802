package openai

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
)

var nan = float32(math.NaN())

// b64 returns v as JSON string of base64.
func b64(v ...float32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return `"` + base64.StdEncoding.EncodeToString(b) + `"`
}

func TestDecode(t *testing.T) {
	inf := float32(math.Inf(1))
	tests := []struct {
		name, body string
		want       []embed.Vector
	}{
		{"floats", `{"data":[{"index":0,"embedding":[1,-2.5e-1, 3 ]}]}`, []embed.Vector{{1, -0.25, 3}}},
		{"base64", `{"data":[{"index":0,"embedding":` + b64(1, -0.25) + `}]}`, []embed.Vector{{1, -0.25}}},
		{"base64 without padding", `{"data":[{"index":0,"embedding":` + strings.ReplaceAll(b64(1, 2), "=", "") + `}]}`, []embed.Vector{{1, 2}}},
		{"both", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":` + b64(2) + `}]}`, []embed.Vector{{1}, {2}}},
		{"shuffled", `{"data":[{"index":2,"embedding":[2]},{"index":0,"embedding":[0]},{"index":1,"embedding":[1]}]}`, []embed.Vector{{0}, {1}, {2}}},
		{"no index", `{"data":[{"embedding":[5]},{"embedding":[6]}]}`, []embed.Vector{{5}, {6}}},
		{"error null", `{"error":null,"data":[{"index":0,"embedding":[1]}]}`, []embed.Vector{{1}}},
		{"null number", `{"data":[{"index":0,"embedding":[1,null]}]}`, []embed.Vector{{1, nan}}},
		{"Python's words", `{"data":[{"index":0,"embedding":[NaN, -Infinity,Infinity,1]}]}`, []embed.Vector{{nan, nan, nan, 1}}},
		{"too large for float32", `{"data":[{"index":0,"embedding":[1e39]}]}`, []embed.Vector{{inf}}},
		{"too small for float32", `{"data":[{"index":0,"embedding":[1e-60]}]}`, []embed.Vector{{0}}},
		{"null vector", `{"data":[{"index":0,"embedding":null}]}`, []embed.Vector{nil}},
		{"empty vector", `{"data":[{"index":0,"embedding":[ ]}]}`, []embed.Vector{nil}},
		{"none", `{"data":[]}`, []embed.Vector{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decode([]byte(tt.body), len(tt.want))
			must.Do(t, err)
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"too few", `{"data":[{"index":0,"embedding":[1]}]}`, "1 vectors for 2 texts"},
		{"too many", `{"data":[{"embedding":[1]},{"embedding":[1]},{"embedding":[1]}]}`, "3 vectors for 2 texts"},
		{"duplicate index", `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[1]}]}`, "index 1 twice"},
		{"index from 1", `{"data":[{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`, "index 2 twice or out of range"},
		{"negative index", `{"data":[{"index":-1,"embedding":[1]},{"index":0,"embedding":[1]}]}`, "index -1"},
		{"some without index", `{"data":[{"index":0,"embedding":[1]},{"embedding":[1]}]}`, "only some"},
		{"fractional index", `{"data":[{"index":0.5,"embedding":[1]},{"index":1,"embedding":[1]}]}`, "does not come from an embeddings endpoint"},
		{"arrays of arrays", `{"data":[{"embedding":[[1]]},{"embedding":[[1]]}]}`, "array of arrays"},
		{"strings", `{"data":[{"embedding":[1]},{"embedding":["1","2"]}]}`, "vector 1 of the answer"},
		{"booleans", `{"data":[{"embedding":[true]},{"embedding":[1]}]}`, "vector 0 of the answer"},
		{"object", `{"data":[{"embedding":{}},{"embedding":[1]}]}`, "neither numbers nor base64"},
		{"not base64", `{"data":[{"embedding":"!!"},{"embedding":[1]}]}`, "not base64"},
		{"base64 of 5 bytes", `{"data":[{"embedding":"AAAAAAA="},{"embedding":[1]}]}`, "not base64"},
		{"llama.cpp without /v1", `[{"index":0,"embedding":[[1]]}]`, "does not come from an embeddings endpoint"},
		{"Ollama's own", `{"model":"m","embeddings":[[1],[2]]}`, "no data"},
		{"error text", `{"error":"Unexpected endpoint"}`, "is an error: Unexpected endpoint"},
		{"error object", `{"error":{"message":"no such thing"},"data":[]}`, "is an error: no such thing"},
		{"HTML", `<html><body>Welcome</body>`, "an HTML page"},
		{"text", `Ollama is running`, "Ollama is running"},
		{"nothing", ``, "no message"},
		{"cut off", `{"data":[{"index":0,"embedding":[1`, "does not come from an embeddings endpoint"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			vs, err := decode([]byte(tt.body), 2)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if vs != nil {
				t.Errorf("%d vectors beside the error", len(vs))
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1,2e-3]},{"index":0,"embedding":`+b64(1, 2)+`}]}`), 2)
	f.Add([]byte(`{"data":[{"embedding":[NaN,-Infinity,null]}]}`), 1)
	f.Add([]byte(`{"data":[{"embedding":[[1]]}],"error":null}`), 1)
	f.Add([]byte(`{"error":{"message":"m","detail":["x"]}}`), 0)
	f.Add([]byte(`<html>`), 3)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		n &= 15
		vs, err := decode(body, n)
		if err != nil {
			if vs != nil {
				t.Fatalf("%d vectors beside the error %v", len(vs), err)
			}
			return
		}
		if len(vs) != n {
			t.Fatalf("%d vectors, want %d", len(vs), n)
		}
		checkAgainstLibrary(t, body, vs)
	})
}

// checkAgainstLibrary compares the result with encoding/json for bodies that it can read:
// vectors of numbers, all with an index.
func checkAgainstLibrary(t *testing.T, body []byte, vs []embed.Vector) {
	var want struct {
		Data []struct {
			Index     *int
			Embedding []*float32
		}
	}
	if json.Unmarshal(body, &want) != nil {
		return
	}
	for _, d := range want.Data {
		if d.Index == nil {
			return
		}
		if v := vs[*d.Index]; len(v) != len(d.Embedding) {
			t.Fatalf("vector %d has %d numbers, want %d", *d.Index, len(v), len(d.Embedding))
		}
		for i, x := range d.Embedding {
			if x == nil {
				x = &nan
			}
			if got := vs[*d.Index][i]; math.Float32bits(got) != math.Float32bits(*x) {
				t.Fatalf("vector %d, number %d = %v, want %v", *d.Index, i, got, *x)
			}
		}
	}
}

// answerOf returns an answer with n vectors of dim numbers.
func answerOf(n, dim int, encoding string) []byte {
	var b strings.Builder
	b.WriteString(`{"object":"list","data":[`)
	for i := range n {
		v := make([]float32, dim)
		for j := range v {
			v[j] = float32(math.Sin(float64(i*dim+j))) / 30
		}
		text := b64(v...)
		if encoding == "float" {
			j, _ := json.Marshal(v) // cannot fail: all numbers are finite
			text = string(j)
		}
		fmt.Fprintf(&b, `%s{"object":"embedding","index":%d,"embedding":%s}`, strings.Repeat(",", min(i, 1)), i, text)
	}
	b.WriteString(`],"model":"m"}`)
	return []byte(b.String())
}

func BenchmarkDecode(b *testing.B) {
	for _, encoding := range []string{"float", "base64"} {
		b.Run(encoding, func(b *testing.B) {
			body := answerOf(32, 1536, encoding)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode(body, 32); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	// What decode would cost if encoding/json parsed the numbers.
	b.Run("float/encoding-json", func(b *testing.B) {
		body := answerOf(32, 1536, "float")
		for b.Loop() {
			var resp struct {
				Data []struct{ Embedding []float32 }
			}
			must.Do(b, json.Unmarshal(body, &resp))
		}
	})
}

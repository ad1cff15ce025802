package detect

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzList: whatever a server answers, its models have names that can be written down, and
// there are not too many of them.
func FuzzList(f *testing.F) {
	for _, body := range []string{
		"", "null", "[]", `{"data":null}`, `{"models":[{"name":"bge-m3:latest","remote_host":""}]}`,
		`{"data":[{"id":"text-embedding-x","type":"embeddings"},{"id":"a\u001b\u202e","owned_by":"llamacpp","meta":{"n_embd":-1}}]}`,
		`{"model_id":"thenlper/gte-base","model_type":{"embedding":{"pooling":"cls"}}}`,
		`{"capabilities":["embedding"],"model_info":{"bert.embedding_length":1e99,"x.embedding_length":768}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, way := range lists() {
			l, err := way.parse(body)
			if err != nil && len(l.models) > 0 {
				t.Errorf("%s: %d models and %v", way.path, len(l.models), err)
			}
			if len(l.models) > maxModels {
				t.Errorf("%s: %d models", way.path, len(l.models))
			}
			for _, e := range l.models {
				if e.name == "" || len(e.name) > maxName || e.dim < 0 || strings.ContainsFunc(e.name, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%s: model %+v", way.path, e)
				}
			}
		}
		if _, dim := parseShow(body); dim < 0 || dim > 1<<20 {
			t.Errorf("dimension %d", dim)
		}
	})
}

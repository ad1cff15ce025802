package remote

import (
	"math"
	"testing"
)

func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"results":[{"index":1,"relevance_score":0.99},{"index":0,"relevance_score":-3.5}]}`,
		`{"data":[{"index":0,"relevance_score":0.9}],"error":null}`,
		`[{"index":2,"score":1e308},{"index":1,"score":-0.0}]`,
		`{"results":null,"data":[{"index":3,"score":1}]}`,
		`{"error":[{"msg":"no"}]}`, `[]`, `null`, `[null]`, "\ufeff[]", `{"results":{}}`, `[{"index":1e1,"score":1}]`,
	} {
		f.Add([]byte(body), 3)
	}
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		n &= 15
		scores, err := decode(body, n)
		if err != nil {
			if scores != nil || err.Error() == "" {
				t.Fatalf("scores %v, error %q", scores, err)
			}
			return
		}
		some := false
		for _, s := range scores {
			if math.IsInf(s, 0) {
				t.Errorf("score %v", s)
			}
			some = some || !math.IsNaN(s)
		}
		if len(scores) != n || !some {
			t.Errorf("%d scores %v for %d documents of %q", len(scores), scores, n, body)
		}
	})
}

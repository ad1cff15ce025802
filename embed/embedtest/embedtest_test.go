package embedtest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
	"github.com/repertoire-skills/repertoire/internal/must"
)

func TestFakeKeepsContract(t *testing.T) {
	embedtest.TestEmbedder(t, new(embedtest.Fake))
}

func TestFakeFails(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name      string
		failAfter int
		want      []int // vectors of calls with 2, 2 and 1 texts
	}{
		{"at once", 0, []int{0, 0, 0}},
		{"inside a call", 3, []int{2, 1, 0}},
		{"between calls", 4, []int{2, 2, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := &embedtest.Fake{Err: boom, FailAfter: tt.failAfter}
			for i, texts := range [][]string{{"a", "b"}, {"c", "d"}, {"e"}} {
				vs, err := f.Embed(t.Context(), embed.Document, texts)
				if len(vs) != tt.want[i] {
					t.Errorf("call %d: %d vectors, want %d", i, len(vs), tt.want[i])
				}
				if failed := len(vs) < len(texts); failed != errors.Is(err, boom) {
					t.Errorf("call %d: error %v with %d of %d vectors", i, err, len(vs), len(texts))
				}
			}
			if f.Calls() != 3 || f.Texts() != tt.failAfter {
				t.Errorf("Calls, Texts = %d, %d; want 3, %d", f.Calls(), f.Texts(), tt.failAfter)
			}
		})
	}
}

func TestFakeDelayEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	f := &embedtest.Fake{Delay: time.Hour}
	if _, err := f.Embed(ctx, embed.Query, []string{"a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	if f.Calls() != 1 || f.Texts() != 0 {
		t.Errorf("Calls, Texts = %d, %d; want 1, 0", f.Calls(), f.Texts())
	}
}

func TestServer(t *testing.T) {
	ok, bad := embedtest.Server(t, new(embedtest.Fake)), embedtest.Server(t, &embedtest.Fake{Err: errors.New("boom")})
	tests := []struct {
		name, url, body string
		status          int
		want            string
	}{
		{"floats", ok.URL, `{"model":"m","input":["a"],"encoding_format":"float"}`, 200, `"embedding":[0`},
		{"base64", ok.URL, `{"model":"m","input":["a"],"encoding_format":"base64"}`, 200, `"embedding":"AAAA`},
		{"model", ok.URL, `{"model":"m","input":["a","b"]}`, 200, `"model":"m"`},
		{"empty text", ok.URL, `{"model":"m","input":["a",""]}`, 400, "input[1]"},
		{"dimensions", ok.URL, `{"model":"m","input":["a"],"dimensions":65}`, 400, "64 dimensions"},
		{"not JSON", ok.URL, `input`, 400, `"error"`},
		{"failing", bad.URL, `{"model":"m","input":["a"]}`, 500, "boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, err := http.Post(tt.url+"/v1/embeddings", "application/json", strings.NewReader(tt.body))
			must.Do(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			must.Do(t, err)
			if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
				t.Errorf("answer %d %.300s; want %d with %s", resp.StatusCode, body, tt.status, tt.want)
			}
		})
	}
}

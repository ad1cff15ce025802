package openai_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/must"
)

func TestRetry(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	const half, one, two, four = 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second
	tests := []struct {
		name   string
		status int
		after  string // Retry-After
		fails  int    // number of requests that fail
		want   []time.Duration
		ok     bool
	}{
		{"busy", 429, "", 1, []time.Duration{half}, true},
		{"loading", 503, "", 3, []time.Duration{half, one, two}, true},
		{"broken", 500, "", 4, []time.Duration{half, one, two, four}, true},
		{"bad gateway", 502, "", 1, []time.Duration{half}, true},
		{"broken for good", 500, "", 99, []time.Duration{half, one, two, four}, false},
		{"seconds", 429, "7", 2, []time.Duration{7 * time.Second, 7 * time.Second}, true},
		{"date", 503, "Sun, 01 Nov 2026 12:00:20 GMT", 1, []time.Duration{20 * time.Second}, true},
		{"date in the past", 503, "Sun, 01 Nov 2026 11:00:00 GMT", 1, []time.Duration{half}, true},
		{"zero", 429, "0", 1, []time.Duration{half}, true},
		{"malformed", 429, "soon", 1, []time.Duration{half}, true},
		{"negative", 429, "-5", 1, []time.Duration{half}, true},
		{"an hour", 429, "3600", 1, nil, false},
		{"a century", 429, "99999999999999999999", 1, []time.Duration{half}, true},
		{"not implemented", 501, "", 1, nil, false},
		{"unauthorized", 401, "1", 1, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, n int, r request) {
				if n >= tt.fails {
					ok(w, r)
					return
				}
				if tt.after != "" {
					w.Header().Set("Retry-After", tt.after)
				}
				w.WriteHeader(tt.status)
			})
			waited := new(pauses)
			e := newEmbedder(t, s.URL, func(_ *openai.Config, o *openai.Options) {
				o.Sleep, o.Now = waited.sleep, func() time.Time { return now }
			})
			vs, err := e.Embed(t.Context(), embed.Document, texts(2))
			if diff := cmp.Diff(tt.want, waited.list); diff != "" {
				t.Error(diff)
			}
			if tt.ok {
				must.Do(t, err)
				checkVectors(t, vs, texts(2))
				return
			}
			checkError(t, err, fmt.Sprintf("http %d", tt.status))
			busy := tt.status == 429 || tt.status == 500
			if f := pick(t, err); f.Status != tt.status || f.Retryable != busy || errors.Is(err, openai.ErrUnavailable) != busy {
				t.Errorf("error %+v", f)
			}
		})
	}
}

func TestQueryIsNotRetried(t *testing.T) {
	for _, status := range []int{429, 500, 503} {
		s := newServer(t, always(status, "try again"))
		waited := new(pauses)
		e := newEmbedder(t, s.URL, func(_ *openai.Config, o *openai.Options) { o.Sleep = waited.sleep })
		_, err := e.Embed(t.Context(), embed.Query, []string{"x"})
		checkError(t, err, "try again")
		if f := pick(t, err); !f.Retryable {
			t.Errorf("%d: the error is not retryable", status)
		}
		if n := len(s.requests()); n != 1 || waited.list != nil {
			t.Errorf("%d: %d requests, pauses %v; want one request", status, n, waited.list)
		}
	}
}

// TestBrokenGatewayIsRetried: in this answer, "exceeded" is not about the texts.
func TestBrokenGatewayIsRetried(t *testing.T) {
	s := newServer(t, failing(0, 500, "Max retries exceeded with url"))
	mustEmbed(t, newEmbedder(t, s.URL, nil), embed.Document, texts(4))
	if diff := cmp.Diff([]int{4, 4}, s.batches()); diff != "" {
		t.Error(diff)
	}
}

// TestQuotaIsNotRetried: OpenAI answers 429 to an unpaid bill too.
func TestQuotaIsNotRetried(t *testing.T) {
	s := newServer(t, always(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`))
	_, err := newEmbedder(t, s.URL, nil).Embed(t.Context(), embed.Document, texts(1))
	checkError(t, err, "current quota")
	if n := len(s.requests()); n != 1 || pick(t, err).Retryable {
		t.Errorf("%d requests, error %v", n, err)
	}
}

func TestRetryWaitEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, always(503, ""))
	e := newEmbedder(t, s.URL, func(_ *openai.Config, o *openai.Options) {
		o.Sleep = func(ctx context.Context, _ time.Duration) error {
			cancel()
			return ctx.Err()
		}
	})
	_, err := e.Embed(ctx, embed.Document, texts(1))
	checkError(t, err, "http 503")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

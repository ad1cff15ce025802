package openai_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
)

func TestConnectionRefused(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	waited := new(pauses)
	e := newEmbedder(t, s.URL, func(_ *openai.Config, o *openai.Options) { o.Sleep = waited.sleep })
	_, err := e.Embed(t.Context(), embed.Document, texts(2))
	checkError(t, err, "texts[0:2]", "refused")
	if strings.Contains(err.Error(), "Post ") {
		t.Errorf("error %q repeats the request", err)
	}
	f := pick(t, err)
	if f.Status != 0 || !f.Retryable || !errors.Is(err, openai.ErrUnavailable) {
		t.Errorf("error %+v", f)
	}
	var op *net.OpError
	if !errors.As(err, &op) {
		t.Errorf("the cause of %v is lost", err)
	}
	if waited.list != nil {
		t.Errorf("waited %v for a server that is not there", waited.list)
	}
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		conn.Close()
	}
}

func TestServerHangsUp(t *testing.T) {
	for kind, want := range map[embed.Kind]int{embed.Document: 2, embed.Query: 1} {
		s := newServer(t, func(w http.ResponseWriter, n int, r request) {
			if n == 0 {
				hangUp(w)
				return
			}
			ok(w, r)
		})
		_, err := newEmbedder(t, s.URL, nil).Embed(t.Context(), kind, texts(1))
		if n := len(s.requests()); n != want || (err == nil) != (want == 2) {
			t.Errorf("kind %d: %d requests, error %v; want %d requests", kind, n, err, want)
		}
	}
}

// TestAnswerIsCutOff: the length of the answer is announced but not kept.
func TestAnswerIsCutOff(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ int, _ request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, `{"data":[`)
	})
	_, err := newEmbedder(t, s.URL, nil).Embed(t.Context(), embed.Query, texts(1))
	checkError(t, err, "unexpected EOF")
	if !errors.Is(err, openai.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

// stuck answers nothing until the test ends or the client hangs up.
func stuck(t *testing.T, started chan<- struct{}) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // so that the server notices when the client hangs up
		started <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return s
}

func TestCancelDuringRequest(t *testing.T) {
	started := make(chan struct{}, 1)
	s := stuck(t, started)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	vs, err := newEmbedder(t, s.URL, nil).Embed(ctx, embed.Document, texts(3))
	checkError(t, err)
	if !errors.Is(err, context.Canceled) || len(vs) != 0 {
		t.Errorf("%d vectors, error %v; want %v", len(vs), err, context.Canceled)
	}
}

func TestDeadlineOfContext(t *testing.T) {
	s := stuck(t, make(chan struct{}, 1))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := newEmbedder(t, s.URL, nil).Embed(ctx, embed.Query, texts(1))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
	if f := (*openai.Error)(nil); errors.As(err, &f) {
		t.Errorf("the caller's deadline is blamed on the server: %v", f)
	}
}

// TestTimeout: after a timeout, a server gets smaller batches of documents, but a query is
// not sent again.
func TestTimeout(t *testing.T) {
	for kind, want := range map[embed.Kind][]int{embed.Document: {4, 2, 1}, embed.Query: {4}} {
		release := make(chan struct{})
		s := newServer(t, func(http.ResponseWriter, int, request) { <-release })
		e := newEmbedder(t, s.URL, func(c *openai.Config, _ *openai.Options) { c.Timeout = 250 * time.Millisecond })
		_, err := e.Embed(t.Context(), kind, texts(4))
		close(release)
		checkError(t, err, "no answer within 250ms")
		if f := pick(t, err); !f.Retryable || !errors.Is(err, openai.ErrUnavailable) {
			t.Errorf("error %+v", f)
		}
		if diff := cmp.Diff(want, s.batches()); diff != "" {
			t.Errorf("kind %d: %s", kind, diff)
		}
	}
}

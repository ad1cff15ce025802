package openai_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
)

// pick returns the error as the package's type.
func pick(t *testing.T, err error) *openai.Error {
	t.Helper()
	var e *openai.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T) is no *openai.Error", err, err)
	}
	return e
}

func TestPermanentErrors(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		change func(*openai.Config, *openai.Options)
		want   []string
	}{
		{"wrong key", 401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `."}}`, nil,
			[]string{"http 401", "Incorrect API key provided: [secret].", "check the key in REPERTOIRE_TEST_KEY"}},
		{"no key", 403, `Forbidden`, func(c *openai.Config, _ *openai.Options) { c.KeyEnv = "-" },
			[]string{"http 403", "Forbidden", "no key was sent"}},
		{"default key not set", 401, ``, func(c *openai.Config, _ *openai.Options) { c.KeyEnv = "" },
			[]string{"http 401", "OPENAI_API_KEY is not set"}},
		{"no model", 404, `{"error":{"message":"model \"some-model\" not found, try pulling it first"}}`, nil,
			[]string{"http 404", "try pulling it", "does the server have this model?"}},
		{"no /v1", 404, `404 page not found`, func(c *openai.Config, _ *openai.Options) { c.BaseURL = strings.TrimSuffix(c.BaseURL, "/v1") },
			[]string{"http 404", "page not found", "usually ends in /v1"}},
		{"wrong path", 405, ``, nil, []string{"http 405", "no message", "check the base URL"}},
		{"matryoshka", 400, `{"object":"error","message":"does not support matryoshka representation","code":400}`, nil,
			[]string{"http 400", "matryoshka"}},
		{"header echoed", 400, `bad token s3cret-header-token`, func(c *openai.Config, _ *openai.Options) {
			c.Headers = map[string]string{"X-Auth": "Token s3cret-header-token", "X-Start": "s3cret-h"}
		}, []string{"bad token [secret]"}},
		{"control characters", 400, "\x1b[31mred\x07\r\n\u202eback", nil, []string{": [31mred back"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("OPENAI_API_KEY", "")
			s := newServer(t, always(tt.status, tt.body))
			_, err := newEmbedder(t, s.URL, tt.change).Embed(t.Context(), embed.Document, texts(2))
			checkError(t, err, tt.want...)
			f := pick(t, err)
			if f.Status != tt.status || f.Model != "some-model" || f.Retryable || errors.Is(err, openai.ErrUnavailable) {
				t.Errorf("error %+v", f)
			}
			if n := len(s.requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestMessageIsShort(t *testing.T) {
	for _, body := range []string{strings.Repeat("é", 5000), strings.Repeat("x", 195) + testKey, `{"error":"` + strings.Repeat(testKey+" ", 99) + `"}`} {
		s := newServer(t, always(418, body))
		_, err := newEmbedder(t, s.URL, nil).Embed(t.Context(), embed.Query, texts(1))
		checkError(t, err, "http 418")
		if n := len([]rune(pick(t, err).Message)); n > 250 {
			t.Errorf("message of %d characters", n)
		}
		if strings.Contains(err.Error(), testKey[:5]) {
			t.Errorf("error %q holds a part of the key", err)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		other := newServer(t, func(w http.ResponseWriter, _ int, r request) { ok(w, r) })
		s := newServer(t, func(w http.ResponseWriter, _ int, _ request) {
			w.Header().Set("Location", other.URL+"/v1/embeddings?key="+testKey)
			w.WriteHeader(status)
		})
		e := newEmbedder(t, s.URL, func(_ *openai.Config, o *openai.Options) {
			o.HTTPClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
		})
		_, err := e.Embed(t.Context(), embed.Document, texts(1))
		checkError(t, err, fmt.Sprintf("http %d", status), "redirect to "+other.URL+" refused")
		if n := len(other.requests()); n != 0 {
			t.Errorf("%d: the other host got %d requests", status, n)
		}
	}
}

func TestAzureKeyByHost(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ int, r request) { ok(w, r) })
	e := newEmbedder(t, "", func(c *openai.Config, o *openai.Options) {
		c.BaseURL, c.AllowInsecure = "http://r.openai.azure.com", true
		o.HTTPClient = &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
			},
		}}
	})
	mustEmbed(t, e, embed.Query, []string{"x"})
	r := s.requests()[0]
	if r.Path != "/openai/v1/embeddings" || r.Header.Get("Api-Key") != testKey || r.Header.Get("Authorization") != "" {
		t.Errorf("path %s, header %v", r.Path, r.Header)
	}
}

// TestNothingIsLogged: the package and net/http are silent about a failing
// request. Not parallel: the standard logger belongs to the process.
func TestNothingIsLogged(t *testing.T) {
	var out strings.Builder
	defer log.SetOutput(log.Writer())
	log.SetOutput(&out)
	s := newServer(t, always(401, testKey))
	_, err := newEmbedder(t, s.URL, nil).Embed(t.Context(), embed.Document, texts(1))
	checkError(t, err, "[secret]")
	if out.Len() > 0 {
		t.Errorf("logged %q", out.String())
	}
}

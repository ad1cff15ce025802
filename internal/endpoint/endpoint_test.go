package endpoint_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/must"
)

func TestParseBase(t *testing.T) {
	const secret = "hunter22"
	for _, tt := range []struct{ raw, want, err string }{
		{"HTTP://LocalHost:80/V1/", "http://localhost:80/V1/", ""},
		{" https://host/v1?version=2 ", "https://host/v1?version=2", ""},
		{"http://host/v1?", "http://host/v1", ""},
		{"", "", "base URL is empty"},
		{"host/v1", "", "base URL does not start with http:// or https://"},
		{"file:///etc", "", "base URL does not start with http:// or https://"},
		{"http:///v1", "", "base URL has no host"},
		{"http://u:" + secret + "@[::1/v1", "", "base URL is malformed"},
		{"http://" + secret + "@host", "", "base URL holds a user or password; name a variable for the key instead"},
		{"http://host/#" + secret, "", "base URL has a fragment"},
		{"http://host/?key=" + secret, "", "base URL has a query other than version"},
	} {
		u, err := endpoint.ParseBase(tt.raw, "version")
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: error %v, want %s", tt.raw, err, tt.err)
			}
		} else if err != nil || u.String() != tt.want {
			t.Errorf("%q: %v, %v; want %s", tt.raw, u, err, tt.want)
		}
	}
	if _, err := endpoint.ParseBase("http://host/?a=b"); err == nil || err.Error() != "base URL has a query" {
		t.Errorf("error %v", err)
	}
}

func TestExposed(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://localhost:1": false, "http://a.localhost": false, "http://127.0.0.2": false, "http://[::1]:80/": false,
		"https://192.0.2.1": false, "http://192.0.2.1": true, "http://localhost.example.org": true,
	} {
		u, err := url.Parse(raw)
		must.Do(t, err)
		if got := endpoint.Exposed(u); got != want {
			t.Errorf("%s: exposed %v, want %v", raw, got, want)
		}
	}
}

func TestReadKey(t *testing.T) {
	t.Setenv("REPERTOIRE_TEST_KEY", " sk-1 \n")
	t.Setenv("REPERTOIRE_TEST_BAD", "sk\n1")
	for _, tt := range []struct{ name, want, err string }{
		{"REPERTOIRE_TEST_KEY", "sk-1", ""},
		{"REPERTOIRE_TEST_UNSET", "", ""},
		{"REPERTOIRE_TEST_BAD", "", "the key in REPERTOIRE_TEST_BAD holds characters that no key has"},
		{"sk-1", "", "is it the key itself?"},
	} {
		key, err := endpoint.ReadKey(tt.name, false)
		if key != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %q, %s", tt.name, key, err, tt.want, tt.err)
		}
		if err != nil && strings.Contains(err.Error(), "sk-1") {
			t.Errorf("error %q repeats the key", err)
		}
	}
}

// TestSend reads answers of 4 bytes: below, at and above the limit.
func TestSend(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "http://elsewhere.example/secret")
		w.WriteHeader(http.StatusFound)
		w.Write([]byte("body"))
	}))
	defer s.Close()
	client := endpoint.Client(&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }})
	for limit, want := range map[int]string{5: "body", 4: "body", 3: "bod"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL, nil)
		must.Do(t, err)
		a, err := endpoint.Send(&client, req, limit)
		must.Do(t, err)
		if string(a.Body) != want || a.Cut != (limit < 4) || a.OK() {
			t.Errorf("limit %d: %q, cut %v, OK %v", limit, a.Body, a.Cut, a.OK())
		}
		if got := a.Message(); got != "redirect to http://elsewhere.example refused" {
			t.Errorf("message %q", got)
		}
	}
}

func TestMessage(t *testing.T) {
	for body, want := range map[string]string{
		"":                                "no message",
		" <html>":                         "an HTML page",
		"plain":                           "plain",
		`{"error":{"message":"a"}}`:       "a",
		`{"error":"b"}`:                   "b",
		`{"message":"c","code":3}`:        "c",
		`{"detail":[{"loc":[],"msg":1}]}`: `{"detail":[{"loc":[],"msg":1}]}`,
		`{"detail":[{"msg":"d"}]}`:        "d",
	} {
		if got := endpoint.Message([]byte(body)); got != want {
			t.Errorf("%s: message %q, want %q", body, got, want)
		}
	}
}

func FuzzMessage(f *testing.F) {
	for _, body := range []string{"", "<p>", `{"error":{"message":"a\u001b[31m"}}`, `[["x"]]`, "é\xff\u202e", strings.Repeat("日", 300)} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		text := endpoint.Tidy(endpoint.Message(body))
		if n := len([]rune(text)); n > 201 {
			t.Errorf("a message of %d characters", n)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("message %q", text)
		}
	})
}

package apiclient_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/apiclient"
	"github.com/repertoire-skills/repertoire/internal/must"
)

const secret = "sk-7f3a91c2d4e5"

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		raw      string
		insecure bool
		want     string
		err      string
	}{
		{"https://skills.example.com", false, "https://skills.example.com", ""},
		{"https://skills.example.com/mcp", false, "https://skills.example.com", ""},
		{"https://example.com/tools/mcp/", false, "https://example.com/tools", ""},
		{"http://127.0.0.1:8080/", false, "http://127.0.0.1:8080", ""},
		{"http://skills.example.com", true, "http://skills.example.com", ""},
		{"http://skills.example.com", false, "", "--insecure"},
		{"", false, "", "the URL of the server is empty"},
		{"skills.example.com", false, "", "does not start with"},
		{"https://u:" + secret + "@example.com", false, "", "holds a user or password"},
		{"https://example.com/?token=" + secret, false, "", "has a query"},
	} {
		u, err := apiclient.Parse(tt.raw, tt.insecure)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v, want %s", tt.raw, err, tt.err)
			}
		} else if err != nil || u.String() != tt.want {
			t.Errorf("%q: %v, %v; want %s", tt.raw, u, err, tt.want)
		}
	}
}

// TestSuggest: the server gets the prompt with the token, and a working folder only on this
// machine. No error holds the token.
func TestSuggest(t *testing.T) {
	t.Setenv("APICLIENT_TOKEN", secret)
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"block":"b","skills":[{"name":"cat","probability":0.5}],"new":1}`))
	}
	var got api.Prompt
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base"+api.Path || r.Header.Get("Authorization") != "Bearer "+secret || json.NewDecoder(r.Body).Decode(&got) != nil {
			t.Errorf("request %s with %q", r.URL, r.Header)
		}
		answer(w, r)
	}))
	defer srv.Close()
	c, err := apiclient.New(srv.URL+"/base/mcp", &apiclient.Options{TokenEnv: "APICLIENT_TOKEN"})
	must.Do(t, err)
	s, err := c.Suggest(t.Context(), api.Prompt{Text: "feed", Dir: "/home/me"})
	if err != nil || s.Block != "b" || len(s.Skills) != 1 || s.Skills[0].Name != "cat" || got.Text != "feed" || got.Dir != "/home/me" {
		t.Errorf("%+v, %v; the server got %+v", s, err, got)
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "no token "+secret, http.StatusUnauthorized)
		}, ": no token [secret] (check the key in APICLIENT_TOKEN)"},
		"not found": {http.NotFound, "status 404: 404 page not found (is it a server of this program?)"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusTemporaryRedirect)
		}, "status 307: redirect to https://elsewhere.example refused"},
		"no JSON":     {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }, "the answer is not that of a server of this program"},
		"far too big": {func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2<<20)) }, "the answer is longer than"},
	} {
		answer = tt.answer
		_, err := c.Suggest(t.Context(), api.Prompt{Text: "feed"})
		start := "asking 127.0.0.1:"
		if name == "refused" {
			start = "refused by 127.0.0.1:"
		}
		if err == nil || !strings.HasPrefix(err.Error(), start) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		if status, ok := errors.AsType[*apiclient.StatusError](err); ok != (name == "refused" || strings.HasPrefix(tt.want, "status")) || ok && status.Status == 0 {
			t.Errorf("%s: %#v", name, err)
		}
	}
	t.Setenv("APICLIENT_TOKEN", "")
	if _, err := c.Suggest(t.Context(), api.Prompt{}); err == nil || !strings.Contains(err.Error(), "APICLIENT_TOKEN for the key is not set") {
		t.Errorf("without a token: %v", err)
	}
}

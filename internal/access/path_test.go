package access_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestCutSecret: a secret in a path is cut off whole, whatever characters it has, and what is left is
// the request as if there had been none.
func TestCutSecret(t *testing.T) {
	for _, tt := range []struct{ path, secret, rest string }{
		{access.WithSecret("repertoire_ABC") + "/search?q=x", "repertoire_ABC", "/search?q=x"},
		{access.WithSecret("a/b c%?#ä") + "/agents/urn%3Aair%3Aa%2Fb", "a/b c%?#ä", "/agents/urn%3Aair%3Aa%2Fb"},
		{"/t/x", "x", "/"},
		{"/t/x/", "x", "/"},
		{"/t/x//y", "x", "//y"},
		{"/t/x/t/y/z", "x", "/t/y/z"},
		{"/t/", "", "/t/"},
		{"/t//search", "", "/t//search"},
		{"/t", "", "/t"},
		{"/t/mcp", "", "/t/mcp"},
		{"/search", "", "/search"},
		{"/T/x/search", "", "/T/x/search"},
	} {
		u, err := url.Parse("http://127.0.0.1" + tt.path)
		must.Do(t, err)
		r := &http.Request{URL: u, RequestURI: tt.path}
		secret, rest, ok := access.CutSecret(r)
		if secret != tt.secret || ok != (tt.secret != "") || rest.URL.RequestURI() != tt.rest || rest.RequestURI != tt.rest {
			t.Errorf("%s: %q, %s and %s; want %q, %s", tt.path, secret, rest.URL.RequestURI(), rest.RequestURI, tt.secret, tt.rest)
		}
		if r.URL.RequestURI() != tt.path {
			t.Errorf("%s has become %s", tt.path, r.URL.RequestURI())
		}
		if tt.secret != "" && len(tt.secret) > 1 && strings.Contains(rest.URL.String()+rest.RequestURI, tt.secret) {
			t.Errorf("%s: the secret is left in %s", tt.path, rest.URL)
		}
	}
}

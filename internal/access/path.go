package access

import (
	"net/http"
	"net/url"
	"strings"
)

// pathPrefix begins paths that hold a secret: /t/SECRET/…, for clients that cannot send a header.
const pathPrefix = "/t/"

// WithSecret returns the path of a server below which requests bear a secret.
func WithSecret(secret string) string { return pathPrefix + url.PathEscape(secret) }

// CutSecret returns the secret in the path of a request and the request as it is without, so that
// nothing behind it can log or repeat the secret. A path without one is not changed.
func CutSecret(r *http.Request) (secret string, rest *http.Request, ok bool) {
	after, ok := strings.CutPrefix(r.URL.EscapedPath(), pathPrefix)
	if !ok {
		return "", r, false
	}
	first, path, more := strings.Cut(after, "/")
	secret, err := url.PathUnescape(first)
	if err != nil || secret == "" || secret == "mcp" && !more { // an agent called t is served at /t/mcp
		return "", r, false
	}
	u := *r.URL
	u.RawPath = "/" + path
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return "", r, false // unreachable: the whole path was unescaped before
	}
	rest = new(http.Request)
	*rest = *r
	rest.URL, rest.RequestURI = &u, u.RequestURI()
	return secret, rest, true
}

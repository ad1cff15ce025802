package web

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// admit refuses requests that a page of another site makes in the name of a visitor.
func (s *Site) admit(r *http.Request) error {
	if s.opts.Key != "" && !isLocal(r.Host) {
		return &statusError{http.StatusForbidden, errors.New("open this page as localhost or 127.0.0.1")}
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return &statusError{http.StatusForbidden, errors.New("this request does not say which page it comes from, as browsers do")}
	}
	if err := new(http.CrossOriginProtection).Check(r); err != nil {
		return &statusError{http.StatusForbidden, errors.New("this request comes from another site")}
	}
	return nil
}

// isLocal reports whether a host is this machine by a name that nobody else can give to it.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// secure forbids a page all that it does not need: its scripts, styles and pictures are
// files of this site, and no other site may show it in a frame.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	// With no-referrer, browsers would not say in forms which site they are of.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

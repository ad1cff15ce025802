package web

import (
	"errors"
	"fmt"
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

// denied says why a visitor may not see a page or send its form, and what to do.
func (v *visit) denied(p *page) error {
	o := v.site.opts
	switch {
	case p.whole && v.scope != nil && (o.Key != "" || o.Agent != nil):
		return fmt.Errorf("%s is about the whole catalog, and this server shows what agent %s may see; whoever starts it without --agent can open it", p.title, v.scope.Name)
	case p.whole && v.scope != nil:
		return fmt.Errorf("%s is about the whole catalog, and your token is for what agent %s may see; ask the owner of the catalog for a token without an agent", p.title, v.scope.Name)
	case o.Open:
		return fmt.Errorf("%s is for people who are known, and this server asks nobody for a token; its owner makes one with \"skills token add NAME\"", p.title)
	case !v.known():
		return fmt.Errorf("%s is for people who are known; sign in with a token, which the owner of the catalog makes with \"skills token add NAME\"", p.title)
	case o.Reviewer == "":
		return fmt.Errorf("%s is for whoever decides on proposals, and nobody does on this page, because the server has no --reviewer; its owner decides with \"skills proposals\"", p.title)
	}
	return fmt.Errorf("%s is for those who decide on proposals, and your token does not let you decide; ask the owner of the catalog for one that does", p.title)
}

package mcpserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// A guard decides which requests are let in. A web page can make a browser on this
// machine call the server, under a host name that the page's owner has pointed to this
// machine. So the guard checks the host name in each request and the origin of the
// page.
type guard struct {
	hosts   map[string]bool
	origins map[string]bool
}

func newGuard(hosts, origins []string) (guard, error) {
	g := guard{hosts: make(map[string]bool), origins: make(map[string]bool)}
	for _, host := range hosts {
		name := hostOf(host)
		if name == "" || strings.ContainsAny(host, "/*@ ") {
			return g, fmt.Errorf("host %q is not a name such as skills.example.com", host)
		}
		g.hosts[name] = true
	}
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || strings.Contains(u.Host, "*") {
			return g, fmt.Errorf("origin %q is not a scheme and a host such as https://app.example.com:8443", origin)
		}
		g.origins[strings.ToLower(u.Scheme+"://"+u.Host)] = true
	}
	return g, nil
}

// hostOf returns a host without its port, in lower case.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// admit checks the host that a request calls and the page that it comes from. For an
// allowed page it sets the headers that let the browser call. An error comes with a
// one-word reason for the metrics.
func (g *guard) admit(w http.ResponseWriter, r *http.Request) (reason string, err error) {
	if !g.knows(r) {
		return "host", errors.New("the Host of the request is not one of this server; --allow-host allows another")
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return "", nil
	}
	origin := strings.ToLower(origins[0])
	if len(origins) > 1 || !g.origins[origin] && origin != "http://"+strings.ToLower(r.Host) && origin != "https://"+strings.ToLower(r.Host) {
		return "origin", errors.New("web pages of this Origin may not call the server; --allow-origin allows one")
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origins[0])
	header.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, Retry-After")
	header.Add("Vary", "Origin")
	if r.Method == http.MethodOptions {
		header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		header.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id")
		header.Set("Access-Control-Max-Age", "600")
	}
	return "", nil
}

// knows reports whether a request calls this server by its own name: a configured
// host, localhost, or the address at which the request arrived, which unlike a name
// nobody else can point to this machine.
func (g *guard) knows(r *http.Request) bool {
	host := hostOf(r.Host)
	if g.hosts[host] {
		return true
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	local, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return false
	}
	here := local.Addr().Unmap()
	called, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return host == "localhost" && here.IsLoopback()
	case called.IsLoopback():
		return here.IsLoopback()
	}
	return called.Unmap() == here.WithZone("")
}

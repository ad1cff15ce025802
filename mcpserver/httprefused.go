package mcpserver

import (
	"errors"
	"net/http"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// noteRefused notes that a request is refused.
func (h *HTTP) noteRefused(r *http.Request, reason string, status int) {
	f := access.Refusal{Reason: reason, Status: status, Path: h.shownPath(r), Address: addressOf(r.RemoteAddr).String()}
	if who, ok := r.Context().Value(identityKey{}).(identity); ok && who.err == nil { // else its token was not looked at
		f.Caller, f.Agent = who.caller.Name, who.caller.Agent
	}
	h.note(f)
}

// noteEnded notes that a session of a client has ended for a new one.
func (h *HTTP) noteEnded(client string) {
	f := access.Refusal{Reason: "sessions", Address: client}
	if name, ok := strings.CutPrefix(client, callerPrefix); ok {
		f.Caller, f.Address = name, ""
	}
	h.note(f)
}

// note counts a refusal, and tells Options.Refused of it.
func (h *HTTP) note(f access.Refusal) {
	h.opts.Metrics.refuse(f.Reason)
	if h.opts.Refused != nil {
		h.opts.Refused(f)
	}
}

// noteRefusedPage is noteRefused for a status with which the page, which checks by itself who may see
// what, has answered.
func (h *HTTP) noteRefusedPage(r *http.Request, status int) {
	who, reason := identityOf(r), ""
	switch {
	case status == http.StatusRequestEntityTooLarge:
		reason = "size"
	case status == http.StatusForbidden && who.err != nil && !errors.Is(who.err, access.ErrRefused):
		reason = "origin" // to those who are not signed in, the page refuses only forms of other sites
	case status == http.StatusForbidden:
		reason = "scope"
	case status == http.StatusUnauthorized && who.secret == "" && r.Method != http.MethodPost:
		reason = "no token"
	case status == http.StatusUnauthorized:
		reason = "token"
	default:
		return
	}
	h.noteRefused(r, reason, status)
}

// longName is the length of the longest part of a path that is shown in a log. A token, which somebody
// may take for a part of the path, is longer.
const longName = 24

// shownPath returns the path of a request for a log. Where nothing is served it may hold anything.
func (h *HTTP) shownPath(r *http.Request) string {
	at := r.URL.Path
	known := h.forRegistry(r) || h.opts.UI != nil && strings.HasPrefix(at, "/ui/") || strings.HasPrefix(at, "/mcp/") || strings.HasSuffix(at, "/mcp")
	if _, pattern := h.mux.Handler(r); !known && strings.Contains(pattern+"{", "/{") {
		return "/…"
	}
	parts := strings.Split(at, "/")
	for i, part := range parts {
		if len(part) > longName && h.scopes[part] == nil { // a scope may have a long name
			parts[i] = "…"
		}
	}
	return tidy.Cut(tidy.Clean(strings.Join(parts, "/")), 200)
}

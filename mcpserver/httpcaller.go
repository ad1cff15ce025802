package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/api"
)

// An identity is what a request says of who has sent it.
type identity struct {
	given  bool // the request bears a token
	secret string
	path   string // that bears the token; "" if a header does
	caller access.Caller
	err    error // why the request may see nothing; nil means that it may
}

// identityKey is the context key of the identity of a request.
type identityKey struct{}

// identityOf returns the identity of a request, which ServeHTTP has found out.
func identityOf(r *http.Request) identity { return r.Context().Value(identityKey{}).(identity) }

// identify finds out who has sent a request, whose path had this secret.
func (h *HTTP) identify(r *http.Request, secret string, inPath bool) (who identity) {
	scheme, bearer, found := strings.Cut(r.Header.Get("Authorization"), " ")
	if inPath {
		who.given, who.secret, who.path = true, secret, access.WithSecret(secret)
	} else if found && strings.EqualFold(scheme, "Bearer") {
		who.given, who.secret = true, strings.TrimSpace(bearer)
	} else if h.opts.UIToken != nil && strings.HasPrefix(r.URL.Path, "/ui/") {
		who.secret = h.opts.UIToken(r)
	}
	if h.check != nil {
		who.caller, who.err = h.check.Check(r.Context(), who.secret)
	}
	if !who.given && h.opts.Public != "" && h.forRegistry(r) {
		who.caller, who.err = access.Caller{Agent: h.opts.Public}, nil
	}
	return who
}

// client returns who a request counts for in limits: a caller with a name, or else an
// address.
func (who identity) client(remote string) string {
	if who.err == nil && who.caller.Name != "" {
		return callerPrefix + who.caller.Name
	}
	return addressOf(remote).String()
}

// callerPrefix makes the name of a caller differ from all addresses.
const callerPrefix = "caller "

// authorized returns who has sent a request. If nobody whom the server knows, it answers the
// request and ok is false.
func (h *HTTP) authorized(w http.ResponseWriter, r *http.Request) (who identity, ok bool) {
	who = identityOf(r)
	switch {
	case who.err == nil:
		return who, true
	case errors.Is(who.err, access.ErrRefused):
		h.challenge(w, r, `error="insufficient_scope"`)
		h.refuse(w, r, "scope", http.StatusForbidden, access.ErrRefused)
	case errors.Is(who.err, access.ErrUnknown) && who.given:
		h.challenge(w, r, `error="invalid_token"`)
		h.refuse(w, r, "token", http.StatusUnauthorized, errors.New("a bearer token is needed, and this one is not known or has expired"))
	case errors.Is(who.err, access.ErrUnknown) || !who.given:
		h.challenge(w, r, "")
		h.refuse(w, r, "no token", http.StatusUnauthorized, errors.New("a bearer token is needed"))
	default:
		h.opts.Logger.Warn("a token cannot be checked", "error", who.err)
		w.Header().Set("Retry-After", "1")
		h.refuse(w, r, "unchecked", http.StatusServiceUnavailable, errors.New("tokens cannot be checked now; try again"))
	}
	return who, false
}

// challenge says which kind of token is needed, and where clients find out who gives one.
func (h *HTTP) challenge(w http.ResponseWriter, r *http.Request, problem string) {
	list := []string{`Bearer realm="skills"`}
	if problem != "" {
		list = append(list, problem)
	}
	if h.opts.Issuer != "" {
		path := strings.TrimSuffix(r.URL.EscapedPath(), "/")
		list = append(list, fmt.Sprintf("resource_metadata=%q", h.publicURL(r)+metadataPath+path))
	}
	w.Header().Set("WWW-Authenticate", strings.Join(list, ", "))
}

const metadataPath = "/.well-known/oauth-protected-resource"

// publicURL returns the URL of the server as clients see it.
func (h *HTTP) publicURL(r *http.Request) string {
	if h.opts.PublicURL != "" {
		return strings.TrimSuffix(h.opts.PublicURL, "/")
	}
	return "http://" + r.Host
}

// serveMetadata tells clients who gives tokens for a path of the server (RFC 9728). It says
// the same of paths that are served and of others, so nobody learns which scopes there are.
func (h *HTTP) serveMetadata(w http.ResponseWriter, r *http.Request) {
	resource := h.publicURL(r) + strings.TrimSuffix(strings.TrimPrefix(r.URL.EscapedPath(), metadataPath), "/")
	auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: resource, AuthorizationServers: []string{h.opts.Issuer},
		BearerMethodsSupported: []string{"header"}, ResourceName: "Skills",
	}).ServeHTTP(w, r)
}

// withCaller tells the protocol library the name of the caller of a request, so that a session
// belongs to the caller that began it, and whose scope its token shows, see proposals.mayDecide.
func withCaller(next http.Handler) http.Handler {
	verify := func(_ context.Context, _ string, r *http.Request) (*auth.TokenInfo, error) {
		caller := identityOf(r).caller
		return &auth.TokenInfo{UserID: caller.Name, Scopes: []string{caller.Agent}}, nil
	}
	withName := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if identityOf(r).caller.Name != "" {
			withName.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// scope returns the scope that a request may see: a name narrows the scope of the caller, and
// never widens it. If there is none, scope answers the request and returns nil.
func (h *HTTP) scope(w http.ResponseWriter, r *http.Request, name string) (sc *scope) {
	switch agent := identityOf(r).caller.Agent; {
	case agent == "":
		sc = h.scopes[name]
	case name == "" || name == agent: // any other name is as if there were no such agent
		if sc = h.scopes[agent]; sc == nil {
			h.refuse(w, r, "scope", http.StatusForbidden, fmt.Errorf("the token is for the agent %s, which is not served here", quoted(agent)))
			return nil
		}
	}
	if sc == nil {
		h.noteRefused(r, "scope", http.StatusNotFound)
	}
	switch {
	case sc != nil:
	case r.URL.Path == api.Path:
		http.Error(w, fmt.Sprintf("no agent %s is served to you here", quoted(name)), http.StatusNotFound)
	default:
		h.serveNothing(w, r)
	}
	return sc
}

// recheck checks the token of a stream every second, and ends the stream if the token does not
// count any more. The returned function stops that.
func (h *HTTP) recheck(r *http.Request, who identity, end func()) (stop func()) {
	if h.check == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-done:
				return
			case <-r.Context().Done():
				return
			case <-every.C:
			}
			now, err := h.check.Check(r.Context(), who.secret)
			if now != who.caller && err == nil || errors.Is(err, access.ErrUnknown) || errors.Is(err, access.ErrRefused) {
				end()
				return
			}
		}
	}()
	return func() { close(done) }
}

// whole reports whether a caller may see the whole catalog, and so figures about it. If not,
// it answers the request.
func (h *HTTP) whole(w http.ResponseWriter, r *http.Request) bool {
	who, ok := h.authorized(w, r)
	if ok && who.caller.Agent != "" {
		h.refuse(w, r, "scope", http.StatusForbidden, errors.New("a token for the whole catalog is needed"))
		return false
	}
	return ok
}

package web

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/access"
)

// A door lets in the browser that brings the key of the owner. Its first use makes a
// session, of which the browser keeps a cookie.
//
// Other users of the machine may see the key, because it is an argument of the browser's
// process. If one of them is faster, the owner's own browser finds the key used: then the
// session ends.
type door struct {
	key string

	mu      sync.Mutex
	used    bool
	session string // "" before the key is used, and after it was used twice
}

// open returns a new session for a key.
func (d *door) open(key string) (session string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !same(key, d.key):
		return "", errors.New("this is not the address that \"skills web\" printed last; run it again")
	case d.used:
		d.session = ""
		return "", errors.New("this address works once, and it was used before. So that nobody else stays signed in, everybody is signed out; run \"skills web\" again")
	}
	d.used, d.session = true, rand.Text()
	return d.session, nil
}

// knows reports whether a session is the one that is open.
func (d *door) knows(session string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session != "" && same(session, d.session)
}

// same compares secrets in a time that says nothing about them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// visit returns a visit of somebody who may see as much as anybody.
func (s *Site) visit(r *http.Request) *visit {
	v := &visit{Request: r, site: s, scope: s.opts.Agent}
	if v.scope != nil {
		if now, err := s.catalog.Agent(v.scope.Name); err == nil { // its pins may have changed
			v.scope = now
		}
	}
	return v
}

// enter returns a visit if the visitor may see the site. If not, it answers the request.
func (s *Site) enter(w http.ResponseWriter, r *http.Request) (*visit, bool) {
	v := s.visit(r)
	secret := Token(r)
	switch {
	case s.opts.Key != "":
		return v, s.enterByKey(w, v, secret)
	case s.opts.Check != nil:
		return v, s.enterByToken(w, v, secret)
	}
	return v, true
}

func (s *Site) enterByKey(w http.ResponseWriter, v *visit, session string) bool {
	key := ""
	if v.Method == http.MethodGet {
		key = v.URL.Query().Get("key")
	}
	known := s.door.knows(session)
	switch {
	case known && key == "":
		v.owner = true
		return true
	case !known && key == "":
		s.askIn(w, v, "")
		return false
	case !known:
		session, err := s.door.open(key)
		if err != nil {
			s.opts.Logger.Warn("signing in", "error", err)
			s.fail(w, v, &statusError{http.StatusForbidden, err})
			return false
		}
		s.remember(w, v.Request, session)
	}
	http.Redirect(w, v.Request, withoutKey(v.Request), http.StatusSeeOther)
	return false
}

// enterByToken lets in the bearer of a token. Without one, the check decides too: it may let in
// everybody.
func (s *Site) enterByToken(w http.ResponseWriter, v *visit, token string) bool {
	err := v.identify(token)
	v.signedIn = err == nil && token != ""
	switch {
	case errors.Is(err, access.ErrUnknown) && token == "":
		s.askIn(w, v, "")
	case errors.Is(err, access.ErrUnknown):
		s.remember(w, v.Request, "")
		s.askIn(w, v, err.Error())
	case err != nil:
		s.fail(w, v, err)
	}
	return err == nil
}

// identify finds out who bears a token, and what they may see. If nobody does, the error
// wraps access.ErrUnknown.
func (v *visit) identify(token string) error {
	caller, err := v.site.opts.Check.Check(v.Context(), token)
	switch {
	case errors.Is(err, access.ErrUnknown):
		return err
	case errors.Is(err, access.ErrRefused):
		return &statusError{http.StatusForbidden, fmt.Errorf("%w; ask the owner of the catalog for another", access.ErrRefused)}
	case err != nil:
		v.site.opts.Logger.Warn("a token cannot be checked", "error", err)
		return &statusError{http.StatusServiceUnavailable, errors.New("tokens cannot be checked now; try again in a moment")}
	}
	only := v.scope
	v.name = caller.Name
	if caller.Agent != "" {
		v.scope, err = v.site.catalog.Agent(caller.Agent)
	}
	if err != nil || only != nil && v.scope.Name != only.Name {
		v.site.opts.Logger.Warn("this token is for an agent that is not served", "caller", caller.Name, "agent", caller.Agent)
		return &statusError{http.StatusForbidden, errors.New("this token is for an agent that is not served here; ask the owner of the catalog")}
	}
	v.owner = token != "" && v.scope != nil && v.scope.Name == v.site.opts.Reviewer && (caller.Name == "" || caller.Agent == v.scope.Name)
	return nil
}

// signIn checks the token of the form, which the browser keeps as a cookie from then on, so
// that each node of a server knows it.
func (s *Site) signIn(w http.ResponseWriter, r *http.Request) {
	v := s.visit(r)
	token := strings.TrimSpace(r.PostFormValue("token"))
	err := access.ErrUnknown
	if token != "" {
		err = v.identify(token)
	}
	switch {
	case errors.Is(err, access.ErrUnknown):
		s.askIn(w, v, err.Error())
	case err != nil:
		s.fail(w, v, err)
	default:
		s.remember(w, r, token)
		http.Redirect(w, r, s.next(r), http.StatusSeeOther)
	}
}

func (s *Site) signOut(w http.ResponseWriter, r *http.Request) {
	s.remember(w, r, "")
	http.Redirect(w, r, s.opts.Prefix, http.StatusSeeOther)
}

// next returns the address that a form wants to go to, if it is one of this site.
func (s *Site) next(r *http.Request) string {
	u, err := url.Parse(r.PostFormValue("next"))
	if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(u.Path, s.opts.Prefix) || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return s.opts.Prefix
	}
	address := url.URL{Path: u.Path, RawQuery: u.RawQuery}
	return address.String()
}

// askIn answers a visitor who is not signed in. problem says why the last token was no good.
func (s *Site) askIn(w http.ResponseWriter, v *visit, problem string) {
	// A browser sends no cookies when somebody follows a link from elsewhere, but does when
	// the page itself goes there again.
	if v.Method == http.MethodGet && v.Header.Get("Sec-Fetch-Site") == "cross-site" {
		w.Header().Set("Refresh", "0")
	}
	data := struct {
		Form          bool
		Next, Problem string
	}{s.opts.Check != nil, "", problem}
	switch {
	case v.Method == http.MethodGet:
		data.Next = v.URL.RequestURI()
	case data.Form: // without one, nothing that strangers send is read
		data.Next = v.PostFormValue("next")
	}
	p := page{name: "signin", title: "Sign in"}
	s.write(w, v, &p, answer{data: data}, http.StatusUnauthorized)
}

// withoutKey returns the address of a request without the key.
func withoutKey(r *http.Request) string {
	q := r.URL.Query()
	q.Del("key")
	u := url.URL{Path: r.URL.Path, RawQuery: q.Encode()}
	return u.String()
}

// cookieName returns the name of the cookie. It has the port, because all servers of a host
// share their cookies.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "skills-" + port
	}
	return "skills"
}

// remember makes the browser keep a secret until it ends; "" makes it forget.
func (s *Site) remember(w http.ResponseWriter, r *http.Request, secret string) {
	c := &http.Cookie{
		Name: cookieName(r), Value: base64.RawURLEncoding.EncodeToString([]byte(secret)), Path: s.opts.Prefix, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
	if secret == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// Token returns the secret that a browser keeps for a Site; "" means none. Nobody has checked
// it.
func Token(r *http.Request) string {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	secret, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return ""
	}
	return string(secret)
}

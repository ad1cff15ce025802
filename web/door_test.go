package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/web"
)

// TestKey: the key of the owner lets in the first browser that brings it, and whoever brings
// it again signs everybody out.
func TestKey(t *testing.T) {
	k := open(t, few(), func(_ *repertoire.Config, o *web.Options) { o.Prefix = "/x1/" })
	cookie := k.cookies[0]
	if !cookie.HttpOnly || cookie.Path != "/x1/" || cookie.SameSite != 3 || cookie.Secure || cookie.Value == testKey {
		t.Errorf("the cookie is %v", cookie)
	}
	k.get("").is(200).has("<h1>What would be offered?</h1>")
	k.get("", "key", testKey).is(303) // the same browser may
	k.get("").is(200)

	mine := k.cookies
	k.cookies = nil
	k.get("").is(401).lacks("pdf-forms", "<nav")
	k.post("", "q", "fill in the PDF form").is(401).lacks("pdf-forms")
	k.get("", "key", "guess").is(403)
	k.cookies = mine
	k.get("").is(200)

	k.cookies = nil
	k.get("", "key", testKey).is(403).has("works once")
	k.cookies = mine
	k.get("").is(401)
}

// TestKeyAtOnce: of many browsers that bring the key at once, one is let in, and none stays.
func TestKeyAtOnce(t *testing.T) {
	k := open(t, nil)
	site, err := web.New(k.catalog, &web.Options{Key: testKey})
	must.Do(t, err)
	var let atomic.Int32
	var browsers sync.WaitGroup
	for range 20 {
		browsers.Go(func() {
			r := httptest.NewRequest("GET", "/?key="+testKey, nil)
			r.Host = "localhost"
			w := httptest.NewRecorder()
			site.ServeHTTP(w, r)
			if w.Code != 303 {
				return
			}
			let.Add(1)
			k.cookies = w.Result().Cookies()
		})
	}
	browsers.Wait()
	k.site = site
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "localhost"
	if p := k.do(r); let.Load() != 1 || p.Code != 401 {
		t.Errorf("%d browsers are let in, and the first then gets %d", let.Load(), p.Code)
	}
}

// bearers knows tokens by their secrets.
type bearers map[string]access.Caller

func (b bearers) Check(_ context.Context, secret string) (access.Caller, error) {
	if caller, ok := b[secret]; ok {
		return caller, nil
	}
	if secret == "nothing" {
		return access.Caller{}, fmt.Errorf("this issuer: %w", access.ErrRefused)
	}
	if secret == "lost" {
		return access.Caller{}, errors.New("the database does not answer")
	}
	return access.Caller{}, access.ErrUnknown
}

// TestToken: who bears a token sees what its agent may see, until it is revoked.
func TestToken(t *testing.T) {
	known := bearers{"all; of, it\"": {Name: "ann"}, "some": {Name: "bob", Agent: "clerk"}, "odd": {Name: "eve", Agent: "nobody"}}
	k := open(t, few(), func(_ *repertoire.Config, o *web.Options) { o.Key, o.Check, o.Prefix = "", known, "/ui/" })
	k.get("").is(401).has(`action="/ui/signin"`, `value="/ui/"`).lacks("<nav", "pdf-forms")
	k.get("", "key", "").is(401)
	for secret, status := range map[string]int{"": 401, "guess": 401, "lost": 503, "odd": 403, "nothing": 403} {
		k.post("signin", "token", secret).is(status).lacks("database", "issuer")
		if len(k.cookies) > 0 {
			t.Fatalf("%q is remembered", secret)
		}
	}

	p := k.post("signin", "token", "all; of, it\"", "next", "/ui/?a=b%26c").is(303)
	if to := p.Header().Get("Location"); to != "/ui/?a=b%26c" {
		t.Errorf("it goes to %s", to)
	}
	k.post("", "q", "plan the surprise party").is(200).has("secret-plan", "Sign out")
	k.post("signout").is(303)
	k.get("").is(401)

	k.post("signin", "token", " some ").is(303)
	k.post("", "q", "plan the surprise party").is(200).lacks("secret-plan")
	delete(known, "some")
	k.get("").is(401).has("the token is not known")
	if len(k.cookies) > 0 {
		t.Errorf("a revoked token is remembered: %v", k.cookies)
	}
}

// TestOnlyAgent: a site of one agent shows nothing else to any token, and to nobody without one
// unless the check says so.
func TestOnlyAgent(t *testing.T) {
	known := bearers{"all": {Name: "ann"}, "some": {Name: "bob", Agent: "clerk"}, "other": {Agent: "chief"}}
	k := open(t, few(), func(cfg *repertoire.Config, o *web.Options) {
		cfg.Agents = append(cfg.Agents, &repertoire.Agent{Name: "chief"})
		o.Key, o.Check, o.Agent, o.Reviewer = "", known, cfg.Agents[0], "clerk"
		cfg.Policy = &repertoire.Policy{Disabled: []search.Ban{{Rules: repertoire.Rules{Names: []string{"sort-slides"}}}}}
	})
	for _, token := range []string{"all", "some"} {
		k.post("signin", "token", token).is(303)
		k.get("catalog").is(200).has("pdf-forms", "Sign out").lacks("secret-plan")
		k.get("skill", "id", "secret-plan").is(404)
	}
	k.get("catalog").has("disabled") // the agent decides
	k.post("signin", "token", "all").is(303)
	k.get("catalog").is(200).lacks("disabled") // and nobody whose token is not the agent's
	k.post("signin", "token", "other").is(403)

	k.cookies = nil
	k.get("catalog").is(401)
	known[""] = access.Caller{}
	k.get("catalog").is(200).has("pdf-forms").lacks("secret-plan", "Sign out", "disabled") // nobody decides
}

// TestNext: signing in leads to a page of this site alone.
func TestNext(t *testing.T) {
	known := bearers{"all": {}}
	k := open(t, few(), func(_ *repertoire.Config, o *web.Options) { o.Key, o.Check, o.Prefix = "", known, "/ui/" })
	for _, next := range []string{"//attacker.example/", "https://attacker.example/ui/", "/mcp", `/\attacker.example`, "/ui/../x", "/ui//attacker.example", "%", "javascript:alert(1)"} {
		if to := k.post("signin", "token", "all", "next", next).is(303).Header().Get("Location"); to != "/ui/" {
			t.Errorf("%s leads to %s", next, to)
		}
	}
}

// TestLinkFromElsewhere: browsers send no strict cookies with a link from another site, so
// the page goes there once more.
func TestLinkFromElsewhere(t *testing.T) {
	k := open(t, few())
	k.cookies = nil
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if p := k.do(r).is(401); p.Header().Get("Refresh") != "0" {
		t.Error(p.Header())
	}
	r = httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if p := k.do(r).is(401); p.Header().Get("Refresh") != "" {
		t.Error("it goes there for ever")
	}
}

// TestForeignRequests: no other site can act in the name of a visitor.
func TestForeignRequests(t *testing.T) {
	k := open(t, few())
	for name, headers := range map[string][]string{
		"none":         nil,
		"cross-site":   {"Sec-Fetch-Site", "cross-site"},
		"another port": {"Sec-Fetch-Site", "same-site"},
		"old browser":  {"Origin", "http://attacker.example"},
		"no origin":    {"Origin", "null"},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader("q=x"))
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if p := k.do(r); p.Code != 403 {
			t.Errorf("%s: %d", name, p.Code)
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Host = "attacker.example:8100"
	k.do(r).is(403)

	k = open(t, nil, func(_ *repertoire.Config, o *web.Options) { o.Prefix = "/secret-path/" })
	for _, path := range []string{"/", "/secret-path", "/secret", "/static/style.css", "//secret-path/", "/x/../secret-path/"} {
		for _, method := range []string{"GET", "POST"} {
			k.do(httptest.NewRequest(method, path, nil)).is(404).lacks("secret-path")
		}
	}

	p := k.get("")
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Frame-Options": "DENY",
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin",
	} {
		if got := p.Header().Get(header); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q", header, got)
		}
	}
	if csp := p.Header().Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") {
		t.Error(csp)
	}
}

// TestAssets: pages load their files from the site alone, and browsers keep them.
func TestAssets(t *testing.T) {
	k := open(t, few())
	text := k.get("").text
	for _, name := range []string{"style.css", "app.js", "icon.svg"} {
		_, rest, ok := strings.Cut(text, `"/static/`+name)
		if !ok {
			t.Errorf("the page does not load %s", name)
			continue
		}
		query, _, _ := strings.Cut(rest, `"`)
		p := k.do(httptest.NewRequest("GET", "/static/"+name+query, nil)).is(200)
		if !strings.Contains(p.Header().Get("Cache-Control"), "immutable") || p.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %v", name, p.Header())
		}
	}
	k.get("static/nothing.css").is(404)
	k.get("nothing").is(404).has("there is no such page")
}

// TestNobody: a site that would let in nobody, or everybody by mistake, is an error.
func TestNobody(t *testing.T) {
	for _, o := range []*web.Options{nil, {}, {Key: "x", Open: true}, {Key: "x", Prefix: "ui"}, {Key: "x", Prefix: "/ui"}, {Key: "x", Prefix: "/ui/../"}} {
		if _, err := web.New(nil, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

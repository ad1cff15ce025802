package access

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// An issuer signs tokens and publishes its keys.
type issuer struct {
	*httptest.Server
	keys  atomic.Pointer[oidctest.Server]
	gone  atomic.Bool
	asked atomic.Int32
	key   *ecdsa.PrivateKey
	id    string // of key
}

func newIssuer(t *testing.T) *issuer {
	i := new(issuer)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		if i.gone.Load() {
			http.Error(w, "gone", http.StatusBadGateway)
			return
		}
		i.keys.Load().ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	i.rotate(t, "1")
	return i
}

// rotate makes the issuer sign with a new key, and forget the old one.
func (i *issuer) rotate(t *testing.T, id string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	s := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: id, Algorithm: "ES256"}}, Algorithms: []string{"ES256"}}
	s.SetIssuer(i.URL)
	i.key, i.id = key, id
	i.keys.Store(s)
}

// claims returns the claims of a good token after some changes; a nil value removes a claim.
func (i *issuer) claims(changes map[string]any) string {
	c := map[string]any{"iss": i.URL, "aud": "https://skills.example.com/mcp", "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "groups": []any{"staff", 7, "clerks"}}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	data, _ := json.Marshal(c)
	return string(data)
}

func (i *issuer) sign(changes map[string]any) string {
	return oidctest.SignIDToken(i.key, i.id, "ES256", i.claims(changes))
}

// checker returns a Checker of the tokens of the issuer, which asks it without a pause.
func (i *issuer) checker(t *testing.T, change func(*OIDCOptions)) *OIDC {
	o := OIDCOptions{Issuer: i.URL, Audience: "https://skills.example.com/mcp", Claim: "groups", Pause: time.Nanosecond,
		Agents: []Claimed{{"admins", ""}, {"clerks", "clerk"}, {"staff", "reader"}}}
	if change != nil {
		change(&o)
	}
	c, err := NewOIDC(o)
	must.Do(t, err)
	return c
}

func TestOIDC(t *testing.T) {
	i := newIssuer(t)
	c := i.checker(t, nil)
	want(t, c, i.sign(nil), Caller{"oidc:ann", "clerk"})
	want(t, c, i.sign(map[string]any{"aud": []any{"other", "https://skills.example.com/mcp"}, "groups": "admins"}), Caller{"oidc:ann", ""})

	// A token that only looks as if the issuer had signed it.
	other := newIssuer(t)
	foreign := oidctest.SignIDToken(other.key, "1", "ES256", i.claims(nil))
	spki, err := x509.MarshalPKIXPublicKey(i.key.Public())
	must.Do(t, err)
	part := base64.RawURLEncoding.EncodeToString
	unsigned := part([]byte(`{"alg":"none"}`)) + "." + part([]byte(i.claims(nil))) + "."
	shared := part([]byte(`{"alg":"HS256","kid":"1"}`)) + "." + part([]byte(i.claims(nil)))
	mac := hmac.New(sha256.New, spki)
	mac.Write([]byte(shared))
	good := strings.Split(i.sign(nil), ".")
	for name, token := range map[string]string{
		"none": "", "opaque": "repertoire_x", "long": strings.Repeat("a", maxJWT) + ".b.c", "no JWT": "a.b.c",
		"foreign key":    foreign,
		"no signature":   unsigned,
		"shared secret":  shared + "." + part(mac.Sum(nil)),
		"other claims":   good[0] + "." + part([]byte(i.claims(map[string]any{"groups": "admins"}))) + "." + good[2],
		"other audience": i.sign(map[string]any{"aud": "https://mail.example.com"}),
		"no audience":    i.sign(map[string]any{"aud": nil}),
		"other issuer":   i.sign(map[string]any{"iss": other.URL}),
		"expired":        i.sign(map[string]any{"exp": time.Now().Add(-time.Second).Unix()}),
		"no expiry":      i.sign(map[string]any{"exp": nil}),
		"not yet":        i.sign(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}),
		"nobody":         i.sign(map[string]any{"sub": nil}),
	} {
		t.Run(name, func(t *testing.T) { want(t, c, token, Caller{}) })
	}
}

// TestClaims: which agent a token shows.
func TestClaims(t *testing.T) {
	i := newIssuer(t)
	for _, test := range []struct {
		claim string
		given map[string]any
		want  string
		err   error
	}{
		{"groups", nil, "clerk", nil}, // the first agent, not the first group
		{"groups", map[string]any{"groups": nil}, "", ErrRefused},
		{"groups", map[string]any{"groups": []any{"guests"}}, "", ErrRefused},
		{"groups", map[string]any{"groups": ""}, "", ErrRefused},
		{"groups", map[string]any{"groups": map[string]any{"clerks": true}}, "", ErrRefused},
		{"realm_access.roles", map[string]any{"realm_access": map[string]any{"roles": []any{"clerks"}}}, "clerk", nil},
		{"https://example.com/role", map[string]any{"https://example.com/role": "staff"}, "reader", nil},
		{"scope", map[string]any{"scope": "openid staff"}, "reader", nil},
		{"role", map[string]any{"role": "openid staff"}, "", ErrRefused},
		{"", map[string]any{"groups": nil}, "", nil},
	} {
		c := i.checker(t, func(o *OIDCOptions) {
			if o.Claim = test.claim; test.claim == "" {
				o.Agents = nil
			}
		})
		got, err := c.Check(t.Context(), i.sign(test.given))
		if got.Agent != test.want || !errors.Is(err, test.err) {
			t.Errorf("claim %q of %v: got %+v, %v", test.claim, test.given, got, err)
		}
	}
}

// TestIssuerGone: while the issuer is gone, its known keys count, and of other tokens nobody
// can tell whether they are good.
func TestIssuerGone(t *testing.T) {
	i := newIssuer(t)
	i.gone.Store(true)
	c := i.checker(t, nil)
	token := i.sign(nil)
	if _, err := c.Check(t.Context(), token); err == nil || errors.Is(err, ErrUnknown) || strings.Contains(err.Error(), token) {
		t.Errorf("before the first answer: %v", err)
	}
	// The library keeps the keys only after it has answered, and until then answers from them.
	kept := func() { time.Sleep(50 * time.Millisecond) }
	i.gone.Store(false)
	want(t, c, token, Caller{"oidc:ann", "clerk"})
	kept()
	i.gone.Store(true)
	want(t, c, token, Caller{"oidc:ann", "clerk"})
	i.rotate(t, "2")
	later := i.sign(nil)
	if _, err := c.Check(t.Context(), later); !errors.Is(err, errIssuer) {
		t.Errorf("a new key while the issuer is gone: %v", err)
	}
	kept()
	i.gone.Store(false)
	want(t, c, later, Caller{"oidc:ann", "clerk"})
	kept()
	want(t, c, token, Caller{}) // the issuer has withdrawn its key
}

// TestIssuerLeads: keys come over no connection that others can change.
func TestIssuerLeads(t *testing.T) {
	i := newIssuer(t)
	there := http.RedirectHandler("/elsewhere", http.StatusFound)
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { there.ServeHTTP(w, r) }))
	t.Cleanup(here.Close)
	c := i.checker(t, func(o *OIDCOptions) { o.Issuer = here.URL })
	for to, want := range map[string]string{"http://192.0.2.1/keys": "leads to http://192.0.2.1/keys", "/again": "leads to " + here.URL + "/again"} {
		there = http.RedirectHandler(to, http.StatusFound)
		if _, err := c.Check(t.Context(), i.sign(nil)); err == nil || errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("to %s: %v", to, err)
		}
	}
}

// TestIssuerHangs: a limited number of tokens waits for an issuer that does not answer.
func TestIssuerHangs(t *testing.T) {
	hang := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer site.Close()
	c := newIssuer(t).checker(t, func(o *OIDCOptions) { o.Issuer = site.URL })
	var all sync.WaitGroup
	for range maxWaiting {
		all.Go(func() { c.Check(t.Context(), "a.b.c") })
	}
	for len(c.waiting) < maxWaiting {
		runtime.Gosched()
	}
	if _, err := c.Check(t.Context(), "a.b.c"); !errors.Is(err, errIssuer) || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
	close(hang)
	all.Wait()
}

// TestSpaced: tokens that nobody has signed do not make the server ask the issuer each time.
func TestSpaced(t *testing.T) {
	i := newIssuer(t)
	c := i.checker(t, func(o *OIDCOptions) { o.Pause = time.Hour })
	want(t, c, i.sign(nil), Caller{"oidc:ann", "clerk"})
	i.id = "unknown"
	for range 20 {
		want(t, c, i.sign(nil), Caller{})
	}
	if n := i.asked.Load(); n > 2 { // where the keys are, and the keys
		t.Errorf("the issuer was asked %d times", n)
	}
}

func TestOIDCOptions(t *testing.T) {
	good := OIDCOptions{Issuer: "https://login.example.com/realm", Audience: "skills"}
	if _, err := NewOIDC(good); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*OIDCOptions){
		"no TLS":       func(o *OIDCOptions) { o.Issuer = "http://login.example.com" },
		"no host":      func(o *OIDCOptions) { o.Issuer = "login.example.com" },
		"password":     func(o *OIDCOptions) { o.Issuer = "https://a:b@login.example.com" },
		"no audience":  func(o *OIDCOptions) { o.Audience = "" },
		"no agents":    func(o *OIDCOptions) { o.Claim = "groups" },
		"unused agent": func(o *OIDCOptions) { o.Agents = []Claimed{{"a", "b"}} },
	} {
		o := good
		change(&o)
		if _, err := NewOIDC(o); err == nil {
			t.Error(name, "is accepted")
		}
	}
}

func TestNameOf(t *testing.T) {
	for subject, want := range map[string]string{"ann": "oidc:ann", "a\nb": "oidc:sha256:", strings.Repeat("x", 300): "oidc:sha256:"} {
		if got := nameOf(subject); !strings.HasPrefix(got, want) || len(got) > 80 || strings.Contains(got, "\n") {
			t.Errorf("%q is %q", subject, got)
		}
	}
}

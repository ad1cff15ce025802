package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// OIDCOptions say whose tokens count, and what they show.
type OIDCOptions struct {
	Issuer   string // URL, as in the tokens; https, or http on this machine
	Audience string // that tokens are for

	// Claim is the claim whose value, or values, decide which agent's scope a token shows:
	// Agents is searched from the start, and the first entry with such a value counts. A dot
	// leads into a claim ("realm_access.roles"). "" means that all tokens show the whole
	// catalog.
	Claim  string
	Agents []Claimed

	Pause  time.Duration // least time between two requests to the issuer for the same thing; 0 means 10 s
	Logger *slog.Logger  // nil means no messages
}

// Claimed says which agent's scope the value of a claim shows; Agent "" means the whole
// catalog.
type Claimed struct{ Value, Agent string }

// OIDC checks tokens that an OpenID Connect issuer has signed. It asks the issuer for its
// keys when it needs them, and again when a token is signed with a key that it does not
// know. The keys that it has count while the issuer cannot be reached.
type OIDC struct {
	opts    OIDCOptions
	client  *http.Client
	waiting chan struct{} // holds a value for each token that is being checked

	mu       sync.Mutex // serialises discovery
	verifier *oidc.IDTokenVerifier
}

// NewOIDC returns a Checker of tokens of an issuer. It asks the issuer for nothing yet.
func NewOIDC(o OIDCOptions) (*OIDC, error) {
	if err := checkIssuer(o.Issuer); err != nil {
		return nil, err
	}
	if o.Audience == "" {
		return nil, errors.New("the audience of the tokens is missing")
	}
	if (o.Claim == "") != (len(o.Agents) == 0) {
		return nil, errors.New("a claim needs agents that it stands for, and these need a claim")
	}
	transport := &spaced{next: http.DefaultTransport, pause: cmp.Or(o.Pause, 10*time.Second)}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &OIDC{opts: o, client: &http.Client{Transport: transport, Timeout: issuerTime, CheckRedirect: checkRedirect}, waiting: make(chan struct{}, maxWaiting)}, nil
}

// checkRedirect lets the issuer lead to another URL only if that is protected as its own is.
func checkRedirect(r *http.Request, via []*http.Request) error {
	plain := *r.URL
	plain.RawQuery = ""
	if len(via) > 3 || checkIssuer(plain.String()) != nil {
		return fmt.Errorf("%w: it leads to %s", errIssuer, r.URL.Redacted())
	}
	return nil
}

// issuerTime is how long an answer of the issuer may take.
const issuerTime = 5 * time.Second

// checkIssuer checks a URL from which keys are read: whoever could change them on their way
// could make tokens.
func checkIssuer(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("issuer %q is not a URL such as https://login.example.com/realm", raw)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("issuer %q is reached without TLS; use https", raw)
}

// algorithms are those with a public key: an issuer's public keys must never count as shared
// secrets.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// Discover asks the issuer where its keys are, unless that is known.
func (o *OIDC) Discover(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.verifier != nil {
		return o.verifier, nil
	}
	// The request that asks first may end before the issuer has answered.
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), o.client)
	p, err := oidc.NewProvider(ctx, o.opts.Issuer)
	if err != nil {
		return nil, fmt.Errorf("asking the issuer of tokens: %w", err)
	}
	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err := p.Claims(&found); err != nil {
		return nil, fmt.Errorf("asking the issuer of tokens: %w", err)
	}
	if u, err := url.Parse(found.Keys); err != nil {
		return nil, fmt.Errorf("the issuer of tokens keeps its keys at %q: %w", found.Keys, err)
	} else if u.RawQuery = ""; checkIssuer(u.String()) != nil {
		return nil, fmt.Errorf("the issuer of tokens keeps its keys at %q, which is no URL with https", found.Keys)
	}
	keys := keySet{oidc.NewRemoteKeySet(ctx, found.Keys)}
	o.verifier = oidc.NewVerifier(o.opts.Issuer, keys, &oidc.Config{ClientID: o.opts.Audience, SupportedSigningAlgs: algorithms})
	return o.verifier, nil
}

const (
	maxJWT = 16 << 10 // bytes of the largest token that is looked at

	// maxWaiting is how many tokens may wait for an issuer that is slow. It is less than a
	// server lets one address check, so that bearers of other tokens do not wait too.
	maxWaiting = 250
)

// Check implements Checker.
func (o *OIDC) Check(ctx context.Context, secret string) (Caller, error) {
	if len(secret) > maxJWT || strings.Count(secret, ".") != 2 {
		return Caller{}, ErrUnknown // and no reason to ask the issuer
	}
	select {
	case o.waiting <- struct{}{}:
		defer func() { <-o.waiting }()
	default:
		return Caller{}, fmt.Errorf("%w: too many tokens wait for it", errIssuer)
	}
	v, err := o.Discover(ctx)
	if err != nil {
		return Caller{}, err
	}
	var uncertain error
	token, err := v.Verify(context.WithValue(ctx, uncertainKey{}, &uncertain), secret)
	switch {
	case uncertain != nil:
		return Caller{}, fmt.Errorf("asking the issuer of tokens for its keys: %w", uncertain)
	case err != nil || token.Subject == "":
		o.opts.Logger.Info("a token was refused", "error", err)
		return Caller{}, ErrUnknown
	}
	agent, err := o.agent(token)
	return Caller{Name: nameOf(token.Subject), Agent: agent}, err
}

// nameOf returns the name of a subject. It differs from the names of all tokens.
func nameOf(subject string) string {
	if len(subject) > maxName || strings.ContainsFunc(subject, func(r rune) bool { return r <= ' ' || r > '~' }) {
		sum := sha256.Sum256([]byte(subject))
		return "oidc:sha256:" + hex.EncodeToString(sum[:16])
	}
	return "oidc:" + subject
}

// agent returns the agent whose scope a token shows.
func (o *OIDC) agent(token *oidc.IDToken) (string, error) {
	if o.opts.Claim == "" {
		return "", nil
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return "", ErrRefused
	}
	values := make(map[string]bool)
	for _, v := range valuesOf(claims, o.opts.Claim) {
		values[v] = true
	}
	for _, a := range o.opts.Agents {
		if values[a.Value] {
			return a.Agent, nil
		}
	}
	return "", ErrRefused
}

// valuesOf returns the texts of a claim: itself, or the elements of its list. The names of
// some claims have dots.
func valuesOf(claims map[string]any, name string) []string {
	switch v := claims[name].(type) {
	case string:
		if name == "scope" || name == "scp" { // scopes are separated by blanks
			return strings.Fields(v)
		}
		return []string{v}
	case []any:
		var list []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	first, rest, ok := strings.Cut(name, ".")
	if inner, isMap := claims[first].(map[string]any); ok && isMap {
		return valuesOf(inner, rest)
	}
	return nil
}

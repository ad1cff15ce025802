package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/audit"
	"github.com/repertoire-skills/repertoire/internal/registry"
	"github.com/repertoire-skills/repertoire/internal/serve"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/proposal/check"
	"github.com/repertoire-skills/repertoire/usage"
	"github.com/repertoire-skills/repertoire/web"
)

// Page serves the page of the catalog to its owner until ctx ends, and a registry to programs of his.
// started gets the address with which one browser is let in, and the base of the registry.
func Page(ctx context.Context, l net.Listener, o Options, started func(url, registry string) error) error {
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	defer s.Close()
	box, err := check.OpenOwners(s.Catalog, &o.Settings)
	if err != nil { // such as without a folder for state
		o.Note("there are no proposals and no history: %v", err)
	}
	// All servers of this machine get the cookies of its pages, but for other paths. So the
	// path is one that no other server can know.
	key, prefix := rand.Text(), "/"+strings.ToLower(rand.Text()[:12])+"/"
	site, err := web.New(s.Catalog, &web.Options{
		Prefix: prefix, Key: key, Owner: s.opts.User, Agent: s.agent, Proposals: box, Propose: true, Usage: o.Usage, Ignore: o.Settings.Ignore, Logger: s.opts.Logger,
		Switch: s.switching(),
	})
	if err != nil {
		return err
	}
	secret := rand.Text()
	base := fmt.Sprintf("http://%s%s", l.Addr(), access.WithSecret(secret))
	if err := started(fmt.Sprintf("http://%s%s?key=%s", l.Addr(), prefix, key), base); err != nil {
		return err
	}
	err = serve.Until(ctx, l, s.ownersRegistry(secret, base, site), serve.Options{Timeout: 10 * time.Second, Grace: 2 * time.Second, Logger: s.opts.Logger})
	if errors.Is(err, serve.ErrCut) { // a browser that waits for an answer
		return nil
	}
	return err
}

// switching returns what switches skills for a page of the owner; nil means that nothing does.
func (s *Server) switching() func(name, agent string, on bool) error {
	if s.opts.Switch == nil {
		return nil
	}
	return func(name, agent string, on bool) error {
		cfg, err := s.opts.Switch(name, agent, on)
		if err == nil {
			err = s.Catalog.Owner().SetRules(cfg.Policy, cfg.Agents)
		}
		return err
	}
}

// ownersRegistry returns a registry of what is served, for requests with a secret in their path. All
// others are for next.
func (s *Server) ownersRegistry(secret, base string, next http.Handler) http.Handler {
	check := access.Single(secret)
	mux := registry.New(s.Catalog, s.opts.Logger).Mux(func(w http.ResponseWriter, r *http.Request) *registry.Visit {
		return &registry.Visit{
			Agent: s.agent, Base: base, Event: usage.Event{Client: "registry"},
			Take: func() ([]byte, func(), bool) {
				body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, registry.MaxBody))
				if err != nil {
					registry.Fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request could not be read; it may have %d bytes", registry.MaxBody))
				}
				return body, func() {}, err == nil
			},
			Turn: func() (func(), error) { return func() {}, nil },
			Hold: func(int) func() { return func() {} },
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, rest, ok := access.CutSecret(r)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Referrer-Policy", "no-referrer")
		_, err := check.Check(r.Context(), given)
		switch {
		case err != nil:
			registry.Fail(w, http.StatusUnauthorized, "this is not the address that \"skills web\" printed last")
		case !registry.Serves(mux, rest):
			registry.Fail(w, http.StatusNotFound, "nothing is served here; "+words.ThereAre(registry.Paths()))
		default:
			mux.ServeHTTP(w, rest)
		}
	})
}

// page returns the page of a server whose requests check lets in. As long as there is no token
// everybody may look. The log may be nil.
func (s *Server) page(check access.Checker, written *audit.Log) (http.Handler, error) {
	o := web.Options{
		Prefix: "/ui/", Check: check, Reviewer: s.opts.Reviewer, Agent: s.agent, Proposals: s.proposals(), Propose: s.opts.Propose, Usage: s.opts.Usage, Ignore: s.opts.Settings.Ignore,
		Observe: func(e usage.Event) { written.Add(e); s.noteUse(e) }, Logger: s.opts.Logger,
	}
	asking, err := web.New(s.Catalog, &o)
	if err != nil {
		return nil, err
	}
	o.Check, o.Open = nil, true
	open, err := web.New(s.Catalog, &o)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := check.Check(r.Context(), ""); err == nil {
			open.ServeHTTP(w, r)
			return
		}
		asking.ServeHTTP(w, r)
	}), nil
}

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/audit"
	"github.com/repertoire-skills/repertoire/internal/serve"
	"github.com/repertoire-skills/repertoire/proposal/check"
	"github.com/repertoire-skills/repertoire/web"
)

// Page serves the page of the catalog to its owner until ctx ends. started gets the address with
// which one browser is let in.
func Page(ctx context.Context, l net.Listener, o Options, started func(url string) error) error {
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
		Prefix: prefix, Key: key, Agent: s.agent, Proposals: box, Usage: o.Usage, Ignore: o.Settings.Ignore, Logger: s.opts.Logger,
	})
	if err != nil {
		return err
	}
	if err := started(fmt.Sprintf("http://%s%s?key=%s", l.Addr(), prefix, key)); err != nil {
		return err
	}
	err = serve.Until(ctx, l, site, serve.Options{Timeout: 10 * time.Second, Grace: 2 * time.Second, Logger: s.opts.Logger})
	if errors.Is(err, serve.ErrCut) { // a browser that waits for an answer
		return nil
	}
	return err
}

// page returns the page of a server whose requests check lets in. As long as there is no token
// everybody may look. The log may be nil.
func (s *Server) page(check access.Checker, written *audit.Log) (http.Handler, error) {
	o := web.Options{
		Prefix: "/ui/", Check: check, Reviewer: s.opts.Reviewer, Agent: s.agent, Proposals: s.box.Load(), Usage: s.opts.Usage, Ignore: s.opts.Settings.Ignore,
		Observe: written.Add, Logger: s.opts.Logger,
	}
	if s.agent != nil {
		o.Check = access.Within(s.agent.Name, check)
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

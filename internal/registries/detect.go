package registries

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// trial is the question by which Detect finds out whether a server is a registry. It is the same
// for everybody.
const trial = "skill"

// Detect asks what is at an address, and returns it as a registry with its form and base. r has
// the URL, and may have all else.
func Detect(ctx context.Context, r Registry) (Registry, error) {
	const longest = 15 * time.Second
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	forms := Forms()
	if r.Form != "" {
		forms = []string{r.Form}
	}
	client := New(nil, nil)
	var tried []string
	lists := false
	for _, form := range forms {
		one := r
		one.Form = form
		if err := one.Check(); err != nil {
			return r, err
		}
		if form == formARD {
			lists = one.follow(ctx, client)
		}
		_, err := protocols()[form].search(&call{ctx: ctx, client: client, Registry: &one}, trial, 1)
		if err == nil {
			return one, nil
		}
		if ctx.Err() != nil || isFinal(err) {
			return r, fmt.Errorf("asking %s: %w", endpoint.Shown(one.URL), err)
		}
		tried = append(tried, fmt.Sprintf("asked as %s, %v", form, err))
	}
	if lists {
		return r, fmt.Errorf("%s lists skills, but cannot be asked; \"skills root add %[1]s\" follows all of them", endpoint.Shown(r.URL))
	}
	return r, fmt.Errorf("%s is no registry that this program knows: %s", endpoint.Shown(r.URL), strings.Join(tried, "; "))
}

// isFinal reports whether an error is the same whatever form is tried.
func isFinal(err error) bool {
	_, dead := errors.AsType[*deadError](err)
	_, key := errors.AsType[*keyError](err)
	_, wait := errors.AsType[*WaitError](err)
	return dead || key || wait
}

// follow makes the URL the base of the registry that a host names in its manifest. lists means
// that the manifest names none, but skills.
func (r *Registry) follow(ctx context.Context, client *Client) (lists bool) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return false
	}
	for _, path := range []string{ard.Path, ard.Predecessor} {
		host := Registry{URL: u.Scheme + "://" + u.Host, KeyEnv: r.KeyEnv}
		data, err := (&call{ctx: ctx, client: client, Registry: &host}).ask("GET", path, nil)
		if err != nil {
			continue
		}
		m, _, err := ard.ParseManifest(data)
		if err != nil {
			continue
		}
		for _, e := range m.Entries {
			if e.Type == ard.Registry && r.mayFetch(e.URL) && (r.KeyEnv == "" || r.sameOrigin(e.URL)) {
				r.URL = strings.TrimRight(e.URL, "/")
				return false
			}
			lists = lists || e.IsSkill()
		}
	}
	return lists
}

// sameOrigin reports whether an address has the scheme, the host and the port of the registry.
func (r *Registry) sameOrigin(address string) bool {
	a, err1 := url.Parse(address)
	b, err2 := url.Parse(r.URL)
	return err1 == nil && err2 == nil && a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

// isGone reports whether a registry says that it has no such thing.
func isGone(err error) bool {
	e, no := errors.AsType[*notOneError](err)
	return no && e.gone
}

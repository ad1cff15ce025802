// Package registry answers clients that look for skills in a registry and install them from it: by
// ARD (see package ard), as "npx skills find" asks, and with skills as archives.
//
// The one rule: whoever lets a request in says what it may see. A skill that it may not see is in
// no answer, no count and no page, and asking for it by name is answered as for one that is not
// there.
package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/memo"
	"github.com/repertoire-skills/repertoire/internal/wellknown"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

// A Catalog is what a registry serves; *repertoire.Catalog is one.
type Catalog interface {
	wellknown.Catalog
	Search(ctx context.Context, q search.Query) (search.Answer, error)
	Lookup(ctx context.Context, id string, a *search.Agent) (search.Entry, error)
}

// MaxBody is how many bytes of a request are worth reading.
const MaxBody = 256 << 10

// A Registry answers requests. Several goroutines may use it.
type Registry struct {
	catalog Catalog
	log     *slog.Logger

	archives *memo.Cache[contents, archive] // that are sent, or were lately

	mu     sync.Mutex
	packed map[contents]string // digests of archives
}

// contents are what an archive is made of: the name of a skill, and the digest of its files.
type contents struct{ name, digest string }

// maxArchives is how many bytes of archives are kept that nobody reads now.
const maxArchives = 16 << 20

// New returns a registry of a catalog. log gets failures.
func New(c Catalog, log *slog.Logger) *Registry {
	return &Registry{catalog: c, log: log, archives: memo.New[contents, archive](maxArchives), packed: make(map[contents]string)}
}

// A Visit is one request, and what it may see.
type Visit struct {
	Agent   *search.Agent     // whose scope it sees; nil means the whole catalog
	Base    string            // the URL of the registry as the caller reaches it, without a slash at the end
	Event   usage.Event       // says who asks
	Observe func(usage.Event) // gets the event; nil means that nobody is told
	// Take waits for the turn of the request and returns its body. The caller calls done when the
	// request is answered. If it fails, it has answered the request.
	Take func() (body []byte, done func(), ok bool)
	// Turn waits for the turn of work that costs much, which lasts until the caller calls done. An error
	// is for whoever asks.
	Turn func() (done func(), err error)
	// Hold counts bytes of the answer as memory that the caller takes up, until done is called.
	Hold func(n int) (done func())
}

// A route is a path with what it serves.
type route struct {
	method, pattern string
	costly          bool // it looks at all skills
	serve           func(x *Registry, r *http.Request, v *visit) (any, error)
}

func routes() []route {
	return []route{
		{http.MethodGet, ard.Path, true, (*Registry).manifest},
		{http.MethodGet, ard.Predecessor, true, (*Registry).manifest},
		{http.MethodPost, ard.SearchPath, false, (*Registry).search},
		{http.MethodPost, ard.ExplorePath, true, (*Registry).explore},
		{http.MethodGet, ard.AgentsPath, true, (*Registry).list},
		{http.MethodGet, ard.AgentsPath + "/{id}", false, (*Registry).entry},
		{http.MethodGet, findPath, false, (*Registry).find},
		{http.MethodGet, skillPath + "{name}/{file}", false, (*Registry).archive},
		{http.MethodGet, skillPath + "{name}/.well-known/agent-skills/index.json", false, (*Registry).index},
	}
}

// Paths besides those of package ard.
const (
	findPath  = "/api/search"
	skillPath = "/skill/"
)

// Paths returns what a registry serves, for people.
func Paths() []string {
	return []string{ard.Path, ard.SearchPath, ard.AgentsPath, ard.ExplorePath, findPath, skillPath}
}

// Mux returns a handler of all routes. begin returns what a request may see; if that is nothing, it
// answers the request and returns nil.
func (x *Registry) Mux(begin func(w http.ResponseWriter, r *http.Request) *Visit) *http.ServeMux {
	mux := http.NewServeMux()
	for _, t := range routes() {
		mux.HandleFunc(t.pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != t.method && (r.Method != http.MethodHead || t.method != http.MethodGet) {
				w.Header().Set("Allow", t.method)
				Fail(w, http.StatusMethodNotAllowed, r.URL.Path+" is for "+t.method)
				return
			}
			if v := begin(w, r); v != nil {
				x.answer(w, r, t, &visit{Visit: *v})
			}
		})
	}
	return mux
}

// Serves reports whether a mux of Mux has something for a request.
func Serves(mux *http.ServeMux, r *http.Request) bool {
	_, pattern := mux.Handler(r)
	return pattern != ""
}

// Fail answers a request with an error in the form of ARD.
func Fail(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(ard.NewError(status, "%s", text)) // the client has gone
}

// A visit is a Visit with what comes of it.
type visit struct {
	Visit
	publisher string
	body      []byte
	turn      bool // it has its turn of work that costs much
}

// costly does work that costs much, when it is the turn of the visit.
func (v *visit) costly(work func() error) error {
	if v.turn {
		return work()
	}
	done, err := v.Turn()
	if err != nil {
		return ard.NewError(http.StatusServiceUnavailable, "%v", err)
	}
	v.turn = true
	defer func() { v.turn = false; done() }()
	return work()
}

// A file is an answer.
type file struct {
	kind string // media type
	data []byte
	tag  string // that changes with the data; "" means that there is none
	done func() // is called when it is sent
}

// answer answers a request.
func (x *Registry) answer(w http.ResponseWriter, r *http.Request, t route, v *visit) {
	body, done, ok := v.Take()
	if !ok {
		return
	}
	defer done()
	v.body = body
	start := time.Now()
	v.publisher = publisherOf(v.Base)
	v.Event.Kind, v.Event.Call = usage.Listed, strings.SplitN(t.pattern, "{", 2)[0]
	var out file
	work := func() (err error) { out, err = x.made(r, t, v); return err }
	var err error
	if t.costly {
		err = v.costly(work)
	} else {
		err = work()
	}
	v.Event.Duration, v.Event.Failed = time.Since(start), err != nil
	if v.Observe != nil {
		v.Observe(v.Event)
	}
	if err != nil {
		e := x.told(r, v, err)
		if e.Status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		Fail(w, e.Status, e.Message)
		return
	}
	defer out.done()
	x.send(w, r, out)
}

// made returns the answer to a request. Until it is sent it counts for who has asked.
func (x *Registry) made(r *http.Request, t route, v *visit) (out file, err error) {
	value, err := t.serve(x, r, v)
	if err != nil {
		return out, err
	}
	if out, ok := value.(file); ok {
		return out, nil
	}
	out.kind = "application/json"
	if out.data, err = json.Marshal(value); err != nil {
		return out, err
	}
	if r.Method != http.MethodPost {
		out.tag = fmt.Sprintf(`"%x"`, sha256.Sum256(out.data))
	}
	out.done = v.Hold(len(out.data))
	return out, nil
}

// send sends an answer, unless the client has it already.
func (x *Registry) send(w http.ResponseWriter, r *http.Request, f file) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	h.Add("Vary", "Authorization")
	if f.tag != "" {
		h.Set("ETag", f.tag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}

// told returns what the caller reads of an error.
func (x *Registry) told(r *http.Request, v *visit, err error) *ard.Error {
	var out *ard.Error
	left, isLeft := errors.AsType[*wellknown.OmittedError](err)
	switch {
	case errors.As(err, &out):
		return out
	case errors.Is(err, skill.ErrNotFound):
		return notFound()
	case isLeft:
		return ard.NewError(http.StatusNotFound, "this skill cannot be installed from here: %s", left.Reason)
	case errors.Is(err, context.Canceled):
		return ard.NewError(http.StatusServiceUnavailable, "the server ends")
	}
	return ard.NewError(http.StatusInternalServerError, "%s", access.Tell(x.log, v.Event.Call, err))
}

// notFound is the error for a skill that is not there, or that the caller may not see.
func notFound() *ard.Error {
	return ard.NewError(http.StatusNotFound, "there is no such skill here")
}

func invalid(format string, args ...any) *ard.Error {
	return ard.NewError(http.StatusBadRequest, format, args...)
}

// publisherOf returns the publisher of a registry at a URL: its domain name, if it has one.
func publisherOf(base string) string {
	u, err := url.Parse(base)
	if err != nil || net.ParseIP(u.Hostname()) != nil || !strings.Contains(u.Hostname(), ".") {
		return ard.Localhost
	}
	if _, ok := ard.Publisher(ard.Identifier(u.Hostname(), "x")); !ok {
		return ard.Localhost
	}
	return strings.ToLower(u.Hostname())
}

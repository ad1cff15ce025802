// Package web is the page of a catalog, for people with a browser: what a prompt would be
// offered and why, the skills with their files, and what is wrong with them.
//
// The one rule: a page shows what the façade says, and package html/template escapes all
// of it. No page, script or style comes from a skill or from another machine.
package web

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"runtime"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/usage"
)

// Options configure a Site. Exactly one of Key, Check and Open must be set: it says
// who may see it.
type Options struct {
	// Prefix is the path of the site, such as "/ui/"; "" means "/". Nobody learns it from the
	// site who does not know it.
	Prefix string

	// Key is a secret of the owner of the catalog, with which the site lets in the first
	// browser that brings it: the query ?key=… of any page. "" means none.
	Key string

	// Owner is the name of whoever holds the Key, for records; "" means unknown.
	Owner string

	// Check lets in those who bear a token: a form asks for it, unless Check knows "" too.
	// They see what their agent may see. nil means that tokens let in nobody.
	Check access.Checker

	// Reviewer is the name of the agent whose callers decide on proposals; "" means that no
	// token lets anybody decide.
	Reviewer string

	// Agent is all that anybody may see; nil means the whole catalog. Tokens for other agents
	// then let in nobody.
	Agent *repertoire.Agent

	// Open lets in everybody who reaches the site. They may look, but decide nothing.
	Open bool

	// Proposals are the proposed changes and the history of skills; nil means that the site
	// has neither.
	Proposals proposal.Desk

	// Propose lets those who are known propose changes.
	Propose bool

	// Switch changes the user's configuration: it disables a skill for everybody, or enables (on) it
	// again; for an agent it pins (on) a skill, or unpins it. nil means that the page cannot. Only the
	// owner may.
	Switch func(name, agent string, on bool) error

	// Usage is the log of what was offered and used; nil means none.
	Usage *usage.Log

	// Ignore leaves out findings of doctor; nil means none.
	Ignore []config.Ignore

	// Observe is called with what visitors are shown and decide, for a log of who did what;
	// nil means that nobody is told.
	Observe func(usage.Event)

	Logger *slog.Logger // gets messages about failures; nil means no messages
}

// A Site answers requests of browsers about one catalog: it lets visitors in, asks the handler
// of a page and shows its answer. Several goroutines may use it.
type Site struct {
	catalog   *repertoire.Catalog
	opts      *Options // with defaults
	pages     []page
	door      door
	forms     chan struct{} // holds a value for each form that is being answered
	templates templates
	assets    assets
	mux       *http.ServeMux
}

// New returns a site. It asks the catalog nothing before the first request.
func New(c *repertoire.Catalog, o *Options) (*Site, error) {
	s := &Site{catalog: c, opts: new(Options), mux: http.NewServeMux(), forms: make(chan struct{}, 2*runtime.GOMAXPROCS(0))}
	if o != nil {
		*s.opts = *o
	}
	s.opts.Prefix = cmp.Or(s.opts.Prefix, "/")
	s.opts.Logger = cmp.Or(s.opts.Logger, slog.New(slog.DiscardHandler))
	if p := s.opts.Prefix; p != "/" && (path.Clean(p)+"/" != p || !strings.HasPrefix(p, "/")) {
		return nil, errors.New("the prefix of the page " + p + " must begin and end with a slash, as /ui/ does")
	}
	ways := 0
	for _, set := range []bool{s.opts.Key != "", s.opts.Check != nil, s.opts.Open} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		return nil, errors.New("who may see the page? Set one of Key, Check and Open")
	}
	s.door.key = s.opts.Key
	s.pages = (&handlers{catalog: c, opts: s.opts}).list()
	if err := s.load(); err != nil {
		return nil, err
	}
	for _, p := range s.pages {
		s.handle(p)
	}
	s.mux.HandleFunc("GET "+s.opts.Prefix+"static/{name}", s.serveAsset)
	if s.opts.Check != nil {
		s.mux.HandleFunc("POST "+s.opts.Prefix+"signin", s.signIn)
		s.mux.HandleFunc("POST "+s.opts.Prefix+"signout", s.signOut)
	}
	s.mux.HandleFunc(s.opts.Prefix, s.serve(page{get: nothingHere}))
	return s, nil
}

// ServeHTTP answers one request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	// Say nothing else here: no answer may name a prefix that is a secret.
	if !strings.HasPrefix(r.URL.Path, s.opts.Prefix) {
		http.Error(w, "nothing is here; open the whole address of the page", http.StatusNotFound)
		return
	}
	if err := s.admit(r); err != nil {
		s.fail(w, &visit{Request: r, site: s}, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	s.mux.ServeHTTP(w, r)
}

// maxForm bounds what a form may send. It has room for the longest prompts.
const maxForm = 1 << 20

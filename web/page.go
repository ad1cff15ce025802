package web

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/proposal"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// handlers are what the pages ask the catalog and change in it. They write no HTML and know no
// door: a Site calls them for visitors that it has let in.
type handlers struct {
	catalog *repertoire.Catalog
	opts    *Options // of the site, with defaults
	checkup checkup
}

// list returns the pages in the order of the navigation. A new page is one line here, its
// functions in a file of its own, and its template.
func (hs *handlers) list() []page {
	list := []page{
		{path: "", name: "prompt", title: "Prompt", get: hs.getPrompt, post: hs.getPrompt},
		{path: "catalog", name: "catalog", title: "Catalog", get: hs.getCatalog},
		{path: "skill", name: "skill", in: "catalog", title: "Skill", get: hs.getSkill, post: hs.getSkill},
		{path: "file", name: "file", in: "catalog", title: "File", get: hs.getFile},
		{path: "find", name: "find", in: "catalog", title: "Search files", get: hs.getFind, post: hs.getFind},
		{path: "doctor", name: "doctor", title: "Doctor", whole: true, get: hs.getFindings, post: hs.postFindings},
		{path: "usage", name: "usage", title: "Usage", get: hs.getUsage},
		{path: "state", name: "state", title: "State", whole: true, get: hs.getState},
	}
	if hs.opts.Switch != nil {
		list = append(list, page{path: "switch", name: "skill", in: "catalog", title: "Skill", owner: true, get: hs.getSkill, post: hs.postSwitch})
	}
	if hs.opts.Proposals != nil {
		list = append(list,
			page{path: "change", name: "change", in: "catalog", title: "Change", owner: true, get: hs.getChange},
			page{path: "proposals", name: "proposals", title: "Proposals", owner: !hs.opts.Propose, known: true, get: hs.getProposals},
			page{path: "proposal", name: "proposal", in: "proposals", title: "Proposal", owner: !hs.opts.Propose, known: true, decides: true, get: hs.getProposal, post: hs.postProposal})
		if hs.opts.Propose {
			list = append(list, page{path: "propose", name: "propose", in: "proposals", title: "Propose", known: true, get: hs.getDraft, post: hs.postDraft})
		}
	}
	return list
}

// proposes reports whether a visitor may propose changes.
func (hs *handlers) proposes(v *visit) bool {
	return hs.opts.Propose && hs.opts.Proposals != nil && v.known()
}

// shared reports whether proposals are those of a shared catalog, where approving one changes no skill.
func (hs *handlers) shared() bool {
	_, ok := hs.opts.Proposals.(*proposal.Shared)
	return ok
}

// A page is one address of the site.
type page struct {
	path  string // below the prefix of the site; "" is the first page
	name  string // its template is templates/NAME.html
	title string // in the navigation and of the window
	in    string // name of the page whose entry in the navigation stands for this page; "" means that it has its own

	// whole says that only those who see the whole catalog may see the page, owner that only
	// the owner of the catalog may, and known that only the owner and bearers of a token may.
	// decides says that only the owner may send its forms.
	whole, owner, known, decides bool

	get  handler
	post handler // what its forms do; nil means that it has none
}

// A handler answers a visit of a page. It returns what its template shows.
type handler func(v *visit) (answer, error)

// An answer is what a handler returns.
type answer struct {
	data  any    // for the template
	title string // of the window; "" means the title of the page
	goTo  string // address to go to instead of showing anything; "" means none, see Options.link
	file  *file  // to download instead of showing anything; nil means none
}

// A file is what a visitor saves.
type file struct {
	name string
	data []byte
}

// A visit is one request of somebody who may see the page.
type visit struct {
	*http.Request
	site *Site

	// scope is what the visitor may see, for all questions to the catalog; nil means all.
	scope *repertoire.Agent
	owner bool // the visitor decides about the catalog
	// signedIn says that the browser keeps a token, so that the visitor can sign out.
	signedIn bool
	name     string // of the visitor; "" means that nobody knows
}

// may reports whether a visitor may see a page.
func (v *visit) may(p *page) bool {
	return (v.owner || !p.owner) && (v.scope == nil || !p.whole) && (!p.known || v.known())
}

// known reports whether the visitor has said who it is.
func (v *visit) known() bool { return v.owner || v.signedIn }

// made reports whether a visitor, who is known by name, has made a proposal.
func (v *visit) made(p *proposal.Proposal) bool { return v.name != "" && p.Agent == v.who().Name }

// who returns the visitor for records.
func (v *visit) who() proposal.Who {
	if v.site.opts.Key != "" {
		return proposal.Who{Agent: v.scope, Name: v.site.opts.Owner}
	}
	return proposal.ByToken(v.scope, v.name)
}

// seeing returns the scope for questions about a single skill: the owner also sees skills
// that are held back.
func (v *visit) seeing() *repertoire.Agent {
	if v.owner && v.scope == nil {
		return &repertoire.Agent{Held: true}
	}
	return v.scope
}

// agents returns the agents in whose place a visitor may ask: the own scope or, for those
// who see everything, all. The first is the visitor.
func (v *visit) agents() []*repertoire.Agent {
	if v.scope != nil {
		return []*repertoire.Agent{v.scope}
	}
	return slices.Insert(slices.Clone(v.site.catalog.Config().Agents), 0, nil)
}

// A statusError is an error with its HTTP status.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// ForAsker returns the message, which is for the visitor.
func (e *statusError) ForAsker() string { return e.err.Error() }

// message returns what a visitor reads of an error: all of it, if the visitor has started the site
// on this machine.
func (v *visit) message(err error) string {
	if v.site.opts.Key != "" {
		return err.Error()
	}
	return access.Tell(v.site.opts.Logger, v.URL.Path, err).Error()
}

// refuse returns an error about what the visitor sent.
func refuse(format string, args ...any) error {
	return &statusError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

func nothingHere(v *visit) (answer, error) {
	return answer{}, &statusError{http.StatusNotFound, errors.New("there is no such page")}
}

// handle serves a page at its address.
func (s *Site) handle(p page) {
	at := s.opts.Prefix + p.path
	if p.path == "" {
		at += "{$}"
	}
	s.mux.HandleFunc("GET "+at, s.serve(p))
	if p.post != nil {
		post := p
		post.get, post.owner = p.post, p.owner || p.decides
		s.mux.HandleFunc("POST "+at, s.serve(post))
	}
}

// serve returns the handler of a page: it lets visitors in, asks the page and shows the
// answer.
func (s *Site) serve(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, ok := s.enter(w, r)
		if !ok {
			return
		}
		if !v.may(&p) {
			s.fail(w, v, &statusError{http.StatusForbidden, v.denied(&p)})
			return
		}
		if r.Method == http.MethodPost {
			s.forms <- struct{}{}
			defer func() { <-s.forms }()
		}
		if err := r.ParseForm(); err != nil {
			s.fail(w, v, &statusError{http.StatusBadRequest, fmt.Errorf("reading the form: %w", err)})
			return
		}
		a, err := p.get(v)
		switch {
		case err != nil:
			s.fail(w, v, err)
		case a.goTo != "":
			http.Redirect(w, r, a.goTo, http.StatusSeeOther)
		case a.file != nil:
			download(w, a.file)
		default:
			s.write(w, v, &p, a, http.StatusOK)
		}
	}
}

// fail shows an error.
func (s *Site) fail(w http.ResponseWriter, v *visit, err error) {
	status := http.StatusInternalServerError
	large := (*http.MaxBytesError)(nil)
	known := (*statusError)(nil)
	switch {
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
		err = &statusError{status, fmt.Errorf("this is more than %d bytes; shorten it", large.Limit)}
	case errors.As(err, &known):
		status = known.status
	case errors.Is(err, proposal.ErrNotFound), errors.Is(err, skill.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		status = http.StatusNotFound
	case errors.Is(err, source.ErrRefused):
		status = http.StatusBadRequest
	case v.Context().Err() != nil:
		return // the visitor has left
	}
	if held, ok := errors.AsType[*search.HeldError](err); ok && !v.owner {
		err = held.ForAgent()
	}
	if status == http.StatusInternalServerError && s.opts.Key != "" { // or message does it
		s.opts.Logger.Warn("showing a page", "path", v.URL.Path, "error", err)
	}
	p := page{name: "error", title: cmp.Or(http.StatusText(status), "Error")}
	s.write(w, v, &p, answer{data: v.message(err)}, status)
}

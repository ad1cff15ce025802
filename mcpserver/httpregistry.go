package mcpserver

import (
	"net/http"

	"github.com/repertoire-skills/repertoire/internal/ard"
	"github.com/repertoire-skills/repertoire/internal/registry"
)

// forRegistry reports whether a request is for the registry. An agent may be called agents, and
// then is served at /agents/mcp, which is no identifier of an entry.
func (h *HTTP) forRegistry(r *http.Request) bool {
	return h.registry != nil && r.URL.Path != ard.AgentsPath+"/mcp" && registry.Serves(h.registry, r)
}

// visit lets a request into the registry, which then sees the scope of its caller. If the caller
// may see nothing, it answers the request and returns nil.
func (h *HTTP) visit(w http.ResponseWriter, r *http.Request) *registry.Visit {
	who, ok := h.authorized(w, r)
	if !ok {
		return nil
	}
	sc := h.scope(w, r, "")
	if sc == nil {
		return nil
	}
	o := &sc.server.opts
	e := o.event("")
	e.Client, e.Address, e.Caller = "registry", who.client(r.RemoteAddr), who.caller.Name
	return &registry.Visit{
		Agent: o.Agent, Base: h.publicURL(r) + who.path, Event: e, Observe: o.Observe,
		Take: func() ([]byte, func(), bool) {
			return h.take(w, r, func([]byte) limits { return limits{most: registry.MaxBody} })
		},
		Turn: func() (func(), error) {
			leave, err := h.turn(r, costly)
			if err != nil {
				h.noteRefused(r, "load", http.StatusServiceUnavailable)
			}
			return leave, err
		},
		Hold: func(n int) func() { return h.answers.Owe(e.Address, int64(n)).Leave },
	}
}

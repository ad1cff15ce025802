package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/repertoire-skills/repertoire/internal/api"
)

// serveHealth answers whether the catalog can be asked. It needs no token, but shows
// the number of skills only to callers that see all of them.
func (h *HTTP) serveHealth(w http.ResponseWriter, r *http.Request) {
	health := struct {
		Status string `json:"status"`
		Skills *int   `json:"skills,omitempty"`
	}{Status: "ok"}
	status := http.StatusOK
	size, err := h.size(r.Context())
	if err != nil || h.ending.Err() != nil {
		health.Status, status = "unavailable", http.StatusServiceUnavailable
	} else if who := identityOf(r); who.err == nil && who.caller.Agent == "" && h.opts.Size != nil {
		health.Skills = &size
	}
	h.answer(w, r, status, health)
}

// answer answers a request with a value as JSON.
func (h *HTTP) answer(w http.ResponseWriter, r *http.Request, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		h.opts.Logger.Debug("answering "+r.URL.Path, "error", err)
	}
}

// size returns the number of skills. It waits half a second at most, because a load
// balancer waits no longer.
func (h *HTTP) size(ctx context.Context) (int, error) {
	if h.opts.Size == nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	return h.opts.Size(ctx)
}

// serveReady answers whether the server can answer, and from how old a catalog. It needs no
// token.
func (h *HTTP) serveReady(w http.ResponseWriter, r *http.Request) {
	ready := api.Ready{State: api.Current}
	if h.opts.Ready != nil {
		state, age := h.opts.Ready(r.Context())
		ready = api.Ready{State: state, Age: age.Seconds()}
	} else if _, err := h.size(r.Context()); err != nil {
		ready.State = api.Starting
	}
	status := http.StatusOK
	if ready.State == api.Starting {
		status = http.StatusServiceUnavailable
	}
	h.answer(w, r, status, ready)
}

// serveUI hands a request to the page, when it is its turn. Its body is bounded as for MCP.
func (h *HTTP) serveUI(w http.ResponseWriter, r *http.Request) {
	_, done, ok := h.take(w, r, func([]byte) limits { return limits{} })
	if !ok {
		return
	}
	defer done()
	h.opts.UI.ServeHTTP(w, r)
	if out, ok := w.(*deadlineWriter); ok {
		h.noteRefusedPage(r, out.status)
	}
}

func (h *HTTP) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if !h.whole(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var b bytes.Buffer
	h.opts.Metrics.write(&b)
	if h.opts.More != nil {
		_ = h.opts.More(&b) // a buffer takes all
	}
	gauge := func(name, help string, n int) {
		head(&b, name, "gauge", help)
		fmt.Fprintf(&b, "%s %d\n", name, n)
	}
	if size, err := h.size(r.Context()); err == nil {
		gauge("repertoire_skills", "Skills that the catalog offers.", size)
	}
	if h.opts.Ready != nil {
		state, age := h.opts.Ready(r.Context())
		current := 0
		if state == api.Current {
			current = 1
		}
		gauge("repertoire_store_current", "Whether answers are as the shared catalog is: 1, or 0 if it is lost.", current)
		gauge("repertoire_store_age_seconds", "How old answers are, in whole seconds.", int(age.Seconds()))
	}
	gauge("repertoire_sessions", "Open sessions.", h.sessions())
	if _, err := w.Write(b.Bytes()); err != nil {
		h.opts.Logger.Debug("answering /metrics", "error", err)
	}
}

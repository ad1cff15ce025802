package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/search"
)

// What requests may take up at a time, however many clients there are.
const (
	// roomForAll is how many bytes of bodies there may be, and maxFree is how long bodies are
	// that need no room: they take less than their connections.
	roomForAll = 32 << 20
	maxFree    = 16 << 10

	// atOnce is how long a short request counts as one of those that are being answered. One
	// that takes longer, such as a run of a script, mostly waits for something else, and nobody
	// must wait for it. A long one needs much memory, and so counts for HTTPOptions.Timeout.
	atOnce = 250 * time.Millisecond
)

// answersAtOnce is how many requests are answered at once: enough for all processors, and few
// enough that they need little memory.
func answersAtOnce() int64 { return 2 * int64(runtime.GOMAXPROCS(0)) }

// limits say how much of a body is read.
type limits struct {
	text int // bytes of each text of a JSON body; 0 means all
	most int // bytes of what is then left; 0 means HTTPOptions.MaxBody
}

// maxArguments is how long a message may be but for its texts, unless its tool takes files.
const maxArguments = 256 << 10

// forText are the limits of what asks with a text, of which a search reads no more.
var forText = limits{search.MaxPrompt, maxArguments}

// limits returns the limits of a message to the server. Only tools that take files need more.
func (s *Server) limits(body []byte) limits {
	if len(body) <= search.MaxPrompt {
		return limits{}
	}
	switch tool := startOf(body).Params.Name; {
	case tool == "search_skills", tool == "suggest_skills", tool == "list_skills":
		return forText
	case s.opts.Proposals != nil && strings.HasPrefix(tool, "propose_"), s.opts.Runs != nil && isRun(tool):
		return limits{}
	}
	return limits{most: maxArguments}
}

// take waits for the turn of a request, and reads its body, which it makes readable again. If
// that fails it answers the request, and ok is false. Else the caller calls done when the request
// is answered.
func (h *HTTP) take(w http.ResponseWriter, r *http.Request, of func([]byte) limits) (body []byte, done func(), ok bool) {
	var room *pass
	if r.Method == http.MethodPost {
		if body, room, ok = h.read(w, r, of); !ok {
			return nil, nil, false
		}
	}
	if r.Header.Get("Mcp-Method") == methodListen && len(body) <= maxFree {
		return body, room.leave, true // it is a stream, which needs no more than its connection
	}
	gate, most := h.short, atOnce
	if len(body) > maxFree {
		gate, most = h.long, h.opts.Timeout
	}
	turn, ok := h.wait(w, r, gate, 1)
	if !ok {
		room.leave()
		return nil, nil, false
	}
	over := time.AfterFunc(most, turn.leave)
	return body, func() { over.Stop(); turn.leave(); room.leave() }, true
}

// wait waits until a gate lets a request in. If that takes too long it answers the request.
func (h *HTTP) wait(w http.ResponseWriter, r *http.Request, g *gate, n int64) (*pass, bool) {
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.Timeout)
	defer cancel()
	p, err := g.enter(ctx, identityOf(r).client(r.RemoteAddr), n)
	if err != nil {
		w.Header().Set("Retry-After", "1")
		h.refuse(w, r, "load", http.StatusServiceUnavailable, errors.New("the server has too much to do; try again in a second"))
	}
	return p, err == nil
}

// read reads the body of a request within the time limit and its limits, and makes it readable
// again. What it keeps of the room for bodies the caller gives back. If reading fails, read
// answers the request and returns false.
func (h *HTTP) read(w http.ResponseWriter, r *http.Request, of func([]byte) limits) (body []byte, _ *pass, ok bool) {
	n := r.ContentLength
	if n < 0 {
		n = h.opts.MaxBody // as far as anybody knows
	}
	if n > h.opts.MaxBody {
		h.tooLarge(w, r, h.opts.MaxBody)
		return nil, nil, false
	}
	var room *pass
	if n > maxFree {
		if room, ok = h.wait(w, r, h.room, n); !ok {
			return nil, nil, false
		}
	}
	defer func() {
		if !ok {
			room.leave()
		}
	}()
	control := http.NewResponseController(w)
	// Ignore the error: only connections of tests do not support deadlines.
	_ = control.SetReadDeadline(time.Now().Add(h.opts.Timeout))
	all := bytes.NewBuffer(make([]byte, 0, n+bytes.MinRead)) // which then never grows
	if _, err := all.ReadFrom(http.MaxBytesReader(w, r.Body, h.opts.MaxBody)); err != nil {
		if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
			h.tooLarge(w, r, large.Limit)
		} else {
			h.refuse(w, r, "body", http.StatusBadRequest, errors.New("the request could not be read"))
		}
		return nil, nil, false
	}
	_ = control.SetReadDeadline(time.Time{})
	body = all.Bytes()
	b := of(body)
	if b.text > 0 && len(body) > b.text {
		body = bytes.Clone(cutStrings(body, b.text)) // or all that was read would be kept
	}
	if b.most > 0 && len(body) > b.most {
		h.tooLarge(w, r, int64(b.most))
		return nil, nil, false
	}
	room.keep(int64(len(body)))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return body, room, true
}

func (h *HTTP) tooLarge(w http.ResponseWriter, r *http.Request, most int64) {
	h.refuse(w, r, "size", http.StatusRequestEntityTooLarge, fmt.Errorf("the request has more than %d bytes", most))
}

// The first version of the protocol without sessions, and where requests state their
// version.
const (
	firstStateless = "2026-07-28"
	versionHeader  = "Mcp-Protocol-Version"
	versionMeta    = "io.modelcontextprotocol/protocolVersion"
)

// isStateless reports whether a request uses the protocol without sessions. It looks
// into the body only if the headers do not say.
func isStateless(r *http.Request, body []byte) bool {
	if version := r.Header.Get(versionHeader); version != "" {
		return version >= firstStateless
	}
	if r.Header.Get(sessionHeader) != "" {
		return false
	}
	m := startOf(body)
	return m.Method == "server/discover" || m.Params.Meta[versionMeta] != nil
}

package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/turns"
	"github.com/repertoire-skills/repertoire/search"
)

// What requests may take up at a time, however many clients there are.
const (
	// roomForAll is how many bytes of bodies there may be, and maxFree is how long bodies are
	// that need no room: they take less than their connections.
	roomForAll = 32 << 20
	maxFree    = 16 << 10

	// roomForAnswers is how many bytes of answers there may be that were made and that their clients
	// have not accepted yet. copies is how often a message of the protocol is then in memory: as
	// what the tool returned, as its JSON, and as the JSON of the message.
	roomForAnswers = 64 << 20
	copies         = 4

	// atOnce is how long a quick request counts as one of those that are being answered. One
	// that takes longer, such as a run of a script, mostly waits for something else, and nobody
	// must wait for it.
	atOnce = 250 * time.Millisecond
)

// atATime is how many requests are answered at once: enough for all processors, and few
// enough that they need little memory.
func atATime() int64 { return 2 * int64(runtime.GOMAXPROCS(0)) }

// turnsOf returns how many turns a request of a class takes that is not quick. One client gets half
// of all turns at most. So it makes one thing at a time of what costs much, all clients together
// make two on two processors, and four on more.
func turnsOf(c class) int64 {
	if c == costly {
		return max(2, atATime()/4)
	}
	return 1
}

// A class says how much of the server a request takes.
type class int

const (
	quick   class = iota // next to nothing, or it waits for something else: prompts, searches, runs of scripts
	asking               // it asks other servers, waits for their answers, and reads what may be megabytes
	reading              // it reads files or lists what there is, and its answer may be large
	costly               // it makes something of many files: sections, archives, manifests
)

// limits say how much of a body is read, and what the request takes.
type limits struct {
	text  int // bytes of each text of a JSON body; 0 means all
	most  int // bytes of what is then left; 0 means HTTPOptions.MaxBody
	class class
}

// maxArguments is how long a message may be but for its texts, unless its tool takes files.
const maxArguments = 256 << 10

// forText are the limits of what asks with a text, of which a search reads no more.
var forText = limits{text: search.MaxPrompt, most: maxArguments}

// limits returns the limits of a message to the server. Only tools that take files need a long body.
func (s *Server) limits(body []byte) limits {
	m := startOf(body)
	tool := cmp.Or(s.known(m.Params.Name), m.Params.Name)
	switch {
	case m.Method == "initialize", m.Method == "ping", m.Method == "tools/list", m.Method == "server/discover", strings.HasPrefix(m.Method, "notifications/"):
		return limits{most: maxArguments}
	case m.Method != "tools/call":
		return limits{most: maxArguments, class: reading}
	case tool == "search_skills", tool == "suggest_skills":
		return forText
	case tool == "list_skills":
		return limits{text: search.MaxPrompt, most: maxArguments, class: reading}
	case tool == "find_skills":
		return limits{most: maxArguments, class: asking}
	case tool == "search_skill_files":
		return limits{most: maxArguments, class: costly}
	case s.opts.Runs != nil && isRun(tool):
		return limits{}
	case s.opts.Proposals != nil && strings.HasPrefix(tool, "propose_"):
		return limits{class: reading}
	}
	return limits{most: maxArguments, class: reading}
}

// take waits for the turn of a request, and reads its body, which it makes readable again. If
// that fails it answers the request, and ok is false. Else the caller calls done when the request
// is answered.
func (h *HTTP) take(w http.ResponseWriter, r *http.Request, of func([]byte) limits) (body []byte, done func(), ok bool) {
	var room *turns.Pass
	c := of(nil).class
	if r.Method == http.MethodPost {
		if body, c, room, ok = h.read(w, r, of); !ok {
			return nil, nil, false
		}
	}
	if r.Header.Get("Mcp-Method") == methodListen && len(body) <= maxFree {
		return body, room.Leave, true // it is a stream, which needs no more than its connection
	}
	var leave func()
	var err error
	if c == quick && len(body) <= maxFree {
		leave, err = h.enter(r, h.short, 1, atOnce)
	} else {
		leave, err = h.turn(r, c)
	}
	if err != nil {
		room.Leave()
		h.tooMuch(w, r)
		return nil, nil, false
	}
	if out, ok := w.(*deadlineWriter); ok {
		out.answered = leave
	}
	return body, func() { leave(); room.Leave() }, true
}

// turn waits for the turn of a request that is not quick. It keeps the turn until leave is called, as
// long as the work lasts: while many do it at a time, each takes longer, and all of them need memory.
// Only what takes longer than HTTPOptions.Timeout waits for something else, such as a source that is away.
func (h *HTTP) turn(r *http.Request, c class) (leave func(), err error) {
	if c != quick { // for a client that does not read its answers no more are made
		room, err := h.enter(r, h.answers, maxFree, h.opts.Timeout)
		if err != nil {
			return nil, err
		}
		room()
	}
	g := h.long
	if c == asking { // which may wait, and whoever reads must not wait for that
		g = h.asking
	}
	return h.enter(r, g, turnsOf(c), h.opts.Timeout)
}

// enter waits until a gate lets a request in, which leaves it by itself after the longest time.
func (h *HTTP) enter(r *http.Request, g *turns.Gate, n int64, longest time.Duration) (leave func(), err error) {
	p, err := h.wait(r, g, n)
	if err != nil {
		return nil, err
	}
	over := time.AfterFunc(longest, p.Leave)
	return func() { over.Stop(); p.Leave() }, nil
}

// wait waits until a gate lets a request in.
func (h *HTTP) wait(r *http.Request, g *turns.Gate, n int64) (*turns.Pass, error) {
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.Timeout)
	defer cancel()
	p, err := g.Enter(ctx, turns.Client(ctx), n)
	if err != nil {
		return nil, errLoad
	}
	return p, nil
}

// errLoad says that a request has waited too long.
var errLoad = errors.New("the server has too much to do; try again in a second")

// tooMuch answers a request that has waited too long.
func (h *HTTP) tooMuch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", "1")
	h.refuse(w, r, "load", http.StatusServiceUnavailable, errLoad)
}

// read reads the body of a request within the time limit and its limits, and makes it readable
// again. What it keeps of the room for bodies the caller gives back. If reading fails, read
// answers the request and returns false.
func (h *HTTP) read(w http.ResponseWriter, r *http.Request, of func([]byte) limits) (body []byte, c class, _ *turns.Pass, ok bool) {
	n := r.ContentLength
	if n < 0 {
		n = h.opts.MaxBody // as far as anybody knows
	}
	if n > h.opts.MaxBody {
		h.tooLarge(w, r, h.opts.MaxBody)
		return nil, c, nil, false
	}
	var room *turns.Pass
	if n > maxFree {
		var err error
		if room, err = h.wait(r, h.room, n); err != nil {
			h.tooMuch(w, r)
			return nil, c, nil, false
		}
	}
	defer func() {
		if !ok {
			room.Leave()
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
		return nil, c, nil, false
	}
	_ = control.SetReadDeadline(time.Time{})
	body = all.Bytes()
	b := of(body)
	if b.text > 0 && len(body) > b.text {
		body = bytes.Clone(cutStrings(body, b.text)) // or all that was read would be kept
	}
	if b.most > 0 && len(body) > b.most {
		h.tooLarge(w, r, int64(b.most))
		return nil, c, nil, false
	}
	room.Keep(int64(len(body)))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return body, b.class, room, true
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

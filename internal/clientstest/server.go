// Package clientstest runs agent clients as their makers ship them: skills setup writes their
// settings, and a model server of this package shows what reaches their model.
//
// The one rule: a client reaches nothing but this machine. Whatever it asks another host for
// goes to a proxy of this package, which refuses it and tells the test.
package clientstest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// A Server is a model on a loopback address that speaks the protocols of Anthropic, OpenAI
// (responses and chat) and Gemini. It calls one tool once, and then says that it is done.
type Server struct {
	URL string // without a slash at the end

	tool string // the end of the name of the tool to call
	args any    // of the call
	http *httptest.Server

	mu       sync.Mutex
	requests []Request
	strays   []string
}

// Away is what a Server notes of a request for another host.
const Away = "away: "

// Reply is the last word of the model.
const Reply = "The model is done."

// NewServer starts a server that calls a tool with arguments. A client may put something before
// the name of the tool.
func NewServer(tool string, args any) *Server {
	s := &Server{tool: tool, args: args}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close ends the server.
func (s *Server) Close() { s.http.Close() }

// Requests returns the requests for an answer of the model, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Strays returns the requests that no protocol has, as method and path, and those for other
// hosts, as Away and the host: the server is the proxy of the clients, too, and passes nothing on.
func (s *Server) Strays() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.strays)
}

// ServeHTTP answers one request of a client.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect || r.URL.IsAbs() {
		s.stray(w, Away+r.Host)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, p := range protocols() {
		if r.Method != http.MethodPost || !p.serves(r.URL.Path) {
			continue
		}
		req, err := p.read(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		req.Path, req.Body = r.URL.Path, string(body)
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
		p.answer(w, s.turn(&req), req.stream || strings.Contains(r.URL.Path, ":stream"))
		return
	}
	s.other(w, r)
}

// other answers what clients ask beside: which models there are, and how long a text is.
func (s *Server) other(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/count_tokens"):
		writeJSON(w, object{"input_tokens": 1000})
	case strings.HasSuffix(path, ":countTokens"):
		writeJSON(w, object{"totalTokens": 1000})
	case strings.HasSuffix(path, "/models"):
		writeJSON(w, object{"object": "list", "data": []object{{"id": Model, "object": "model", "created": 1, "owned_by": "test"}}})
	default:
		s.stray(w, r.Method+" "+path)
	}
}

func (s *Server) stray(w http.ResponseWriter, what string) {
	s.mu.Lock()
	s.strays = append(s.strays, what)
	s.mu.Unlock()
	http.Error(w, what+" is not here", http.StatusNotFound)
}

// A turn is what the model says: it calls a tool, or it says Reply if Call is "".
type turn struct {
	Call, Namespace string
	Args            string // JSON
}

// turn decides on the answer: the tool, until its result is there. A tool that the client keeps
// back is called through the tool that such clients have for it.
func (s *Server) turn(r *Request) turn {
	if len(r.Results) > 0 {
		return turn{}
	}
	args, _ := json.Marshal(s.args) // ignore the error: a test wrote them
	for _, t := range r.Tools {
		if strings.HasSuffix(t.Name, s.tool) {
			return turn{t.Name, t.Namespace, string(args)}
		}
	}
	name := r.KeptBack(s.tool)
	for _, t := range r.Tools {
		if t.Name == "tool_call" && name != "" {
			args, _ := json.Marshal(object{"name": name, "arguments": s.args})
			return turn{Call: t.Name, Args: string(args)}
		}
	}
	return turn{}
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // ignore the error: the client has gone
}

// writeEvents writes a stream of server-sent events. named: each has the name that is its type.
func writeEvents(w http.ResponseWriter, named bool, events ...object) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, ev := range events {
		if named {
			fmt.Fprintf(w, "event: %s\n", ev["type"])
		}
		data, _ := json.Marshal(ev) // ignore the error: maps of texts and numbers
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

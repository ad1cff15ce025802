package mcpserver

import (
	"container/list"
	"context"
	"net/http"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/access"
)

const sessionHeader = "Mcp-Session-Id"

// sessions bounds how many sessions each client has, and how many there are in all. A
// new session takes the place of an old one of the same client, so that no client can
// keep another from being served. A client is the same as for a limiter.
type sessions struct {
	perClient, all int

	mu      sync.Mutex
	byID    map[string]*httpSession
	clients map[string]*list.List // of *httpSession, the one that was used last in front
}

// An httpSession is an open session.
type httpSession struct {
	id     string
	client string
	caller access.Caller // who began it
	scope  *scope
	at     *list.Element // in the list of its client
	busy   int           // number of requests that are served
}

func newSessions(perClient, all int) *sessions {
	return &sessions{perClient: min(perClient, all), all: all, byID: make(map[string]*httpSession), clients: make(map[string]*list.List)}
}

// use notes that a request of a session is served, until the returned function is
// called. It returns false if another caller has begun the session.
func (s *sessions) use(id string, caller access.Caller) (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.byID[id]
	if x == nil {
		return func() {}, true
	}
	if x.caller != caller {
		return nil, false
	}
	x.busy++
	s.clients[x.client].MoveToFront(x.at)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		x.busy--
	}, true
}

// add notes a new session. If there are too many now, it returns the one that must end:
// of the same client or, if there are too many in all, of the client that has the most.
func (s *sessions) add(id string, client string, caller access.Caller, sc *scope) (end *httpSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.clients[client]
	if own == nil {
		own = list.New()
		s.clients[client] = own
	}
	x := &httpSession{id: id, client: client, caller: caller, scope: sc}
	x.at = own.PushFront(x)
	s.byID[id] = x
	if own.Len() > s.perClient {
		return s.take(own)
	}
	if len(s.byID) <= s.all {
		return nil
	}
	most := own
	for _, l := range s.clients {
		if l.Len() > most.Len() {
			most = l
		}
	}
	return s.take(most)
}

// take removes the session of a list that was not used for the longest time, and
// rather an idle one than a busy one.
func (s *sessions) take(l *list.List) *httpSession {
	oldest := l.Back()
	for e := oldest; e != l.Front(); e = e.Prev() {
		if e.Value.(*httpSession).busy == 0 {
			oldest = e
			break
		}
	}
	x := oldest.Value.(*httpSession)
	s.remove(x)
	return x
}

// drop forgets a session of a scope, whose client has ended it.
func (s *sessions) drop(id string, sc *scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.byID[id]; x != nil && x.scope == sc {
		s.remove(x)
	}
}

func (s *sessions) remove(x *httpSession) {
	delete(s.byID, x.id)
	l := s.clients[x.client]
	if l.Remove(x.at); l.Len() == 0 {
		delete(s.clients, x.client)
	}
}

// end ends the session, as if its client had asked for it.
func (x *httpSession) end() {
	r, err := http.NewRequest(http.MethodDelete, "/mcp", nil)
	if err != nil {
		panic(err) // unreachable: method and URL are constants
	}
	r.Header.Set(sessionHeader, x.id)
	r.Header.Set("Authorization", "Bearer server") // for the form; withCaller looks at the identity
	r = r.WithContext(context.WithValue(r.Context(), identityKey{}, identity{caller: x.caller}))
	x.scope.stateful.ServeHTTP(discard{}, r)
}

// discard is an http.ResponseWriter for answers that nobody reads.
type discard struct{}

func (discard) Header() http.Header            { return http.Header{} }
func (discard) Write(data []byte) (int, error) { return len(data), nil }
func (discard) WriteHeader(int)                {}

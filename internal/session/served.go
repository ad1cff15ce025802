package session

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"
)

const (
	maxSessions = 250      // of one client of a server
	maxServed   = 2_000    // of all clients of a server
	maxKept     = 64 << 10 // bytes of one such session; its oldest offers are forgotten first
)

// served remembers the sessions of the clients of a server, which name as many as they
// like. So they are kept in this process and bounded for each client: a new session takes
// the place of the one that the same client did not use for the longest time or, if there
// are too many in all, of the client that has the most.
type served struct {
	mu      sync.Mutex
	clients map[string][]*servedSession // the session that was used last is the last
}

// A servedSession is one session, in the form of its file.
type servedSession struct {
	session string
	used    time.Time
	lock    chan struct{} // holds a value while a prompt of the session is answered
	data    []byte
}

// openServed is open for a client of a server.
func (m *Memory) openServed(ctx context.Context, p Prompt) (*state, func()) {
	if p.Session == "" {
		return new(state), func() {}
	}
	k := m.served.find(p.Client, hash(p.Session), m.now())
	ctx, cancel := context.WithTimeout(ctx, patience(ctx))
	defer cancel()
	select {
	case k.lock <- struct{}{}:
	case <-ctx.Done():
		return new(state), func() {}
	}
	s := new(state)
	if len(k.data) > 0 && json.Unmarshal(k.data, s) != nil {
		s = new(state) // unreachable: save has written it
	}
	s.write = func(data []byte) (err error) {
		for err == nil && len(data) > maxKept && len(s.Offers) > 0 {
			s.Offers = s.Offers[(len(s.Offers)+1)/2:]
			data, err = json.Marshal(s)
		}
		k.data = data
		return err
	}
	return s, func() { <-k.lock }
}

// find returns a session of a client, a new one if there is none or it has expired.
func (s *served) find(client, session string, now time.Time) *servedSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients == nil {
		s.clients = make(map[string][]*servedSession)
	}
	old := func(k *servedSession) bool { return now.Sub(k.used).Abs() > expired }
	own := s.clients[client]
	if i := slices.IndexFunc(own, func(k *servedSession) bool { return k.session == session }); i >= 0 && !old(own[i]) {
		k := own[i]
		k.used = now
		s.clients[client] = append(slices.Delete(own, i, i+1), k)
		return k
	}
	k := &servedSession{session: session, used: now, lock: make(chan struct{}, 1)}
	s.clients[client] = append(own, k)
	for c, list := range s.clients {
		if s.clients[c] = slices.DeleteFunc(list, old); len(s.clients[c]) == 0 {
			delete(s.clients, c)
		}
	}
	s.bound(client)
	return k
}

// bound forgets a session if a client that has a new one has too many, or all have.
func (s *served) bound(client string) {
	n, most := 0, client
	for c, list := range s.clients {
		if n += len(list); len(list) > len(s.clients[most]) {
			most = c
		}
	}
	if len(s.clients[client]) > maxSessions {
		most = client
	} else if n <= maxServed {
		return
	}
	if s.clients[most] = slices.Delete(s.clients[most], 0, 1); len(s.clients[most]) == 0 {
		delete(s.clients, most)
	}
}

package mcpserver

import (
	"context"
	"slices"
	"sync"
)

// A gate divides what there is only so much of between clients. Who has to wait gets it in turn:
// a client with a thousand requests delays another one by one of them.
type gate struct {
	all, each int64 // how much there is, and how much of it one client may have

	mu      sync.Mutex
	used    int64
	clients map[string]*share // of clients that have something or wait
	waiting []*share          // of clients that wait; whose turn is next is first
}

// A share is what one client has of a gate.
type share struct {
	client string
	used   int64
	queue  []*pass // that wait, the oldest first
}

// A pass is what one request has of a gate.
type pass struct {
	gate  *gate
	of    *share
	n     int64
	given chan struct{} // closed when the request has it
}

func newGate(all, each int64) *gate {
	return &gate{all: all, each: each, clients: make(map[string]*share)}
}

// enter waits until a client may have n, or as much as a client may have at all. The caller
// gives it back with leave.
func (g *gate) enter(ctx context.Context, client string, n int64) (*pass, error) {
	p := g.queue(client, min(n, g.each))
	select {
	case <-p.given:
		return p, nil
	default:
	}
	select {
	case <-p.given:
		return p, nil
	case <-ctx.Done():
		g.cancel(p)
		return nil, ctx.Err()
	}
}

// queue has a client wait for n, which it may get at once.
func (g *gate) queue(client string, n int64) *pass {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.share(client)
	p := &pass{gate: g, of: s, n: n, given: make(chan struct{})}
	if s.queue = append(s.queue, p); len(s.queue) == 1 {
		g.waiting = append(g.waiting, s)
		g.give()
	}
	return p
}

// give gives those who wait what there is. The caller holds the lock.
func (g *gate) give() {
	for i := 0; i < len(g.waiting); {
		s := g.waiting[i]
		p := s.queue[0]
		if s.used+p.n > g.each {
			i++ // its turn stays
			continue
		}
		if g.used+p.n > g.all {
			return // what is left is kept until it is enough, or a large request would never get it
		}
		g.used, s.used = g.used+p.n, s.used+p.n
		close(p.given)
		s.queue = s.queue[1:]
		if g.waiting = slices.Delete(g.waiting, i, i+1); len(s.queue) > 0 {
			g.waiting = append(g.waiting, s)
		}
	}
}

// owe counts n for a client at once, even if it then has more than its share: as long as it does, its
// requests that ask for any wait. One debt takes no more than most of a share, so that a client can still ask
// for something small while it reads the largest answer.
func (g *gate) owe(client string, n int64) *pass {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := &pass{gate: g, of: g.share(client), n: min(n, g.each-g.each/8)}
	g.used, p.of.used = g.used+p.n, p.of.used+p.n
	return p
}

// share returns what a client has. The caller holds the lock.
func (g *gate) share(client string) *share {
	s := g.clients[client]
	if s == nil {
		s = &share{client: client}
		g.clients[client] = s
	}
	return s
}

// cancel takes a pass back, whether or not it was given.
func (g *gate) cancel(p *pass) {
	g.mu.Lock()
	i := slices.Index(p.of.queue, p)
	if i >= 0 {
		if p.of.queue = slices.Delete(p.of.queue, i, i+1); len(p.of.queue) == 0 {
			at := slices.Index(g.waiting, p.of)
			g.waiting = slices.Delete(g.waiting, at, at+1)
		}
		p.n = 0
		g.give() // the next of the client may need less
		g.forget(p.of)
	}
	g.mu.Unlock()
	if i < 0 {
		p.leave()
	}
}

// leave gives all back. Calling it again does nothing.
func (p *pass) leave() { p.keep(0) }

// keep gives back all but n.
func (p *pass) keep(n int64) {
	if p == nil { // it had to wait for nothing
		return
	}
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if n >= p.n {
		return
	}
	back := p.n - n
	p.n = n
	g.used, p.of.used = g.used-back, p.of.used-back
	g.give()
	g.forget(p.of)
}

// forget removes the share of a client that has nothing. The caller holds the lock.
func (g *gate) forget(s *share) {
	if s.used == 0 && len(s.queue) == 0 {
		delete(g.clients, s.client)
	}
}

// Package turns divides what there is only so much of between clients: requests that are answered at
// once, memory, places at the encoder.
//
// The one rule: who has to wait gets it in turn, so that a client with a thousand requests delays
// another one by one of them.
package turns

import (
	"context"
	"slices"
	"sync"
)

// A Gate divides one thing. Several goroutines may use it.
type Gate struct {
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
	most   int64   // that it may have
	queue  []*Pass // that wait, the oldest first
}

// A Pass is what one request has of a gate; nil is what a request has that need not wait.
type Pass struct {
	gate  *Gate
	of    *share
	n     int64
	given chan struct{} // closed when the request has it
}

// New returns a gate. all is how much there is, and each how much of it one client may have. This
// process itself, whose work is for no client, may have all.
func New(all, each int64) *Gate {
	return &Gate{all: all, each: each, clients: make(map[string]*share)}
}

// Enter waits until a client may have n, or as much as it may have at all. The caller gives it back with
// Pass.Leave. An error is of the context.
func (g *Gate) Enter(ctx context.Context, client string, n int64) (*Pass, error) {
	p := g.queue(client, n)
	select {
	case <-p.given:
		return p, nil
	case <-ctx.Done():
		g.cancel(p)
		return nil, ctx.Err()
	}
}

// Try is Enter for a client that does not wait: ok is false if it would have to.
func (g *Gate) Try(client string, n int64) (p *Pass, ok bool) {
	p = g.queue(client, n)
	select {
	case <-p.given:
		return p, true
	default:
		g.cancel(p)
		return nil, false
	}
}

// queue has a client wait for n, which it may get at once.
func (g *Gate) queue(client string, n int64) *Pass {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.share(client)
	p := &Pass{gate: g, of: s, n: min(n, s.most), given: make(chan struct{})}
	if s.queue = append(s.queue, p); len(s.queue) == 1 {
		g.waiting = append(g.waiting, s)
		g.give()
	}
	return p
}

// give gives those who wait what there is. The caller holds the lock.
func (g *Gate) give() {
	for i := 0; i < len(g.waiting); {
		s := g.waiting[i]
		p := s.queue[0]
		if s.used+p.n > s.most {
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

// Owe counts n for a client at once, even if it then has more than its share: as long as it does, its
// requests that ask for any wait. One debt takes no more than most of a share, so that a client can still ask
// for something small while it reads the largest answer.
func (g *Gate) Owe(client string, n int64) *Pass {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.share(client)
	p := &Pass{gate: g, of: s, n: min(n, s.most-s.most/8)}
	g.used, s.used = g.used+p.n, s.used+p.n
	return p
}

// share returns what a client has. The caller holds the lock.
func (g *Gate) share(client string) *share {
	s := g.clients[client]
	if s == nil {
		s = &share{client: client, most: g.each}
		if client == "" {
			s.most = g.all
		}
		g.clients[client] = s
	}
	return s
}

// cancel takes a pass back, whether or not it was given.
func (g *Gate) cancel(p *Pass) {
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
		p.Leave()
	}
}

// Leave gives all back. Calling it again does nothing.
func (p *Pass) Leave() { p.Keep(0) }

// Keep gives back all but n.
func (p *Pass) Keep(n int64) {
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
func (g *Gate) forget(s *share) {
	if s.used == 0 && len(s.queue) == 0 {
		delete(g.clients, s.client)
	}
}

// clientKey is the context key of the client.
type clientKey struct{}

// Background is the client for work that nobody waits for.
const Background = "\x00"

// WithClient returns a context of work for a client: a caller with a name, or else an address.
func WithClient(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// Client returns for whom the work of a context is; "" means for this process itself.
func Client(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

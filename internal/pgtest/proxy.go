package pgtest

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// A Proxy stands between clients and a server, and disturbs them. Several goroutines may
// use it.
type Proxy struct {
	server   string
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex // guards what follows
	changed  *sync.Cond // after frozen or closed was changed
	pairs    map[*pair]bool
	accepted int
	left     int64 // bytes from the server until all connections are cut; negative means no limit
	refusing bool
	frozen   bool
	closed   bool
}

// A pair is a connection of a client and the one to the server that belongs to it.
type pair struct{ client, server net.Conn }

// NewProxy starts a proxy for the server of an address, and returns the address with which
// clients reach that server through it.
func NewProxy(t testing.TB, address string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: u.Host, listener: l, pairs: make(map[*pair]bool), left: -1}
	p.changed = sync.NewCond(&p.mu)
	p.wg.Go(p.serve)
	t.Cleanup(p.close)
	u.Host = l.Addr().String()
	return p, u.String()
}

// Cut cuts all connections there are. Clients can connect again at once.
func (p *Proxy) Cut() { p.CutAfter(0) }

// CutAfter cuts all connections once the server has sent so many more bytes, wherever in an
// answer that is. Clients can connect again at once. A negative number takes that back.
func (p *Proxy) CutAfter(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = bytes
	p.cutLocked()
}

// Refuse cuts all connections, and accepts none until it is called with false.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = on
	if on {
		p.left = 0
		p.cutLocked()
	}
}

// Freeze stops passing on bytes until it is called with false: connections stay, and
// nothing arrives, as when a cable is pulled.
func (p *Proxy) Freeze(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = on
	p.changed.Broadcast()
}

// Accepted returns the number of connections so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// cutLocked cuts all connections if the limit is reached.
func (p *Proxy) cutLocked() {
	if p.left != 0 {
		return
	}
	p.left = -1
	for c := range p.pairs {
		c.close()
	}
	clear(p.pairs)
}

func (c *pair) close() {
	if tcp, ok := c.client.(*net.TCPConn); ok {
		tcp.SetLinger(0) // a reset, not an orderly end
	}
	c.client.Close()
	c.server.Close()
}

func (p *Proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed, p.left = true, 0
	p.changed.Broadcast()
	p.cutLocked()
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		c := &pair{client, server}
		if !p.add(c) {
			c.close()
			continue
		}
		p.wg.Go(func() { p.pass(c, client, server, false) })
		p.wg.Go(func() { p.pass(c, server, client, true) })
	}
}

func (p *Proxy) add(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusing || p.closed {
		return false
	}
	p.accepted++
	p.pairs[c] = true
	return true
}

// pass passes on what one side sends, and closes the pair when it ends.
func (p *Proxy) pass(c *pair, from, to net.Conn, counted bool) {
	defer func() {
		p.mu.Lock()
		delete(p.pairs, c)
		p.mu.Unlock()
		from.Close()
		to.Close()
	}()
	piece := make([]byte, 16<<10)
	for {
		n, err := from.Read(piece)
		n, cut := p.allowed(n, counted)
		if _, err2 := to.Write(piece[:n]); err != nil || err2 != nil {
			return
		}
		if cut {
			p.mu.Lock()
			p.left = 0
			p.cutLocked()
			p.mu.Unlock()
			return
		}
	}
}

// allowed returns how many of n bytes may pass, and whether all connections are cut then.
// It waits while the proxy is frozen.
func (p *Proxy) allowed(n int, counted bool) (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen && !p.closed {
		p.changed.Wait()
	}
	if !counted || p.left < 0 {
		return n, false
	}
	if int64(n) < p.left {
		p.left -= int64(n)
		return n, false
	}
	n = int(p.left)
	p.left = -1
	return n, true
}

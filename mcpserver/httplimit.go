package mcpserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Listen listens at an address: a port, ":port", or host and port. Without a
// host it is that of this machine only. An address that others can reach is
// refused if there is no token to ask them for.
func Listen(ctx context.Context, addr string, token bool) (net.Listener, error) {
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", addr, err)
	}
	ip, err := netip.ParseAddr(host)
	if !token && host != "localhost" && (err != nil || !ip.IsLoopback()) {
		return nil, openError(addr)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	// A name means what this machine's configuration says it does.
	if at, ok := l.Addr().(*net.TCPAddr); !token && (!ok || !at.IP.IsLoopback()) {
		l.Close()
		return nil, openError(addr)
	}
	return l, nil
}

func openError(addr string) error {
	return fmt.Errorf("%s can be reached from other machines, and there is no token to ask them for; give one, or listen at 127.0.0.1", addr)
}

// A limiter bounds how many requests each client may make. Clients are told
// apart by their address, of IPv6 by the network, which belongs to one.
type limiter struct {
	rate  float64
	burst int

	mu      sync.Mutex
	clients map[netip.Prefix]*rate.Limiter
}

// maxClients bounds the memory for clients; with more of them all begin anew.
const maxClients = 10_000

func newLimiter(perSecond float64) *limiter {
	return &limiter{rate: perSecond, burst: max(1, int(2*perSecond)), clients: make(map[netip.Prefix]*rate.Limiter)}
}

func (l *limiter) allow(remote string) bool {
	client := clientOf(remote)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.clients[client]
	if c == nil {
		if len(l.clients) >= maxClients {
			clear(l.clients)
		}
		c = rate.NewLimiter(rate.Limit(l.rate), l.burst)
		l.clients[client] = c
	}
	return c.AllowN(time.Now(), 1)
}

func clientOf(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	bits, ip := 32, at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		bits = 64
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// A patient writer lets streams live, but gives up on a client that does not
// accept what is written.
type patient struct {
	http.ResponseWriter
	timeout time.Duration
	status  int
}

// Unwrap lets an http.ResponseController find what it controls.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *patient) WriteHeader(status int) {
	p.status = status
	p.extend()
	p.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (p *patient) Write(data []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(data)
}

// extend gives the client time for what is written next. A connection that
// knows no deadline is one of a test.
func (p *patient) extend() {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(p.timeout))
}

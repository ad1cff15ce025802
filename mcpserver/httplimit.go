package mcpserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/repertoire-skills/repertoire/internal/turns"
)

// Listen listens at an address: a port, ":port", or host and port. Without a host it
// listens on the loopback address of this machine. It refuses an address that other
// machines can reach, unless requests must bear a token.
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
	// Check again: "localhost" may be configured to mean another address.
	if at, ok := l.Addr().(*net.TCPAddr); !token && (!ok || !at.IP.IsLoopback()) {
		l.Close()
		return nil, openError(addr)
	}
	return l, nil
}

func openError(addr string) error {
	return fmt.Errorf("%s can be reached from other machines, and there is no token to ask them for; \"skills token add\" makes one, or listen at 127.0.0.1", addr)
}

// A limiter bounds how many requests each client may make. A client is a caller with a
// name, wherever it is, or else an IPv4 address or an IPv6 network (/64), which usually
// belongs to one client; see identity.client.
type limiter struct {
	rate  float64
	burst int

	mu      sync.Mutex
	clients map[string]*rate.Limiter
}

// maxClients bounds the memory for clients. When there are more, all counts start again.
const maxClients = 10_000

func newLimiter(perSecond float64) *limiter {
	return &limiter{rate: perSecond, burst: max(1, int(2*perSecond)), clients: make(map[string]*rate.Limiter)}
}

func (l *limiter) allow(client string) bool {
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

// addressOf returns the address or network of a client.
func addressOf(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	bits, ip := 32, at.Addr().Unmap().WithZone("")
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

// A deadlineWriter gives each write a deadline of its own. So streams may last for
// ever, but a client that does not accept what is written is cut off. A long piece counts
// as an answer of the client until he has accepted it.
type deadlineWriter struct {
	http.ResponseWriter
	timeout  time.Duration
	status   int
	answered func()                                               // is called when the answer is there, see HTTP.take; nil means that nothing is
	owe      func(n int) *turns.Pass                              // counts bytes of an answer; nil before the client is known
	fail     func(w http.ResponseWriter, status int, text string) // writes an error; nil means http.Error
}

// Unwrap returns the original writer to an http.ResponseController.
func (w *deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *deadlineWriter) WriteHeader(status int) {
	w.status = status
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// begun is how long a piece is at least that comes of an answer and not of the beginning of a stream.
const begun = 2 << 10

func (w *deadlineWriter) Write(data []byte) (int, error) {
	if len(data) > begun && w.answered != nil {
		w.answered()
	}
	if len(data) > maxFree && w.owe != nil {
		defer w.owe(copies * len(data)).Leave()
	}
	w.extend()
	return w.ResponseWriter.Write(data)
}

// ReadFrom implements io.ReaderFrom: it writes in small pieces, so that an answer that a client does not
// accept takes little beside its source, which others may share.
func (w *deadlineWriter) ReadFrom(r io.Reader) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, r, make([]byte, 8<<10))
}

// extend moves the write deadline. It ignores the error: only connections of tests do
// not support deadlines.
func (w *deadlineWriter) extend() {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout))
}

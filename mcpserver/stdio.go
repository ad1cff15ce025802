package mcpserver

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves one client, which writes to r and reads from w, until r or ctx ends;
// neither is an error. It answers the requests that arrived before r ended.
func (s *Server) Serve(ctx context.Context, r io.Reader, w io.Writer) error {
	t := &draining{Transport: &mcp.IOTransport{Reader: io.NopCloser(r), Writer: unclosed{w}}}
	// Cancelling ctx could cut an answer in two, so it only closes the session.
	session, err := s.mcp.Connect(context.WithoutCancel(ctx), t, nil)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { session.Close() })
	defer stop()
	if err = session.Wait(); ctx.Err() != nil {
		return nil
	}
	return err
}

// unclosed is a writer that ignores Close, because its owner closes it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// drain is how long the server waits for answers after the end of the input.
const drain = 10 * time.Second

// methodListen is a request that is answered only when its client goes.
const methodListen = "subscriptions/listen"

// draining is a transport that reports the end of its input only after the requests
// before it have been answered. The protocol library would drop them.
type draining struct{ mcp.Transport }

func (d *draining) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	return &drainingConn{Connection: c, asked: make(map[jsonrpc.ID]bool)}, err
}

type drainingConn struct {
	mcp.Connection

	mu    sync.Mutex
	asked map[jsonrpc.ID]bool // requests without an answer yet
	idle  context.CancelFunc  // called when asked becomes empty; nil before the input ends
}

func (c *drainingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.wait(ctx)
		return nil, err
	}
	if req, ok := m.(*jsonrpc.Request); ok && req.IsCall() && req.Method != methodListen {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked[req.ID] = true
	}
	return m, nil
}

func (c *drainingConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if res, ok := m.(*jsonrpc.Response); ok {
		defer c.answered(res.ID) // after the write
	}
	return c.Connection.Write(ctx, m)
}

func (c *drainingConn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.asked, id)
	c.check()
}

// check ends the wait for answers if none is missing; the caller holds the lock.
func (c *drainingConn) check() {
	if len(c.asked) == 0 && c.idle != nil {
		c.idle()
	}
}

// Close also ends the wait for answers.
func (c *drainingConn) Close() error {
	c.mu.Lock()
	clear(c.asked)
	c.check()
	c.mu.Unlock()
	return c.Connection.Close()
}

// wait waits until all requests are answered, at most for the time drain.
func (c *drainingConn) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drain)
	defer cancel()
	c.mu.Lock()
	c.idle = cancel
	c.check()
	c.mu.Unlock()
	<-ctx.Done()
}

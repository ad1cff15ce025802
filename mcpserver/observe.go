package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// eventKey is the context key of the *Event of a request.
type eventKey struct{}

// eventOf returns the event of the request that is being served, which its
// handler may add to.
func eventOf(ctx context.Context) *Event {
	if e, ok := ctx.Value(eventKey{}).(*Event); ok {
		return e
	}
	return new(Event)
}

// observe is the middleware around every request: it keeps errors short and
// tells Options.Observe.
func (s *Server) observe(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		e, start := &Event{Method: method}, time.Now()
		res, err := next(context.WithValue(ctx, eventKey{}, e), method, req)
		if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil && tool.IsError {
			e.Failed = true
			for _, c := range tool.Content {
				if text, ok := c.(*mcp.TextContent); ok {
					text.Text = message(text.Text)
				}
			}
		}
		if err != nil {
			e.Failed, err = true, short(err)
		}
		if e.Seconds = time.Since(start).Seconds(); s.opts.Observe != nil {
			s.opts.Observe(*e)
		}
		return res, err
	}
}

// message is an error as it is shown: what it quotes of a request may be long
// and hold anything.
func message(s string) string { return words.Shorten(words.Clean(s), maxMessage) }

// short returns err with a message that is not too long, and without data that
// is no JSON: the protocol library quotes a URI as Go does, and could not send
// that.
func short(err error) error {
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		return err
	}
	data := wire.Data
	if !json.Valid(data) {
		data = nil
	}
	return &jsonrpc.Error{Code: wire.Code, Message: message(wire.Message), Data: data}
}

// calm is a handler for the log of the protocol library, which takes for errors
// what is only a client's mistake, or its having gone.
type calm struct{ slog.Handler }

func (c calm) Enabled(ctx context.Context, level slog.Level) bool {
	return c.Handler.Enabled(ctx, min(level, slog.LevelInfo))
}

func (c calm) Handle(ctx context.Context, r slog.Record) error {
	r.Level = min(r.Level, slog.LevelInfo)
	return c.Handler.Handle(ctx, r)
}

func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler { return calm{c.Handler.WithAttrs(attrs)} }

func (c calm) WithGroup(name string) slog.Handler { return calm{c.Handler.WithGroup(name)} }

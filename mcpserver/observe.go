package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/turns"
	"github.com/repertoire-skills/repertoire/usage"
)

// requestKey is the context key of the *request.
type requestKey struct{}

// A request is what is known of a request that is being answered.
type request struct {
	event  usage.Event
	called string               // the tool, as the client names it
	call   *mcp.CallToolRequest // nil for other requests
	client string               // see ClientName
}

func requestOf(ctx context.Context) *request { return ctx.Value(requestKey{}).(*request) }

// eventOf returns the event of the current request. Handlers may change it.
func eventOf(ctx context.Context) *usage.Event { return &requestOf(ctx).event }

// observer returns the middleware around every request: it shortens errors and calls
// Options.Observe.
func observer(o *Options) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			r, start := &request{event: o.event(method), client: nameOf(req)}, time.Now()
			e := &r.event
			e.Address, e.Caller = clientOf(req)
			// A session has the context of its first request, which may be of another address.
			res, err := next(context.WithValue(turns.WithClient(ctx, e.Address), requestKey{}, r), method, req)
			if tool, ok := res.(*mcp.CallToolResult); ok && tool != nil && tool.IsError {
				e.Failed = true
				for _, c := range tool.Content {
					if text, ok := c.(*mcp.TextContent); ok {
						text.Text = message(text.Text)
					}
				}
			}
			if err != nil {
				e.Failed, err = true, sendable(err)
			}
			if e.Duration = cmp.Or(e.Duration, time.Since(start)); o.Observe != nil {
				o.Observe(*e)
			}
			return res, err
		}
	}
}

// event returns the start of an event of the server.
func (o *Options) event(call string) usage.Event {
	e := usage.Event{Client: "mcp", Call: call}
	if o.Agent != nil {
		e.Agent = o.Agent.Name
	}
	return e
}

// ClientName returns what the client of a request calls itself, see clientInfo in the protocol; ""
// means that it does not say. ctx is what a server gives to its catalog and to its Options.
func ClientName(ctx context.Context) string {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok {
		return ""
	}
	return r.client
}

// nameOf returns what the client of a request calls itself.
func nameOf(req mcp.Request) string {
	var info *mcp.Implementation
	r, ok := req.(interface{ ClientInfo() *mcp.Implementation })
	session, _ := req.GetSession().(*mcp.ServerSession)
	// The method panics for a request of our own without params, which only older clients send.
	if params := reflect.ValueOf(req.GetParams()); ok && params.Kind() == reflect.Pointer && !params.IsNil() {
		info = r.ClientInfo()
	} else if session != nil && session.InitializeParams() != nil {
		info = session.InitializeParams().ClientInfo
	}
	if info == nil {
		return ""
	}
	return info.Name
}

// clientOf returns the client and the caller of an HTTP request, see HTTP.serveScope.
func clientOf(req mcp.Request) (client, caller string) {
	extra := req.GetExtra()
	if extra == nil {
		return "", ""
	}
	if extra.TokenInfo != nil {
		caller = extra.TokenInfo.UserID
	}
	return extra.Header.Get(clientName), caller
}

// message returns the text of an error as it is shown: shortened and without control
// characters, because it may quote a request.
func message(s string) string { return tidy.Shorten(tidy.Clean(s), maxMessage) }

// sendable returns err with a short message, and without data that is not JSON: the
// protocol library puts a URI there in Go's quotes, and then fails to send it.
func sendable(err error) error {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return err
	}
	data := wire.Data
	if !json.Valid(data) {
		data = nil
	}
	return &jsonrpc.Error{Code: wire.Code, Message: message(wire.Message), Data: data}
}

// infoHandler lowers messages of the protocol library to the level Info: the library
// logs as errors what are only mistakes of a client, or clients that have gone.
type infoHandler struct{ slog.Handler }

func (h infoHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, min(level, slog.LevelInfo))
}

func (h infoHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Level = min(r.Level, slog.LevelInfo)
	return h.Handler.Handle(ctx, r)
}

func (h infoHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return infoHandler{h.Handler.WithAttrs(attrs)}
}

func (h infoHandler) WithGroup(name string) slog.Handler {
	return infoHandler{h.Handler.WithGroup(name)}
}

package trial

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// tryServer asks an MCP server for its tools. It starts the server, unless that has a URL.
func tryServer(ctx context.Context, r setup.Registration) *setup.Answer {
	hint := `"skills setup" writes the entry anew`
	var stderr output
	start := time.Now()
	bearer := new(bearing)
	transport, err := transportTo(ctx, r, bearer, &stderr)
	tools := 0
	if err == nil {
		tools, err = list(ctx, transport)
	}
	refused := bearer.refused.Load()
	if refused != nil {
		hint = elsewhere(*refused)
	} else if r.URL != "" {
		hint = elsewhere(fmt.Sprint(err))
	}
	a := &setup.Answer{TookMS: time.Since(start).Milliseconds(), Tools: tools, Hint: hint}
	switch {
	case refused != nil:
		a.Problem, a.Refused = *refused, true
	case ctx.Err() != nil:
		a.Problem = fmt.Sprintf("it has not listed its tools within %v%s", limit, stderr.printed())
	case err != nil:
		a.Problem = fmt.Sprintf("%v%s", err, stderr.printed())
	case tools == 0:
		a.Problem = "it has no tools"
	default:
		a.OK, a.Hint = true, ""
	}
	return a
}

// elsewhere returns what to do about a server with a URL that does not answer as it should.
func elsewhere(problem string) string {
	switch {
	case isRefusal(problem):
		return "ask whoever runs the server for a token, and set it where the client starts"
	case strings.Contains(problem, "environment variable"):
		return "set the variable where the client starts"
	case strings.Contains(problem, "unknown authority"):
		return "let this machine trust the authority, or name the file with its certificate in $SSL_CERT_FILE"
	}
	return "check the URL and the token, and whether the server runs"
}

// transportTo returns the way to a server, which it starts or which has a URL.
func transportTo(ctx context.Context, r setup.Registration, bearer *bearing, stderr io.Writer) (mcp.Transport, error) {
	if r.URL == "" {
		cmd := exec.CommandContext(ctx, r.Words[0], r.Words[1:]...)
		cmd.Env, cmd.Stderr = environ(r.Environ...), stderr
		cmd.WaitDelay = time.Second
		return &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Second}, nil
	}
	if name := r.TokenEnv; name != "" {
		var err error
		if bearer.token, err = endpoint.ReadKey(name, true); err != nil {
			return nil, err
		}
	}
	client := endpoint.Client(&http.Client{Transport: bearer})
	return &mcp.StreamableClientTransport{Endpoint: r.URL, HTTPClient: &client, DisableStandaloneSSE: true, MaxRetries: -1}, nil
}

// bearing adds a token to requests; "" adds none. It notes that a server refuses it.
type bearing struct {
	token   string
	refused atomic.Pointer[string] // what to say of it
}

func (b *bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && endpoint.Refused(a.StatusCode) {
		b.refused.Store(new(fmt.Sprintf("%s%s: status %d", endpoint.RefusedBy, r.URL.Host, a.StatusCode)))
	}
	return a, err
}

// list returns how many tools a server has.
func list(ctx context.Context, transport mcp.Transport) (int, error) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "skills-setup"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return 0, fmt.Errorf("starting it: %w", err)
	}
	defer session.Close()
	r, err := session.ListTools(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("listing its tools: %w", err)
	}
	return len(r.Tools), nil
}

// Package apiclient asks a server which skills fit a prompt, see package internal/api.
//
// The one rule: prompts and the token go to the server that was named, and to nobody else:
// not over a connection that others can read, unless that is allowed, and not to where a
// redirect leads. No error holds the token.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 1 << 20

// Options of New; nil means all defaults.
type Options struct {
	TokenEnv string // the environment variable with the token; "" means that there is none
	Insecure bool   // prompts may go to another machine over plain HTTP

	// Connections is how many idle connections stay open; 0 means 1.
	Connections int
}

// A Client asks one server. Several goroutines may use it.
type Client struct {
	base     *url.URL // ends without a slash
	loopback bool     // the server is on this machine
	opts     Options
	http     http.Client
}

// Parse checks the URL of a server: its root, or its address for MCP, such as
// https://skills.example.com/mcp. It returns the root.
func Parse(raw string, insecure bool) (*url.URL, error) {
	u, err := endpoint.ParseBase(raw)
	if err != nil {
		return nil, errors.New(strings.Replace(err.Error(), "base URL", "the URL of the server", 1))
	}
	if endpoint.Exposed(u) && !insecure {
		return nil, fmt.Errorf("others can read what is sent to %s: use https://, or allow that with --insecure", u.Host)
	}
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/mcp"), ""
	return u, nil
}

// New returns a Client of the server at a URL, see Parse.
func New(raw string, o *Options) (*Client, error) {
	c := &Client{}
	if o != nil {
		c.opts = *o
	}
	var err error
	if c.base, err = Parse(raw, c.opts.Insecure); err != nil {
		return nil, err
	}
	if err := endpoint.CheckKeyName(c.opts.TokenEnv); err != nil {
		return nil, err
	}
	plain := *c.base
	plain.Scheme = "http"
	c.loopback = !endpoint.Exposed(&plain)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, max(1, c.opts.Connections)
	c.http = endpoint.Client(&http.Client{Transport: transport})
	return c, nil
}

// Host returns the host of the server, for messages.
func (c *Client) Host() string { return c.base.Host }

// Suggest asks for the skills that fit a prompt. The working folder goes only to a server on
// this machine.
func (c *Client) Suggest(ctx context.Context, p api.Prompt) (*api.Suggestion, error) {
	if !c.loopback {
		p.Dir = ""
	}
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	s, err := c.post(ctx, body)
	if status, ok := errors.AsType[*StatusError](err); err != nil && !(ok && endpoint.Refused(status.Status)) { // which names the host
		return nil, fmt.Errorf("asking %s: %w", c.base.Host, err)
	}
	return s, err
}

func (c *Client) post(ctx context.Context, body []byte) (*api.Suggestion, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+api.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	token := ""
	if c.opts.TokenEnv != "" {
		if token, err = endpoint.ReadKey(c.opts.TokenEnv, true); err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := endpoint.Send(&c.http, req, maxAnswer)
	switch {
	case err != nil:
		return nil, err
	case !a.OK():
		return nil, &StatusError{Status: a.Status, RetryAfter: endpoint.RetryAfter(a.Header.Get("Retry-After"), time.Now()), Message: endpoint.Tidy(endpoint.Scrubber(token, nil).Replace(a.Message())) + a.Hint(endpoint.KeyHint(token, c.opts.TokenEnv), " (is it a server of this program?)")}
	case a.Cut:
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	s := new(api.Suggestion)
	if err := json.Unmarshal(a.Body, s); err != nil {
		return nil, fmt.Errorf("the answer is not that of a server of this program: %w", err)
	}
	return s, nil
}

// A StatusError is an answer that is none.
type StatusError struct {
	Status     int
	Message    string
	RetryAfter time.Duration // that the server wants the client to wait; 0 means that it says nothing
}

func (e *StatusError) Error() string {
	if endpoint.Refused(e.Status) {
		return fmt.Sprintf("%s; status %d", e.Message, e.Status) // who refuses stands first
	}
	return fmt.Sprintf("status %d: %s", e.Status, e.Message)
}

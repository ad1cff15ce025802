// Package openai connects to a server that speaks OpenAI's protocol: its address, its key, and
// the requests that go-openai makes. The one rule: the caller reads each response itself.
//
// We use go-openai's types for requests and its code that sends them: the address with its
// api-version, the header for the key (Azure's or a bearer token), the JSON body. We do not use
// its code that reads answers: it takes an error or an HTML page in a successful answer for an
// empty or puzzling one, it reads answers of any length, and its errors repeat whole bodies and
// drop the headers, including Retry-After. So we give it an exchange in place of an HTTP client,
// which keeps the response for us.
package openai

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// Config says where a server is, and what it needs to let requests in.
type Config struct {
	BaseURL string
	Model   string // or, for Azure, the name of its deployment, which may be a part of the address
	Method  string // that people paste behind the base URL, such as "/embeddings"

	Key    string // "" means that it is in the environment variable KeyEnv
	KeyEnv string // see endpoint.ReadOpenAIKey

	Azure         bool // send the key in the header api-key; Azure's own hosts imply it
	AllowInsecure bool // credentials may go over plain http to another machine
	Headers       map[string]string
	HTTPClient    *http.Client // nil means a client with the default transport
}

// A Conn sends requests to one server. It holds the secrets, so keep a pointer to it: printing
// what holds a pointer does not print the key.
type Conn struct {
	Address endpoint.Address
	KeyHint string // advice for a key that was not accepted

	cfg     api.ClientConfig
	client  http.Client
	headers map[string]string
	scrub   *strings.Replacer // replaces the secrets in messages from the server
}

// New checks where a server is, and reads the key from the environment. It does not connect.
func New(cfg Config) (*Conn, error) {
	if err := endpoint.CheckHeaders(cfg.Headers); err != nil {
		return nil, err
	}
	a, err := endpoint.ParseAddress(cfg.BaseURL, cfg.Model, cfg.Method)
	if err != nil {
		return nil, err
	}
	key, name := strings.TrimSpace(cfg.Key), ""
	if key == "" {
		if key, name, err = endpoint.ReadOpenAIKey(cfg.KeyEnv); err != nil {
			return nil, err
		}
	}
	if !cfg.AllowInsecure {
		if err := endpoint.CheckSecrecy(a, key, name, cfg.Headers); err != nil {
			return nil, err
		}
	}
	c := &Conn{
		Address: a, KeyHint: endpoint.KeyHint(key, name), cfg: api.DefaultConfig(key), client: endpoint.Client(cfg.HTTPClient),
		headers: maps.Clone(cfg.Headers), scrub: endpoint.Scrubber(key, cfg.Headers),
	}
	c.cfg.BaseURL, c.cfg.APIVersion = a.URL, a.Version
	if cfg.Azure || a.Azure {
		// This type changes only the header. APITypeAzure would also insert a
		// deployment into addresses that have one already or need none.
		c.cfg.APIType = api.APITypeCloudflareAzure
	}
	return c, nil
}

// Send has call make one request, and returns its response, whatever the status. The errors of
// a request that was not sent are a *RequestError; no error repeats the URL.
func (c *Conn) Send(call func(*api.Client) error) (*http.Response, error) {
	x := &exchange{conn: c}
	cfg := c.cfg
	cfg.HTTPClient = x
	err := call(api.NewClientWithConfig(cfg))
	if x.response == nil && err == nil {
		err = errors.New("no request was sent") // unreachable: the library sends one or fails
	}
	if x.response == nil && !x.sent {
		err = &RequestError{err}
	}
	return x.response, err
}

// Models lists the models of the server, in at most limit bytes.
func (c *Conn) Models(ctx context.Context, limit int) (endpoint.Answer, error) {
	resp, err := c.Send(func(client *api.Client) error {
		_, err := client.ListModels(ctx)
		return err
	})
	if resp == nil {
		return endpoint.Answer{}, err
	}
	return endpoint.Read(resp, limit)
}

// Tidy prepares a text from the server for a message: short and without secrets.
func (c *Conn) Tidy(text string) string { return endpoint.Tidy(c.scrub.Replace(text)) }

// A RequestError means that the library refused to send a request.
type RequestError struct{ error }

// An exchange is one request and its response. It keeps the response for us and gives
// go-openai an empty one, so that the library has nothing to decode.
type exchange struct {
	conn     *Conn
	sent     bool
	response *http.Response
}

// Do implements go-openai's HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	for name, value := range x.conn.headers {
		req.Header.Set(name, value)
	}
	x.sent = true
	resp, err := endpoint.Do(&x.conn.client, req)
	if err != nil {
		return nil, err
	}
	x.response = resp
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

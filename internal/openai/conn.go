// Package openai connects to a server that speaks OpenAI's protocol: its address, its key, and
// the header of each request. The one rule: the caller reads each response itself.
package openai

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

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

	key     string // "" means none
	azure   bool   // the key goes in the header api-key
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
	return &Conn{
		Address: a, KeyHint: endpoint.KeyHint(key, name), key: key, azure: cfg.Azure || a.Azure, client: endpoint.Client(cfg.HTTPClient),
		headers: maps.Clone(cfg.Headers), scrub: endpoint.Scrubber(key, cfg.Headers),
	}, nil
}

// Send posts a JSON body to a method, such as "/embeddings", or asks for what is there if body is
// nil. It returns the response, whatever its status. accept is the wanted media type. No error
// repeats the URL.
func (c *Conn) Send(ctx context.Context, method string, body []byte, accept string) (*http.Response, error) {
	verb, address := http.MethodPost, c.Address.URL+method
	if body == nil {
		verb = http.MethodGet
	}
	if v := c.Address.Version; v != "" {
		address += "?" + url.Values{"api-version": {v}}.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, verb, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("base URL is malformed") // unreachable: New has parsed it
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", accept)
	switch {
	case c.key == "":
	case c.azure:
		req.Header.Set("Api-Key", c.key)
	default:
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	for name, value := range c.headers {
		req.Header.Set(name, value)
	}
	return endpoint.Do(&c.client, req)
}

// Models lists the models of the server, in at most limit bytes.
func (c *Conn) Models(ctx context.Context, limit int) (endpoint.Answer, error) {
	resp, err := c.Send(ctx, "/models", nil, "application/json")
	if err != nil {
		return endpoint.Answer{}, err
	}
	return endpoint.Read(resp, limit)
}

// Tidy prepares a text from the server for a message: short and without secrets.
func (c *Conn) Tidy(text string) string { return endpoint.Tidy(c.scrub.Replace(text)) }

// Package remote reranks with a server: Jina, Cohere, Voyage, TEI, or a server that
// speaks one of their protocols (vLLM, llama.cpp, LiteLLM and others). Its one rule: a
// user is waiting, so it never sends a request twice.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/rerank"
)

// Config says where the server is and which protocol it speaks.
type Config struct {
	API   API    // the protocol, see APIs
	Model string // the model's name; "" is allowed for TEI, which has only one model

	// BaseURL is the address without the final "/rerank": http or https, without
	// query, user and password. It ends in /v1 for Jina, Voyage and most local
	// servers, and in /v2 for Cohere.
	BaseURL string

	// KeyEnv names the environment variable that holds the key. The variable must
	// be set. The key is never sent over plain http to another machine. "" means
	// that no key is sent.
	KeyEnv string

	MaxChars int // characters of the query and of each document that are sent; 0 means 4,000
}

// Options hold the dependencies of a Reranker.
type Options struct {
	// HTTPClient sends the requests; nil means a client with the default
	// transport. Redirects are refused, whatever the client's policy.
	HTTPClient *http.Client
}

// ErrUnavailable means that the server gave no scores: it could not be reached, refused
// the request, or sent something that is not scores.
var ErrUnavailable = errors.New("reranker unavailable")

// A Reranker sends requests to one server.
type Reranker struct {
	cfg    Config
	url    string
	key    *string // a pointer, so that printing a Reranker does not print the key
	client http.Client
}

var _ rerank.Reranker = (*Reranker)(nil)

// New returns a reranker for the server of cfg. It reads the key from the environment
// but does not connect.
func New(cfg Config, opts *Options) (*Reranker, error) {
	opts = cmp.Or(opts, new(Options))
	r := &Reranker{cfg: cfg, client: endpoint.Client(opts.HTTPClient)}
	r.cfg.MaxChars = cmp.Or(cfg.MaxChars, 4000)
	if err := r.configure(); err != nil {
		return nil, fmt.Errorf("reranker: %w", err)
	}
	return r, nil
}

// configure checks the configuration and sets the other fields of r.
func (r *Reranker) configure() error {
	cfg := &r.cfg
	if err := cfg.API.check(); err != nil {
		return err
	}
	if cfg.Model == "" && cfg.API != TEI {
		return errors.New("model is empty")
	}
	if cfg.MaxChars < 0 {
		return errors.New("MaxChars is negative")
	}
	base, err := endpoint.ParseBase(cfg.BaseURL)
	if err != nil {
		return err
	}
	// People also paste the full address of the endpoint.
	r.url = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(base.String(), "/"), "/rerank"), "/") + "/rerank"
	return r.readKey(base)
}

func (r *Reranker) readKey(base *url.URL) error {
	r.key = new(string)
	name := r.cfg.KeyEnv
	if name == "" {
		return nil
	}
	key, err := endpoint.ReadKey(name, true)
	if err != nil {
		return err
	}
	if endpoint.Exposed(base) {
		return fmt.Errorf("the key in %s would go over plain http to %s; use https or no key", name, base.Hostname())
	}
	*r.key = key
	return nil
}

// Rerank sends one request. Its errors wrap ErrUnavailable or the error of ctx, and never
// contain the key.
func (r *Reranker) Rerank(ctx context.Context, query string, documents []string) ([]float64, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	texts := make([]string, len(documents))
	for i, text := range documents {
		texts[i] = endpoint.Clip(text, r.cfg.MaxChars)
	}
	body, err := r.cfg.API.request(r.cfg.Model, endpoint.Clip(query, r.cfg.MaxChars), texts)
	if err != nil {
		return nil, err
	}
	answer, err := r.post(ctx, body)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("reranking: %w", ctx.Err())
	case err != nil:
		return nil, r.failure(err.Error(), "")
	case !answer.OK():
		return nil, r.failure(fmt.Sprintf("http %d: %s", answer.Status, answer.Message()), answer.Hint(endpoint.KeyHint(*r.key, r.cfg.KeyEnv), " (check the base URL and the model: nothing is at "+r.url+")"))
	case answer.Cut:
		return nil, r.failure(fmt.Sprintf("the answer is longer than %d bytes", maxAnswer(body)), "")
	}
	scores, err := decode(answer.Body, len(documents))
	if err != nil {
		return nil, r.failure(err.Error(), "")
	}
	return scores, nil
}

func (r *Reranker) post(ctx context.Context, body []byte) (endpoint.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return endpoint.Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if *r.key != "" {
		req.Header.Set("Authorization", "Bearer "+*r.key)
	}
	return endpoint.Send(&r.client, req, maxAnswer(body))
}

// maxAnswer returns how many bytes of the answer to read. Some servers repeat the
// documents in it, and escape more characters than the request does.
func maxAnswer(request []byte) int { return 256<<10 + 6*len(request) }

// failure returns an error with the server's message and a hint. It removes the key
// before it shortens the message.
func (r *Reranker) failure(text, hint string) error {
	who := string(r.cfg.API)
	if r.cfg.Model != "" {
		who = "model " + r.cfg.Model
	}
	return fmt.Errorf("%w: %s: %s%s", ErrUnavailable, who, endpoint.Tidy(endpoint.Scrubber(*r.key, nil).Replace(text)), hint)
}

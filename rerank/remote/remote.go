// Package remote reranks with a server: Jina, Cohere and Voyage, those that
// speak the protocol of one of them (vLLM, llama.cpp, LiteLLM and others), and
// TEI. A caller has a user waiting, so that nothing is sent twice.
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
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rerank"
)

// Config says where the server is and what it speaks.
type Config struct {
	// API is the protocol, one of APIs.
	API API

	// BaseURL is the address up to "/rerank", with http or https, without a
	// query, user or password. For Jina, Voyage and most local servers it ends
	// in /v1, for Cohere in /v2.
	BaseURL string

	// Model is the model's name. TEI has one model only and needs none.
	Model string

	// KeyEnv names the environment variable that holds the key, which is then
	// never sent over plain http to another machine; empty means that no key
	// is sent. The variable must be set.
	KeyEnv string

	// MaxChars is the number of characters after which the query and each
	// document are cut before they are sent; 0 means 4,000.
	MaxChars int
}

// Options replace what New takes from its surroundings.
type Options struct {
	// HTTPClient sends the requests; nil means a client with the default
	// transport. Redirects are refused whatever its policy.
	HTTPClient *http.Client
}

// ErrUnavailable says that the server gave no scores: it could not be reached,
// refused, or answered something else.
var ErrUnavailable = errors.New("reranker unavailable")

// A Reranker asks one server.
type Reranker struct {
	cfg    Config
	url    string
	key    *secret
	client http.Client
}

// A secret is behind a pointer, so that printing a Reranker does not print it.
type secret struct{ text string }

var _ rerank.Reranker = (*Reranker)(nil)

// New returns a reranker for the server of cfg. It reads the key from the
// environment and does not connect.
func New(cfg Config, opts *Options) (*Reranker, error) {
	if opts == nil {
		opts = &Options{}
	}
	r := &Reranker{cfg: cfg, client: endpoint.Client(opts.HTTPClient)}
	r.cfg.MaxChars = cmp.Or(cfg.MaxChars, 4000)
	if err := r.configure(); err != nil {
		return nil, fmt.Errorf("reranker: %w", err)
	}
	return r, nil
}

// configure checks the configuration and makes the rest of r from it.
func (r *Reranker) configure() error {
	cfg := &r.cfg
	if err := cfg.API.check(); err != nil {
		return err
	}
	if cfg.Model == "" && cfg.API.needsModel() {
		return errors.New("model is empty")
	}
	if cfg.MaxChars < 0 {
		return errors.New("the number of characters is negative")
	}
	base, err := endpoint.ParseBase(cfg.BaseURL)
	if err != nil {
		return err
	}
	// People paste the address of the endpoint.
	r.url = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(base.String(), "/"), "/rerank"), "/") + "/rerank"
	return r.readKey(base)
}

func (r *Reranker) readKey(base *url.URL) error {
	r.key = &secret{}
	name := r.cfg.KeyEnv
	if name == "" {
		return nil
	}
	key, err := endpoint.ReadKey(name)
	switch {
	case err != nil:
		return err
	case key == "":
		return fmt.Errorf("environment variable %s for the key is not set", name)
	case endpoint.Exposed(base):
		return fmt.Errorf("the key in %s would go over plain http to %s; use https or no key", name, base.Hostname())
	}
	r.key.text = key
	return nil
}

// Rerank asks the server once. Its errors wrap ErrUnavailable or the error of
// ctx, and never hold the key.
func (r *Reranker) Rerank(ctx context.Context, query string, documents []string) ([]float64, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	body, err := r.cfg.API.request(r.cfg.Model, r.clip(query), r.clipAll(documents))
	if err != nil {
		return nil, err
	}
	answer, err := r.post(ctx, body)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("reranking: %w", ctx.Err())
	case err != nil:
		return nil, r.failure(cause(err).Error(), "")
	case !answer.OK():
		return nil, r.failure(fmt.Sprintf("http %d: %s", answer.Status, answer.Message()), r.hint(answer.Status))
	case answer.Cut:
		return nil, r.failure(fmt.Sprintf("the answer is longer than %d bytes", maxAnswer(body)), "")
	}
	scores, err := decode(answer.Body, len(documents))
	if err != nil {
		return nil, r.failure(err.Error(), "")
	}
	return scores, nil
}

// clip cuts a text. One that is blank becomes a space, since servers refuse
// the empty string.
func (r *Reranker) clip(text string) string {
	if strings.TrimSpace(text) == "" {
		return " "
	}
	return words.First(text, r.cfg.MaxChars)
}

func (r *Reranker) clipAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = r.clip(text)
	}
	return out
}

func (r *Reranker) post(ctx context.Context, body []byte) (endpoint.Answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return endpoint.Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if r.key.text != "" {
		req.Header.Set("Authorization", "Bearer "+r.key.text)
	}
	return endpoint.Send(&r.client, req, maxAnswer(body))
}

// maxAnswer returns the number of bytes to read of the answer to a request.
// Some servers repeat the documents in it, and escape more of them.
func maxAnswer(request []byte) int { return 256<<10 + 6*len(request) }

// cause returns what went wrong, without the URL, which the caller knows.
func cause(err error) error {
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// failure makes an error of what the server said and a hint. The key is taken
// out before the text is made short.
func (r *Reranker) failure(text, hint string) error {
	if r.key.text != "" {
		text = strings.ReplaceAll(text, r.key.text, "[secret]")
	}
	who := string(r.cfg.API)
	if r.cfg.Model != "" {
		who = "model " + r.cfg.Model
	}
	return fmt.Errorf("%w: %s: %s%s", ErrUnavailable, who, endpoint.Tidy(text), hint)
}

// hint returns what to look at, to be appended to a message.
func (r *Reranker) hint(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		if r.cfg.KeyEnv == "" {
			return " (no key was sent: name its variable)"
		}
		return " (check the key in " + r.cfg.KeyEnv + ")"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return " (check the base URL and the model: nothing is at " + r.url + ")"
	}
	return ""
}

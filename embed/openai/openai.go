// Package openai embeds texts with any server that speaks OpenAI's embeddings protocol:
// OpenAI, Azure, and local servers such as Ollama, LM Studio, vLLM, TEI and llama.cpp.
// Its one rule: a vector that the caller gets is correct. The package checks everything
// that such servers get wrong (encoding, dimension, order, limits, errors in a successful
// answer).
package openai

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	connection "github.com/repertoire-skills/repertoire/internal/openai"
)

// Config says where the endpoint is and what requests its model needs.
type Config struct {
	// BaseURL is the address up to and including "/v1", with http or https. It
	// has no default, so that texts go only to a host that the user named. An
	// Azure address may have "?api-version=…"; any other query, a user or a
	// password is an error.
	BaseURL string

	Model string // the model's name; for Azure, the name of its deployment

	// KeyEnv names the environment variable that holds the key. "" means
	// OPENAI_API_KEY if that is set; "-" means that no key is sent. It is an
	// error to name a variable that is not set, or to use characters other than
	// capitals, digits and underscores.
	KeyEnv string

	// Azure sends the key in the header api-key, as Azure requires. Azure's own
	// hosts imply it; set it for a gateway with another name.
	Azure bool

	// AllowInsecure allows the key and credentials in Headers to be sent over
	// plain http to another machine.
	AllowInsecure bool

	Headers map[string]string // added to each request

	// Dimensions is the length of the vectors. It is sent to the server, and
	// answers are checked against it. 0 means the model's own: nothing is sent,
	// and all answers must have the same dimension as the first.
	Dimensions int

	// QueryPrefix and DocumentPrefix are put before each text. nil means the
	// prefix from the card of a known model, and no prefix for other models.
	QueryPrefix, DocumentPrefix *string

	// Encoding is the requested encoding, "float" or "base64"; "" means "float",
	// which all servers know. Answers may be in either.
	Encoding string

	MaxBatch int           // texts in a request; 0 means 32; it shrinks when the server refuses
	Timeout  time.Duration // limits each request; 0 means one minute

	// MaxChars is how many characters of a text are sent; 0 means 8,000, which
	// most models with 2,048 tokens accept. If the server still finds a text too
	// long, it is halved until it fits.
	MaxChars int
}

// Options hold the dependencies of an Embedder.
type Options struct {
	// HTTPClient sends the requests; nil means a client with the default
	// transport. Redirects are refused, whatever the client's policy.
	HTTPClient *http.Client

	// Sleep waits before a retry and returns the context's error if the context
	// ends first; nil means a real wait.
	Sleep func(ctx context.Context, d time.Duration) error

	// Now returns the time, for a Retry-After with a date; nil means time.Now.
	Now func() time.Time
}

// An Embedder embeds through one endpoint. Several goroutines may use it at once; each
// call sends its requests one after the other.
type Embedder struct {
	model      string
	identity   string
	dimensions int // sent in requests; 0 means not sent
	query, doc string
	encoding   string
	maxChars   int
	timeout    time.Duration
	dim        atomic.Int64 // dimension of the vectors; 0 until it is known
	pace       pace
	conn       *connection.Conn
	sleep      func(context.Context, time.Duration) error
	now        func() time.Time
}

var _ embed.Embedder = (*Embedder)(nil)

// New returns an embedder for the endpoint of cfg. It reads the key from the environment
// but does not connect.
func New(cfg Config, opts *Options) (*Embedder, error) {
	opts = cmp.Or(opts, new(Options))
	if err := checkConfig(&cfg); err != nil {
		return nil, fmt.Errorf("embedding endpoint: %w", err)
	}
	c, err := connection.New(connection.Config{
		BaseURL: cfg.BaseURL, Model: cfg.Model, Method: "/embeddings", KeyEnv: cfg.KeyEnv,
		Azure: cfg.Azure, AllowInsecure: cfg.AllowInsecure, Headers: cfg.Headers, HTTPClient: opts.HTTPClient,
	})
	if err != nil {
		return nil, fmt.Errorf("embedding endpoint: %w", err)
	}
	e := newEmbedder(&cfg, opts)
	e.conn, e.identity = c, identity(c.Address.URL, e)
	return e, nil
}

func newEmbedder(cfg *Config, opts *Options) *Embedder {
	e := &Embedder{
		model:      cfg.Model,
		dimensions: cfg.Dimensions,
		encoding:   cfg.Encoding,
		maxChars:   cfg.MaxChars,
		timeout:    cfg.Timeout,
		sleep:      opts.Sleep,
		now:        opts.Now,
	}
	e.query, e.doc = prefixes(cfg)
	e.dim.Store(int64(cfg.Dimensions))
	e.pace.size, e.pace.most = cfg.MaxBatch, cfg.MaxBatch
	if e.sleep == nil {
		e.sleep = endpoint.Sleep
	}
	if e.now == nil {
		e.now = time.Now
	}
	return e
}

// Model returns the base URL, the model, the dimension (0 means the model's own) and a
// hash of these and of the preparation of texts.
func (e *Embedder) Model() string { return e.identity }

// Embed returns the unit vectors of texts. A blank text is sent as one space, because
// servers refuse empty strings. If the server is busy or broken, Embed sends a Document
// up to four more times, with growing pauses; a Query is not sent again, because a user
// is waiting. If the server says that a request is too large, Embed sends smaller batches,
// then shorter texts. Errors about the server are an *Error. Every error names the index
// of the texts that it is about.
func (e *Embedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	out := make([]embed.Vector, 0, len(texts))
	chars := e.maxChars
	for len(out) < len(texts) {
		at := len(out)
		n := min(e.pace.current(), len(texts)-at)
		if chars < e.maxChars {
			n = 1 // send the shortened text alone
		}
		vs, err := e.send(ctx, kind, e.inputs(kind, texts[at:at+n], chars))
		out = append(out, vs...)
		switch {
		case err == nil:
			e.pace.worked(n)
			chars = e.maxChars
		case n > 1 && (failure(err).tooMuch || kind == embed.Document && failure(err).tooSlow):
			e.pace.failed(n)
		case n == 1 && failure(err).tooMuch && shorter(texts[at], &chars):
			// Try again with fewer characters.
		default:
			return out, withIndexes(err, len(out), at+n)
		}
	}
	return out, nil
}

// request sends one batch, once.
func (e *Embedder) request(ctx context.Context, inputs []string) ([]embed.Vector, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	ans, err := e.post(rctx, inputs)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && rctx.Err() != nil:
		return nil, e.timeoutError(rctx.Err())
	case err != nil:
		return nil, e.networkError(err)
	case !ans.OK():
		return nil, e.statusError(ans)
	case ans.Cut:
		return nil, e.answerError(fmt.Errorf("the answer is longer than %d bytes", maxBody(len(inputs))))
	}
	vs, err := decode(ans.Body, len(inputs))
	if err != nil {
		return nil, e.answerError(err)
	}
	return e.check(vs)
}

// post sends one batch and reads the answer, whatever its status.
func (e *Embedder) post(ctx context.Context, inputs []string) (endpoint.Answer, error) {
	body, err := json.Marshal(struct {
		Dimensions int      `json:"dimensions,omitempty"`
		Encoding   string   `json:"encoding_format"`
		Input      []string `json:"input"`
		Model      string   `json:"model"`
	}{e.dimensions, e.encoding, inputs, e.model})
	if err != nil {
		return endpoint.Answer{}, err // unreachable: strings and numbers are JSON
	}
	resp, err := e.conn.Send(ctx, "/embeddings", body, "application/json")
	if err != nil {
		return endpoint.Answer{}, err
	}
	return endpoint.Read(resp, maxBody(len(inputs)))
}

// maxBody returns how many bytes to read of an answer with n vectors. A float takes up to
// 25 bytes in JSON, and a vector has up to 8,192 floats or so.
func maxBody(n int) int { return 64<<10 + n*512<<10 }

// check scales vs to length 1. With an error, it returns the vectors before the wrong one.
func (e *Embedder) check(vs []embed.Vector) ([]embed.Vector, error) {
	for i, v := range vs {
		if err := embed.Unit(v); err != nil {
			return vs[:i], err
		}
		e.dim.CompareAndSwap(0, int64(len(v)))
		if want := int(e.dim.Load()); len(v) != want {
			return vs[:i], fmt.Errorf("vector has %d dimensions, want %d", len(v), want)
		}
	}
	return vs, nil
}

// withIndexes adds to err the index of the texts that it is about: at to end if the server
// refused them as a whole, else at alone.
func withIndexes(err error, at, end int) error {
	var whole *Error
	if errors.As(err, &whole) && end-at > 1 {
		return fmt.Errorf("embedding texts[%d:%d]: %w", at, end, err)
	}
	return fmt.Errorf("embedding texts[%d]: %w", at, err)
}

// checkConfig checks the settings other than the address, and fills in defaults.
func checkConfig(cfg *Config) error {
	switch {
	case cfg.Model == "":
		return errors.New("model is empty")
	case cfg.Encoding != "" && cfg.Encoding != "float" && cfg.Encoding != "base64":
		return fmt.Errorf("encoding %q is neither float nor base64", cfg.Encoding)
	case cfg.Dimensions < 0 || cfg.MaxBatch < 0 || cfg.MaxChars < 0 || cfg.Timeout < 0:
		return errors.New("the settings Dimensions, MaxBatch, MaxChars and Timeout must not be negative")
	}
	cfg.Encoding = cmp.Or(cfg.Encoding, "float")
	cfg.MaxBatch = cmp.Or(cfg.MaxBatch, 32)
	cfg.MaxChars = cmp.Or(cfg.MaxChars, 8000)
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	return nil
}

// identity returns the identifier of the model. Its readable part is for people. The hash
// also covers how texts are prepared, and separates fields that the readable part may
// run together.
func identity(base string, e *Embedder) string {
	all := fmt.Sprintf("%q %q %d %q %q %d", base, e.model, e.dimensions, e.query, e.doc, e.maxChars)
	return fmt.Sprintf("openai %s %s dim=%d %.6x", base, e.model, e.dimensions, sha256.Sum256([]byte(all)))
}

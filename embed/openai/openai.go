// Package openai embeds texts with any server that speaks OpenAI's embeddings
// protocol: OpenAI and Azure, and local ones such as Ollama, LM Studio, vLLM,
// TEI and llama.cpp. Nothing that such servers are known to get wrong (encoding,
// dimension, order, limits, errors in a successful answer) reaches the caller
// as a vector.
package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/repertoire-skills/repertoire/embed"
)

// Config says where the endpoint is and how its model wants to be asked.
type Config struct {
	// BaseURL is the address up to and including "/v1", with http or https. It
	// has no default, so that no text goes to a host that was not named. An
	// Azure address may carry "?api-version=…"; no other query is allowed, and
	// no user or password.
	BaseURL string

	// Model is the model's name, for Azure that of its deployment.
	Model string

	// KeyEnv names the environment variable that holds the key. Empty means
	// OPENAI_API_KEY if it is set; "-" means that no key is sent. It is an
	// error when a variable is named but not set, or when the name is not made
	// of capitals, digits and underscores.
	KeyEnv string

	// Azure sends the key in the header api-key, as Azure wants it. It is
	// implied by a host of Azure's, and needed behind a gateway with another name.
	Azure bool

	// AllowInsecure permits to send a key or a credential in Headers over plain
	// http to another machine.
	AllowInsecure bool

	// Headers are added to each request.
	Headers map[string]string

	// Dimensions is the length of the vectors. It is sent, and answers are
	// checked against it. 0 means the model's own: then nothing is sent, and
	// all answers must have the dimension of the first.
	Dimensions int

	// QueryPrefix and DocumentPrefix go before each text. Nil means what the
	// model's card asks for, found by the model's name; none for unknown models.
	QueryPrefix, DocumentPrefix *string

	// Encoding is what the server is asked for, "float" or "base64"; empty
	// means "float", which all servers know. Either is understood in an answer.
	Encoding string

	// MaxBatch is the number of texts in a request; 0 means 32. It becomes
	// smaller when the server refuses.
	MaxBatch int

	// MaxChars is the number of characters after which a text is cut before it
	// is sent; 0 means 8,000, which most models of 2,048 tokens take. A text
	// that the server still finds too long is halved until it fits.
	MaxChars int

	// Timeout limits each request; 0 means one minute.
	Timeout time.Duration
}

// Options replace what New takes from its surroundings.
type Options struct {
	// HTTPClient sends the requests; nil means a client with the default
	// transport. Redirects are refused whatever its policy.
	HTTPClient *http.Client

	// Sleep waits before a retry, and returns the context's error when it ends
	// first; nil means to wait for real.
	Sleep func(ctx context.Context, d time.Duration) error

	// Now reads the clock, for a Retry-After that holds a date; nil means time.Now.
	Now func() time.Time
}

// An Embedder embeds through one endpoint. It may be used by several
// goroutines; each call sends its requests one after another.
type Embedder struct {
	model      string
	identity   string
	dimensions int // as sent; 0 means not
	query, doc string
	encoding   api.EmbeddingEncodingFormat
	maxChars   int
	timeout    time.Duration
	keyHint    string       // what to look at after a 401
	pathHint   string       // what to look at after a 404
	dim        atomic.Int64 // of the vectors; 0 until it is known
	pace       pace
	conn       *conn // a pointer, so that printing an Embedder does not print the key
	sleep      func(context.Context, time.Duration) error
	now        func() time.Time
}

var _ embed.Embedder = (*Embedder)(nil)

// New returns an embedder for the endpoint of cfg. It reads the key from the
// environment and does not connect.
func New(cfg Config, opts *Options) (*Embedder, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := checkConfig(&cfg); err != nil {
		return nil, err
	}
	base, err := parseBase(cfg.BaseURL, cfg.Model)
	if err != nil {
		return nil, err
	}
	key, keyName, err := readKey(cfg.KeyEnv)
	if err != nil {
		return nil, err
	}
	if err := checkSecrecy(&cfg, base, key, keyName); err != nil {
		return nil, err
	}
	e := newEmbedder(&cfg, opts)
	e.keyHint, e.pathHint = keyHint(key, keyName), base.hint()
	e.identity = identity(base.url, e)
	e.conn = newConn(&cfg, base, key, opts.HTTPClient)
	return e, nil
}

func newEmbedder(cfg *Config, opts *Options) *Embedder {
	e := &Embedder{
		model:      cfg.Model,
		dimensions: cfg.Dimensions,
		encoding:   api.EmbeddingEncodingFormat(cfg.Encoding),
		maxChars:   cfg.MaxChars,
		timeout:    cfg.Timeout,
		sleep:      opts.Sleep,
		now:        opts.Now,
	}
	e.query, e.doc = prefixes(cfg)
	e.dim.Store(int64(cfg.Dimensions))
	e.pace.init(cfg.MaxBatch)
	if e.sleep == nil {
		e.sleep = sleep
	}
	if e.now == nil {
		e.now = time.Now
	}
	return e
}

// Model names the base URL, the model, the dimension (0 when it is the model's
// own) and a hash of these and of what is done to the texts.
func (e *Embedder) Model() string { return e.identity }

// Embed returns the unit vectors of texts. A blank text is embedded as one
// space, since servers refuse the empty string. Texts of kind Document are
// sent again, up to four times and with growing pauses, when the server is
// busy or broken; a Query has a user waiting and is not. Texts of either kind
// are sent again in smaller batches, and then shorter, when the server says
// that it was given too much. Errors about the server are an *Error; all name
// the text or the texts that they concern by index.
func (e *Embedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	out := make([]embed.Vector, 0, len(texts))
	chars := e.maxChars
	for len(out) < len(texts) {
		at := len(out)
		n := min(e.pace.current(), len(texts)-at)
		if chars < e.maxChars {
			n = 1 // the text at hand is being cut
		}
		vs, err := e.send(ctx, kind, e.inputs(kind, texts[at:at+n], chars))
		out = append(out, vs...)
		switch {
		case err == nil:
			e.pace.worked(n)
			chars = e.maxChars
		case n > 1 && (tooMuch(err) || kind == embed.Document && tooSlow(err)):
			e.pace.failed(n)
		case n == 1 && tooMuch(err) && shorter(texts[at], &chars):
			// Try again with fewer characters.
		default:
			return out, located(err, len(out), at+n)
		}
	}
	return out, nil
}

// request sends one batch once.
func (e *Embedder) request(ctx context.Context, inputs []string) ([]embed.Vector, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	ans, err := e.conn.post(rctx, api.EmbeddingRequest{
		Input:          inputs,
		Model:          api.EmbeddingModel(e.model),
		EncodingFormat: e.encoding,
		Dimensions:     e.dimensions,
	}, maxBody(len(inputs)))
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

// maxBody returns the number of bytes to read of an answer with n vectors: a
// float takes up to 25 bytes in JSON and a vector up to some 8,192 of them.
func maxBody(n int) int { return 64<<10 + n*512<<10 }

// check scales vs to unit length. On an error it returns the vectors before
// the one that is wrong.
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

// located adds to err which texts it is about: those from at to end when the
// server refused them as a whole, else the one at.
func located(err error, at, end int) error {
	var whole *Error
	if errors.As(err, &whole) && end-at > 1 {
		return fmt.Errorf("embedding texts[%d:%d]: %w", at, end, err)
	}
	return fmt.Errorf("embedding texts[%d]: %w", at, err)
}

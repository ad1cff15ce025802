// Package openai asks any server that speaks OpenAI's chat protocol: OpenAI, Azure, and
// local servers such as Ollama, LM Studio, vLLM and llama.cpp. The one rule: an answer is
// whole and each call in it is one that the model made, or there is an error that says what
// to do; what such servers get wrong (pieces of calls, indexes, missing ends, errors in a
// successful answer) ends here.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	connection "github.com/repertoire-skills/repertoire/internal/openai"
)

// Config says where the server is and how its model answers.
type Config struct {
	// BaseURL is the address up to and including "/v1", with http or https. It has no
	// default, so that prompts go only to a host that the user named. An Azure address may
	// have "?api-version=…"; any other query, a user or a password is an error.
	BaseURL string

	Model string // the model's name; for Azure, the name of its deployment

	// Key is the key. "" means that it is in the environment variable KeyEnv.
	Key string

	// KeyEnv names the environment variable that holds the key. "" means OPENAI_API_KEY if
	// that is set; "-" means that no key is sent. It is an error to name a variable that is
	// not set, or to use characters other than capitals, digits and underscores.
	KeyEnv string

	// Azure sends the key in the header api-key, as Azure requires. Azure's own hosts imply
	// it; set it for a gateway with another name.
	Azure bool

	// AllowInsecure allows the key and credentials in Headers to be sent over plain http to
	// another machine.
	AllowInsecure bool

	Headers map[string]string // added to each request

	Temperature *float64 // nil means the server's default
	MaxTokens   int      // of an answer; 0 means the server's limit
	Effort      string   // of reasoning, "none" to "high"; "" means the model's default

	// Timeout is how long the server may be silent: until it begins to answer, and between
	// two pieces of an answer. Comments and blanks, which only keep a connection alive, are
	// silence. 0 means 5 minutes.
	Timeout time.Duration

	// Total is how long one answer may take, with all attempts and the pauses between them.
	// 0 means 15 minutes.
	Total time.Duration

	Attempts int // how often a question is sent at most when the server is busy or broken; 0 means 4
}

// Options hold the dependencies of a Model.
type Options struct {
	// HTTPClient sends the requests; nil means a client with the default transport.
	// Redirects are refused, whatever the client's policy.
	HTTPClient *http.Client

	// Sleep waits before an attempt and returns the context's error if the context ends
	// first; nil means a real wait.
	Sleep func(ctx context.Context, d time.Duration) error

	// Now returns the time, for a Retry-After with a date; nil means time.Now.
	Now func() time.Time
}

const (
	firstWait = 500 * time.Millisecond // about; doubles with each attempt
	maxWait   = time.Minute            // Answer gives up if the server asks for a longer pause
)

// A Model is one model of one server. It may be used from several goroutines.
type Model struct {
	cfg     Config // without its secrets
	conn    *connection.Conn
	sleep   func(context.Context, time.Duration) error
	now     func() time.Time
	noUsage atomic.Bool // the server refuses stream_options
}

var _ agent.Model = (*Model)(nil)

// New returns a model. It reads the key from the environment but does not connect.
func New(cfg Config, opts *Options) (*Model, error) {
	m, err := newModel(cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("chat endpoint: %w", err)
	}
	return m, nil
}

func newModel(cfg Config, opts *Options) (*Model, error) {
	if opts == nil {
		opts = &Options{}
	}
	switch {
	case cfg.Model == "":
		return nil, errors.New("model is empty; name one that the server has")
	case cfg.MaxTokens < 0 || cfg.Timeout < 0 || cfg.Total < 0 || cfg.Attempts < 0:
		return nil, errors.New("the settings MaxTokens, Timeout, Total and Attempts must not be negative")
	}
	c, err := connection.New(connection.Config{
		BaseURL: cfg.BaseURL, Model: cfg.Model, Method: "/chat/completions", Key: cfg.Key, KeyEnv: cfg.KeyEnv,
		Azure: cfg.Azure, AllowInsecure: cfg.AllowInsecure, Headers: cfg.Headers, HTTPClient: opts.HTTPClient,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{conn: c, sleep: opts.Sleep, now: opts.Now}
	m.cfg = cfg
	m.cfg.Key, m.cfg.Headers = "", nil
	m.cfg.Timeout = cmp.Or(cfg.Timeout, 5*time.Minute)
	m.cfg.Total = cmp.Or(cfg.Total, 15*time.Minute)
	m.cfg.Attempts = cmp.Or(cfg.Attempts, 4)
	if m.sleep == nil {
		m.sleep = endpoint.Sleep
	}
	if m.now == nil {
		m.now = time.Now
	}
	return m, nil
}

// Names returns the provider, as OpenTelemetry names it, and the model; see agent.Config.Trace.
func (m *Model) Names() (provider, model string) {
	if m.cfg.Azure || m.conn.Address.Azure {
		return "azure.ai.openai", m.cfg.Model
	}
	return "openai", m.cfg.Model
}

// Answer implements agent.Model. If the server is busy or broken, or the connection ends
// early, it asks again, but not once text was called: the user has read the start of that
// answer. Errors about the server are an *Error; with one, the message is what arrived.
func (m *Model) Answer(ctx context.Context, q agent.Question, text func(piece string)) (agent.Message, error) {
	total, cancel := context.WithTimeout(ctx, m.cfg.Total)
	defer cancel()
	for try := 1; ; try++ {
		heard := false
		var hear func(string)
		if text != nil {
			hear = func(piece string) { heard = true; text(piece) }
		}
		answer, err := m.attempt(total, q, hear)
		if err == nil {
			return answer, nil
		}
		f := m.failure(ctx, total, err)
		f.Attempts = try
		pause := max(jitter(firstWait<<(try-1)), f.retryAfter)
		switch {
		case !f.again || heard || try >= m.cfg.Attempts:
			return answer, f
		case pause > maxWait:
			f.Message += fmt.Sprintf(" (the server asks to wait %v)", pause.Round(time.Second))
			return answer, f
		}
		if err := m.sleep(total, pause); err != nil {
			if ctx.Err() != nil {
				f.Err = fmt.Errorf("%w: %w", ctx.Err(), f)
			}
			return answer, f
		}
	}
}

// jitter returns three quarters to five quarters of d, so that clients that failed together
// do not come back together.
func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

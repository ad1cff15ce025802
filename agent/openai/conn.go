package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/repertoire-skills/repertoire/agent"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// We use go-openai's types for requests and its code that sends them, as package
// embed/openai does, and not its code that reads answers: it gives pieces of calls to the
// caller as they are, fails when arguments are an object, takes an error or an HTML page in
// a successful answer for an empty one, reads answers of any length, and its errors drop
// the headers, including Retry-After. So we give the client an exchange in place of an HTTP
// client, which keeps the answer for us.

// A conn sends requests to one server. It holds the secrets.
type conn struct {
	cfg     api.ClientConfig
	client  http.Client
	headers map[string]string
	scrub   *strings.Replacer // replaces the secrets in messages from the server
}

func newConn(cfg *Config, a endpoint.Address, key string, client *http.Client) *conn {
	c := &conn{
		cfg: api.DefaultConfig(key), client: endpoint.Client(client),
		headers: maps.Clone(cfg.Headers), scrub: endpoint.Scrubber(key, cfg.Headers),
	}
	c.cfg.BaseURL, c.cfg.APIVersion = a.URL, a.Version
	if cfg.Azure || a.Azure {
		// This type changes only the header. APITypeAzure would also insert a
		// deployment into addresses that have one already or need none.
		c.cfg.APIType = api.APITypeCloudflareAzure
	}
	return c
}

// post sends a request and returns the response, whatever its status.
func (c *conn) post(ctx context.Context, r api.ChatCompletionRequest, stream bool) (*http.Response, error) {
	x := &exchange{conn: c}
	cfg := c.cfg
	cfg.HTTPClient = x
	client := api.NewClientWithConfig(cfg)
	var err error
	if stream {
		_, err = client.CreateChatCompletionStream(ctx, r)
	} else {
		_, err = client.CreateChatCompletion(ctx, r)
	}
	if x.response == nil && err == nil {
		err = errors.New("no request was sent") // unreachable: the library sends one or fails
	}
	if x.response == nil && !x.sent {
		err = &requestError{err}
	}
	return x.response, err
}

// models lists the models of the server.
func (c *conn) models(ctx context.Context) (endpoint.Answer, error) {
	x := &exchange{conn: c}
	cfg := c.cfg
	cfg.HTTPClient = x
	if _, err := api.NewClientWithConfig(cfg).ListModels(ctx); x.response == nil {
		return endpoint.Answer{}, fmt.Errorf("listing models: %w", err)
	}
	return read(x.response)
}

// A requestError means that the library refused to send a request.
type requestError struct{ error }

// An exchange is one request and its response. It keeps the response for us and gives
// go-openai an empty one.
type exchange struct {
	*conn
	sent     bool
	response *http.Response
}

// Do implements go-openai's HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	for name, value := range x.headers {
		req.Header.Set(name, value)
	}
	x.sent = true
	resp, err := x.client.Do(req)
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err // without the URL
	}
	if err != nil {
		return nil, err
	}
	x.response = resp
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

const (
	maxAnswer  = 64 << 20 // bytes of a stream; each token may take 500
	maxMessage = 1 << 20  // bytes of an error or a list of models
)

// read reads a response that is no answer of a model.
func read(resp *http.Response) (endpoint.Answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	return endpoint.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}, err
}

// errSilent means that the server was silent for too long.
var errSilent = errors.New("the server is silent")

// attempt asks once.
func (m *Model) attempt(ctx context.Context, q agent.Question, text func(string)) (agent.Message, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(m.cfg.Timeout, func() { cancel(errSilent) })
	defer watch.Stop()
	resp, err := m.conn.post(ctx, m.request(q, text != nil), text != nil)
	if err == nil && (resp.StatusCode < 200 || resp.StatusCode > 299) {
		var a endpoint.Answer
		if a, err = read(resp); err == nil {
			return m.refused(ctx, a, q, text)
		}
	}
	if err != nil {
		return agent.Message{}, silence(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := decode(resp.Body, func() { watch.Reset(m.cfg.Timeout) }, text)
	return answer, silence(ctx, err)
}

// refused returns the error for a response that is not OK. A server that does not know the
// field that asks for the usage is asked without it, now and later.
func (m *Model) refused(ctx context.Context, a endpoint.Answer, q agent.Question, text func(string)) (agent.Message, error) {
	if text != nil && (a.Status == http.StatusBadRequest || a.Status == http.StatusUnprocessableEntity) &&
		strings.Contains(string(a.Body), "stream_options") && m.noUsage.CompareAndSwap(false, true) {
		return m.attempt(ctx, q, text)
	}
	return agent.Message{}, m.statusError(ctx, a)
}

// silence returns errSilent in place of the error that it leads to.
func silence(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

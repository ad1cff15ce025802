package openai

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// Of go-openai are used the configuration, the request type and the client's
// way from a request to HTTP: the address with its api-version, the header of
// the key (Azure's or a bearer token), the JSON body. Its way back is not: it
// decodes by the encoding that was asked for, so that floats sent for base64
// (or the reverse) fail; it takes an index that is missing for 0; base64 of a
// wrong length is cut silently; a 200 with an error or an HTML page in it
// becomes an empty or a puzzling result; it reads answers of any length; and
// its errors repeat whole bodies and lose the headers, Retry-After among them.
// So the client is given an exchange in place of an HTTP client.

// A conn sends requests to one endpoint. It holds the secrets.
type conn struct {
	cfg     api.ClientConfig
	client  http.Client
	headers map[string]string
	scrub   *strings.Replacer // replaces the secrets in text from outside
}

func newConn(cfg *Config, a address, key string, client *http.Client) *conn {
	c := &conn{
		cfg: api.DefaultConfig(key), client: endpoint.Client(client),
		headers: maps.Clone(cfg.Headers), scrub: scrubber(key, cfg.Headers),
	}
	c.cfg.BaseURL, c.cfg.APIVersion = a.url, a.version
	if cfg.Azure || a.azure() {
		// The type that changes the header only. APITypeAzure would also insert
		// a deployment into addresses that already hold one, or need none.
		c.cfg.APIType = api.APITypeCloudflareAzure
	}
	return c
}

// scrubber replaces the key and the values of headers. Short values of headers
// are kept, since they occur in any text and are no secrets.
func scrubber(key string, headers map[string]string) *strings.Replacer {
	secrets := []string{key}
	for _, value := range headers {
		for _, word := range strings.Fields(value) { // "Bearer" and its token
			if len(word) >= 8 {
				secrets = append(secrets, word)
			}
		}
	}
	// The longest first, lest a shorter one that it starts with leave its end.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		if secret != "" {
			pairs = append(pairs, secret, "[secret]")
		}
	}
	return strings.NewReplacer(pairs...)
}

// post sends req and reads up to limit bytes of the answer, whatever its status.
func (c *conn) post(ctx context.Context, req api.EmbeddingRequest, limit int) (endpoint.Answer, error) {
	x := &exchange{conn: c, limit: limit}
	cfg := c.cfg
	cfg.HTTPClient = x
	_, err := api.NewClientWithConfig(cfg).CreateEmbeddings(ctx, req)
	return x.answer, err
}

// An exchange is one request with its answer. It keeps the answer for us and
// shows go-openai an empty one.
type exchange struct {
	*conn
	limit  int
	answer endpoint.Answer
}

// Do implements go-openai's HTTPDoer.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	for name, value := range x.headers {
		req.Header.Set(name, value)
	}
	var err error
	if x.answer, err = endpoint.Send(&x.client, req, x.limit); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

package openai

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// We use go-openai's configuration, its request type and the client's code that sends a
// request: the address with its api-version, the header for the key (Azure's or a bearer
// token), the JSON body. We do not use its code that reads the answer: it decodes by the
// requested encoding, so that floats instead of base64 (or the reverse) fail; it takes a
// missing index for 0; it silently cuts base64 of a wrong length; it turns a 200 with an
// error or an HTML page into an empty or puzzling result; it reads answers of any length;
// and its errors repeat whole bodies and drop the headers, including Retry-After. So we
// give the client an exchange in place of an HTTP client.

// A conn sends requests to one endpoint. It holds the secrets.
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

// post sends req and reads up to limit bytes of the answer, whatever the status.
func (c *conn) post(ctx context.Context, req api.EmbeddingRequest, limit int) (endpoint.Answer, error) {
	x := &exchange{conn: c, limit: limit}
	cfg := c.cfg
	cfg.HTTPClient = x
	_, err := api.NewClientWithConfig(cfg).CreateEmbeddings(ctx, req)
	return x.answer, err
}

// An exchange is one request and its answer. It keeps the answer for us and gives
// go-openai an empty one.
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

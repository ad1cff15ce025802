package registries

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Parse returns the offers of a registry that answers any question with data.
func Parse(ctx context.Context, r Registry, data []byte) []Offer {
	c := New([]Registry{r}, nil)
	c.http.Transport = sayer(data)
	return c.Search(ctx, "x", 50).Offers
}

type sayer []byte

func (s sayer) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Host, "registry.example") {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
	}
	return nil, errors.New("nobody is there")
}

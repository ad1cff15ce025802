package registries

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Answered returns what is found in a registry that answers any question with data.
func Answered(ctx context.Context, r Registry, data []byte) Found {
	c := New([]Registry{r}, nil)
	c.http.Transport = sayer(data)
	return c.Search(ctx, "x", 50)
}

type sayer []byte

func (s sayer) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Host, "registry.example") {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(s))), Request: r}, nil
	}
	return nil, errors.New("nobody is there")
}

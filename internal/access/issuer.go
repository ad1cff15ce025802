package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// keySet are the keys of an issuer. The library does not tell a wrong signature from keys
// that could not be read, so the key set notes the difference.
type keySet struct{ *oidc.RemoteKeySet }

// uncertainKey is the context key of an *error: why keys could not be read.
type uncertainKey struct{}

func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, jwt)
	if errors.Is(err, errIssuer) || err != nil && ctx.Err() != nil {
		if uncertain, ok := ctx.Value(uncertainKey{}).(*error); ok {
			*uncertain = err
		}
	}
	return payload, err
}

// errIssuer means that the issuer could not be asked.
var errIssuer = errors.New("the issuer did not answer as it should")

// A spaced transport asks for the same URL at most once in a while, and gives the last answer
// in between. Tokens that nobody has signed cost the issuer no more than that.
type spaced struct {
	next  http.RoundTripper
	pause time.Duration

	mu      sync.Mutex
	answers map[string]answer
}

type answer struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
	err    error
}

// maxAnswer bounds an answer of an issuer, and maxAnswers the memory for them.
const (
	maxAnswer  = 1 << 20
	maxAnswers = 16
)

func (s *spaced) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.answers[r.URL.String()]
	if !ok || time.Since(a.at) >= s.pause {
		a = s.ask(r)
		if s.answers == nil || len(s.answers) >= maxAnswers {
			s.answers = make(map[string]answer)
		}
		s.answers[r.URL.String()] = a
	}
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.header.Clone(),
		Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}, nil
}

func (s *spaced) ask(r *http.Request) answer {
	res, err := s.next.RoundTrip(r)
	now := time.Now()
	if err != nil {
		return answer{at: now, err: fmt.Errorf("%w: %w", errIssuer, err)}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errIssuer, err)
	case len(body) > maxAnswer:
		err = fmt.Errorf("%w: it sent more than %d bytes", errIssuer, maxAnswer)
	case res.StatusCode >= http.StatusBadRequest:
		err = fmt.Errorf("%w: %s", errIssuer, res.Status)
	}
	return answer{now, res.StatusCode, res.Header, body, err}
}

package openai

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A slowReader gives one byte after each pause.
type slowReader struct {
	ctx    context.Context
	pauses []time.Duration
}

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.pauses) == 0 {
		return 0, io.EOF
	}
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case <-time.After(r.pauses[0]):
	}
	r.pauses = r.pauses[1:]
	return copy(p, "x"), nil
}

// TestWatched: an answer may take longer than the server may be silent.
func TestWatched(t *testing.T) {
	for _, test := range []struct {
		last time.Duration
		want error
	}{{90 * time.Second, nil}, {2 * time.Minute, errSilent}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			watch := time.AfterFunc(100*time.Second, func() { cancel(errSilent) })
			defer watch.Stop()
			r := &slowReader{ctx, []time.Duration{90 * time.Second, 90 * time.Second, test.last}}
			_, err := io.ReadAll(&watched{r, watch, 100 * time.Second})
			if err = silence(ctx, err); !errors.Is(err, test.want) {
				t.Errorf("last pause %v: %v, want %v", test.last, err, test.want)
			}
		})
	}
}

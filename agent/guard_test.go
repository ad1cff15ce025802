package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestGuard: who does not end with its context has a moment, and is then left behind.
func TestGuard(t *testing.T) {
	for _, test := range []struct {
		late time.Duration // how long after the end of the context it returns
		want string
	}{{time.Second, "done"}, {time.Hour, ""}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			start := time.Now()
			got, err := guard(ctx, "the model", func() (string, error) {
				time.Sleep(time.Minute + test.late)
				return "done", nil
			})
			took := time.Since(start)
			if left := test.want == ""; got != test.want || left != errors.Is(err, context.DeadlineExceeded) || took > time.Minute+patience {
				t.Errorf("%q, %v after %v", got, err, took)
			}
			time.Sleep(test.late) // until the goroutine ends
		})
	}
}

// TestStreamCloses: a model that was left behind writes to nobody.
func TestStreamCloses(t *testing.T) {
	var got string
	s := &stream{text: func(p string) { got += p }}
	write := s.writer()
	write("a")
	s.close()
	write("b")
	if got != "a" || (&stream{}).writer() != nil {
		t.Errorf("got %q", got)
	}
}

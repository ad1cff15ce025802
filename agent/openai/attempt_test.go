package openai

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// A slowReader returns its pieces, each after a pause.
type slowReader struct {
	ctx    context.Context
	pieces []string
	pause  time.Duration
}

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case <-time.After(r.pause):
	}
	piece := r.pieces[0]
	r.pieces = r.pieces[1:]
	return copy(p, piece), nil
}

// TestSilence: an answer may take longer than the server may be silent. What keeps the
// connection alive without a part of the answer is silence.
func TestSilence(t *testing.T) {
	const piece, end = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", "data: [DONE]\n\n"
	for name, test := range map[string]struct {
		pieces []string
		want   error
	}{
		"pieces":      {[]string{piece, piece, piece, end}, nil},
		"thoughts":    {[]string{"data: {\"choices\":[{\"delta\":{\"reasoning\":\"Well\"}}]}\n\n", piece, end}, nil},
		"one comment": {[]string{piece, ": wait\n\n", end}, errSilent},
		"comments":    {[]string{": wait\n\n", ": wait\n\n", piece, end}, errSilent},
		"blank lines": {[]string{piece, "\n", "\n", end}, errSilent},
		"no choices":  {[]string{"data: {\"choices\":[]}\n\n", "data: {}\n\n", piece, end}, errSilent},
		"whole":       {[]string{"{\"choices\":[{\"message\":", "{\"content\":", "\"x\"}}]}"}, nil},
		"blanks":      {[]string{" ", "\n", "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}"}, errSilent},
		"in it":       {[]string{"{\"choices\":[", " ", " ", "{\"message\":{\"content\":\"x\"}}]}"}, errSilent},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				watch := time.AfterFunc(100*time.Second, func() { cancel(errSilent) })
				defer watch.Stop()
				_, err := decode(&slowReader{ctx, test.pieces, 60 * time.Second}, func() { watch.Reset(100 * time.Second) }, nil)
				if err = silence(ctx, err); !errors.Is(err, test.want) {
					t.Errorf("%v, want %v", err, test.want)
				}
			})
		})
	}
}

package openai

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
)

const (
	maxRetries = 4
	firstWait  = 500 * time.Millisecond // doubles with each retry
	maxWait    = time.Minute            // a server that wants a longer pause is given up
)

// send sends one batch, and sends documents again when that may help.
func (e *Embedder) send(ctx context.Context, kind embed.Kind, inputs []string) ([]embed.Vector, error) {
	for try := 0; ; try++ {
		vs, err := e.request(ctx, inputs)
		var failure *Error
		if kind == embed.Query || try == maxRetries || !errors.As(err, &failure) || !failure.again {
			return vs, err
		}
		pause := max(firstWait<<try, failure.retryAfter)
		if pause > maxWait {
			return vs, err
		}
		if cerr := e.sleep(ctx, pause); cerr != nil {
			return vs, fmt.Errorf("%w while waiting to retry: %w", cerr, err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// growAfter is the number of full batches after which a larger one is tried.
// One long text makes batches small just as a limit on their number does, so
// they must grow again; under a fixed limit that costs one refusal in five.
const growAfter = 4

// A pace is the number of texts to send at once, which all calls of an
// embedder learn together.
type pace struct {
	mu         sync.Mutex // guards what follows
	size, most int
	inRow      int // full batches since the size last changed
}

func (p *pace) init(most int) { p.size, p.most = most, most }

func (p *pace) current() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// worked notes that a batch of n was accepted.
func (p *pace) worked(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n < p.size || p.size == p.most {
		return
	}
	if p.inRow++; p.inRow == growAfter {
		p.size, p.inRow = min(2*p.size, p.most), 0
	}
}

// failed notes that a batch of n was refused.
func (p *pace) failed(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size, p.inRow = max(1, min(p.size, n/2)), 0
}

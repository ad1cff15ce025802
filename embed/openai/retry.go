package openai

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
)

const (
	maxRetries = 4
	firstWait  = 500 * time.Millisecond // doubles with each retry
	maxWait    = time.Minute            // Embed gives up if the server asks for a longer pause
)

// send sends one batch. It sends documents again if that may help.
func (e *Embedder) send(ctx context.Context, kind embed.Kind, inputs []string) ([]embed.Vector, error) {
	for try := 0; ; try++ {
		vs, err := e.request(ctx, inputs)
		pause := max(firstWait<<try, failure(err).retryAfter)
		if kind == embed.Query || try == maxRetries || !failure(err).again || pause > maxWait {
			return vs, err
		}
		if cerr := e.sleep(ctx, pause); cerr != nil {
			return vs, fmt.Errorf("%w while waiting to retry: %w", cerr, err)
		}
	}
}

// growAfter is how many full batches must succeed before a larger one is tried. Batches
// must be able to grow again, because a single long text makes them small. If the server
// has a fixed limit, this costs one refused request in five.
const growAfter = 4

// A pace is the number of texts to send at once. All calls of an embedder share it and
// adapt it to the server.
type pace struct {
	mu         sync.Mutex // guards the fields below
	size, most int
	inRow      int // full batches accepted since the size last changed
}

func (p *pace) current() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// worked records that a batch of n texts was accepted.
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

// failed records that a batch of n texts was refused.
func (p *pace) failed(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size, p.inRow = max(1, min(p.size, n/2)), 0
}

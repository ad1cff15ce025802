// Package embedtest helps to test embedders and code that uses them. It holds a suite
// that every embed.Embedder must pass, a deterministic fake, and a server that offers
// an embedder in the OpenAI embeddings protocol.
package embedtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/repertoire-skills/repertoire/embed"
)

// Dim is the number of dimensions of the fake's vectors.
const Dim = 64

// A Fake is an embedder for tests. It hashes the words of a text into Dim dimensions,
// so that texts with common words have similar vectors and a text always has the same
// vector. The zero value is ready to use; set the fields before the first call.
type Fake struct {
	Name      string        // model name; "" means "fake-64"
	Delay     time.Duration // duration of each call, unless its context ends first
	Err       error         // error to return; nil means no error
	FailAfter int           // how many texts all calls embed before they return Err

	calls atomic.Int64
	mu    sync.Mutex // guards texts
	texts int
}

var _ embed.Embedder = (*Fake)(nil)

// Model returns the fake's name.
func (f *Fake) Model() string {
	if f.Name == "" {
		return fmt.Sprintf("fake-%d", Dim)
	}
	return f.Name
}

// Embed returns the vectors of texts; kind makes no difference.
func (f *Fake) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	f.calls.Add(1)
	if err := wait(ctx, f.Delay); err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	n, err := f.take(len(texts))
	out := make([]embed.Vector, n)
	for i, text := range texts[:n] {
		out[i] = words(text)
	}
	return out, err
}

// Calls returns how often Embed was called.
func (f *Fake) Calls() int { return int(f.calls.Load()) }

// Texts returns how many texts all calls together have embedded.
func (f *Fake) Texts() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.texts
}

// take counts n texts and returns how many of them succeed.
func (f *Fake) take(n int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if f.Err != nil && f.texts+n > f.FailAfter {
		n, err = max(0, f.FailAfter-f.texts), f.Err
	}
	f.texts += n
	return n, err
}

func wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// words embeds a text as a bag of words. Each word changes two dimensions, with signs
// from its hash, so that collisions of unrelated words cancel out on average.
func words(text string) embed.Vector {
	v := make(embed.Vector, Dim)
	split := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for _, word := range strings.FieldsFunc(strings.ToLower(text), split) {
		add(v, word)
	}
	if embed.Unit(v) != nil { // no words, or words that cancelled out
		add(v, "")
		_ = embed.Unit(v) // cannot fail: see add
	}
	return v
}

// add adds one word. Its two dimensions are in different halves of v, so that the
// vector of a single word is never zero.
func add(v embed.Vector, word string) {
	h := fnv.New64a()
	h.Write([]byte(word))
	x := h.Sum64()
	for half := range 2 {
		sign := float32(1)
		if x&1 != 0 {
			sign = -1
		}
		v[half*Dim/2+int(x>>1%(Dim/2))] += sign
		x >>= 32
	}
}

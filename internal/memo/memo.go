// Package memo computes what is costly once for all who ask for it at a time, and keeps what was
// asked for last.
//
// The one rule: a value that somebody still uses is not computed again, and what nobody uses takes no
// more than a bound of bytes. Errors are not kept.
package memo

import (
	"context"
	"errors"
	"sync"
	"weak"
)

// A Sized value knows about how many bytes of memory it takes.
type Sized interface{ Bytes() int }

// A Cache keeps values by key. Several goroutines may use it.
type Cache[K comparable, V any] struct {
	size func(*V) int
	most int // bytes of what is kept

	mu    sync.Mutex
	known map[K]*entry[V]
	bytes int // of what is kept
	time  int // counts the questions
}

// An entry is a value that is computed, kept or still used by somebody.
type entry[V any] struct {
	done chan struct{} // closed when it is computed
	err  error
	kept *V              // nil while it is computed, and from when others took its place
	last weak.Pointer[V] // the value, as long as anybody uses it
	used int             // time of the last question
}

// New returns a cache that keeps up to most bytes of what nobody uses.
func New[K comparable, V any, P interface {
	*V
	Sized
}](most int) *Cache[K, V] {
	return &Cache[K, V]{size: func(v *V) int { return P(v).Bytes() }, most: most, known: make(map[K]*entry[V])}
}

// Get returns the value of a key. If there is none, the first who asks computes it, and all others
// wait for that; if the first gives up because its context ends, the next one computes it.
func (c *Cache[K, V]) Get(ctx context.Context, key K, compute func() (*V, error)) (*V, error) {
	for {
		v, e, mine := c.enter(key)
		switch {
		case v != nil:
			return v, nil
		case mine:
			return c.compute(key, e, compute)
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if e.err != nil && !errors.Is(e.err, context.Canceled) && !errors.Is(e.err, context.DeadlineExceeded) {
			return nil, e.err
		}
	}
}

// enter returns the value of a key, or an entry: one that somebody computes, or a new one that the
// caller has to compute.
func (c *Cache[K, V]) enter(key K) (v *V, e *entry[V], mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time++
	if e = c.known[key]; e != nil {
		e.used = c.time
		select {
		case <-e.done:
		default:
			return nil, e, false
		}
		if v = e.last.Value(); v != nil {
			return v, e, false
		}
	}
	e = &entry[V]{done: make(chan struct{}), used: c.time}
	c.known[key] = e
	return nil, e, true
}

func (c *Cache[K, V]) compute(key K, e *entry[V], compute func() (*V, error)) (v *V, err error) {
	err = errors.New("the computation did not return")
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if e.err = err; err != nil {
			delete(c.known, key)
		} else {
			e.kept, e.last = v, weak.Make(v)
			c.bytes += c.size(v)
			c.trim()
		}
		close(e.done)
	}()
	return compute()
}

// trim keeps no longer what was asked for least recently, until the rest has room, and forgets what
// nobody uses. The caller holds the lock.
func (c *Cache[K, V]) trim() {
	for key, e := range c.known {
		select {
		case <-e.done:
			if e.kept == nil && e.last.Value() == nil {
				delete(c.known, key)
			}
		default:
		}
	}
	for c.bytes > c.most {
		var oldest *entry[V]
		for _, e := range c.known {
			if e.kept != nil && (oldest == nil || e.used < oldest.used) {
				oldest = e
			}
		}
		c.bytes -= c.size(oldest.kept)
		oldest.kept = nil
	}
}

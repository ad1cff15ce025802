package memo_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/memo"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// block is a value of some bytes.
type block struct{ data []byte }

func (b *block) Bytes() int { return len(b.data) }

// TestOnce: all who ask at a time get one value, which is computed once.
func TestOnce(t *testing.T) {
	t.Parallel()
	c := memo.New[string, block](100)
	var computed, waiting atomic.Int32
	hold := make(chan struct{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			waiting.Add(1)
			b, err := c.Get(t.Context(), "a", func() (*block, error) {
				computed.Add(1)
				<-hold
				return &block{make([]byte, 10)}, nil
			})
			if err != nil || len(b.data) != 10 {
				t.Errorf("%v, %v", b, err)
			}
		})
	}
	for waiting.Load() < 20 {
		runtime.Gosched()
	}
	close(hold)
	all.Wait()
	if n := computed.Load(); n != 1 {
		t.Errorf("computed %d times", n)
	}
}

// TestBound: what nobody uses takes no more than the bound, the newest stays, and what somebody uses is
// found again however large it is.
func TestBound(t *testing.T) {
	t.Parallel()
	c := memo.New[int, block](100)
	computed := 0
	get := func(key, size int) *block {
		t.Helper()
		b, err := c.Get(t.Context(), key, func() (*block, error) { computed++; return &block{make([]byte, size)}, nil })
		must.Do(t, err)
		return b
	}
	huge := get(0, 1000)
	for key := 1; key <= 5; key++ {
		get(key, 30)
	}
	runtime.GC()
	runtime.GC()
	computed = 0
	for key := 3; key <= 5; key++ {
		get(key, 30)
	}
	if get(0, 1000) != huge || computed != 0 {
		t.Errorf("%d of what is kept or used were computed again", computed)
	}
	get(1, 30)
	if computed != 1 {
		t.Error("the oldest is still there")
	}
	runtime.KeepAlive(huge)
}

// TestErrors: an error is for all who wait for it, and is not kept. Who gives up stops nobody else.
func TestErrors(t *testing.T) {
	t.Parallel()
	c := memo.New[string, block](100)
	bad := errors.New("bad")
	if _, err := c.Get(t.Context(), "a", func() (*block, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Errorf("%v", err)
	}
	begun, hold := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), "a", func() (*block, error) { close(begun); <-hold; return nil, context.Canceled })
		first <- err
	}()
	<-begun
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Get(ended, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("who gives up gets %v", err)
	}
	second := make(chan error, 1)
	go func() {
		_, err := c.Get(t.Context(), "a", func() (*block, error) { return new(block), nil })
		second <- err
	}()
	close(hold)
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first gets %v", err)
	}
	must.Do(t, <-second)
	func() {
		defer func() { _ = recover() }()
		_, _ = c.Get(t.Context(), "b", func() (*block, error) { panic("such as by a bug") })
	}()
	_, err := c.Get(t.Context(), "b", func() (*block, error) { return new(block), nil })
	must.Do(t, err)
}

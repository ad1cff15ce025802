package audit

import (
	"sync"
	"time"
)

// room is how many values of a queue may wait for a slow disk.
const room = 1024

// A queue has values wait for a goroutine, which reads in until it is closed, and then closes done.
type queue[T any] struct {
	in   chan T
	done chan struct{}

	mu     sync.RWMutex // closed and sending to in
	closed bool
}

func newQueue[T any]() *queue[T] {
	return &queue[T]{in: make(chan T, room), done: make(chan struct{})}
}

// add never waits. It reports whether there is room; a closed queue takes nothing, and says that it does.
func (q *queue[T]) add(v T) bool {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return true
	}
	select {
	case q.in <- v:
		return true
	default:
		return false
	}
}

// close ends the queue. It reports whether all values were taken within a second.
func (q *queue[T]) close() bool {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.in)
	}
	q.mu.Unlock()
	select {
	case <-q.done:
		return true
	case <-time.After(time.Second):
		return false
	}
}

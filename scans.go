package repertoire

import (
	"context"
	"sync"
)

// scans counts the rescans that are under way.
type scans struct {
	mu    sync.Mutex
	n     int
	ended chan struct{} // closed when n becomes 0
}

func (s *scans) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n == 1 {
		s.ended = make(chan struct{})
	}
}

func (s *scans) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n--; s.n == 0 {
		close(s.ended)
	}
}

// wait waits until no rescan is under way, but not longer than patience and ctx allow. It
// reports whether one has ended.
func (s *scans) wait(ctx context.Context) bool {
	s.mu.Lock()
	n, ended := s.n, s.ended
	s.mu.Unlock()
	if n == 0 {
		return ended != nil // perhaps a moment ago, after the caller had asked
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

package sandbox

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// An Output keeps the first bytes that are written to it and counts the rest. Executors
// collect with it what a command writes. It may be used from several goroutines.
type Output struct {
	limit int64

	mu   sync.Mutex
	kept []byte
	left int64 // bytes that were not kept
}

// NewOutput returns an Output that keeps limit bytes; 0 means DefaultOutput.
func NewOutput(limit int64) *Output {
	if limit <= 0 {
		limit = DefaultOutput
	}
	return &Output{limit: limit}
}

// Write never fails: a command is not disturbed because it writes much.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	keep := min(o.limit-int64(len(o.kept)), int64(len(p)))
	o.kept = append(o.kept, p[:keep]...)
	o.left += int64(len(p)) - keep
	return len(p), nil
}

// Bytes returns what was kept, and whether something is missing. Then a mark at the end
// says how much.
func (o *Output) Bytes() (kept []byte, cut bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left == 0 {
		return o.kept, false
	}
	kept, left := o.kept, o.left
	for i := 1; i < utf8.UTFMax && i <= len(kept); i++ { // a character that was split is cut as a whole
		if c := kept[len(kept)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(kept[len(kept)-i:]) {
				kept, left = kept[:len(kept)-i], left+int64(i)
			}
			break
		}
	}
	return fmt.Appendf(kept[:len(kept):len(kept)], "\n[output cut: %d more bytes]\n", left), true
}

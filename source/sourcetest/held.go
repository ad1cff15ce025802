package sourcetest

import (
	"context"
	"iter"
	"sync"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A Held is a source that finds no skill before it is released, as a large folder on a slow
// disk. A search that waits ends with its context.
type Held struct {
	source.Source
	open    chan struct{}
	release func()
}

// Hold returns a source that is held up.
func Hold(s source.Source) *Held {
	open := make(chan struct{})
	return &Held{s, open, sync.OnceFunc(func() { close(open) })}
}

// Release lets the searches go on.
func (h *Held) Release() { h.release() }

// Skills implements source.Source.
func (h *Held) Skills(ctx context.Context, trace func(source.Trace)) iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		select {
		case <-h.open:
		case <-ctx.Done():
		}
		h.Source.Skills(ctx, trace)(yield)
	}
}

package virtual

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
)

// Bounds of one run that no caller needs to change.
const (
	maxProgram = 64 << 10  // bytes of shell text that are parsed at once: the parser calls itself for each bracket
	maxValue   = 1 << 20   // bytes of a variable, and of what a command substitution yields
	maxArgs    = 256 << 10 // bytes of the arguments of a command
	maxLine    = 16 << 20  // bytes that one command may expand to
	maxMatch   = 16 << 20  // steps of matching of one command, some half a second
	maxFrames  = 5_000     // calls on the stack of this program: some 500 functions of the shell
	maxOpen    = 256       // files that a run has open at once
)

// A meter is the context of a run. The interpreter asks it before each statement, each round
// of a loop and each call whether to go on, which is where steps are counted. The first
// limit that is reached ends the run.
type meter struct {
	context.Context
	cancel context.CancelFunc
	steps  atomic.Int64
	limit  int64
	work   atomic.Int64
	most   int64 // work
	why    atomic.Pointer[stopped]
}

// stopped is the error that ends a run at a limit.
type stopped struct{ reason string }

func (s *stopped) Error() string { return s.reason }

func newMeter(ctx context.Context, steps, work int64) *meter {
	inner, cancel := context.WithCancel(ctx)
	return &meter{Context: inner, cancel: cancel, limit: steps, most: work}
}

// Err counts a step.
func (m *meter) Err() error {
	if why := m.why.Load(); why != nil {
		return why
	}
	n := m.steps.Add(1)
	switch {
	case n > m.limit:
		return m.stop("it took more than %d steps", m.limit)
	case n%64 == 0 && tooDeep():
		return m.stop("functions, scripts or substitutions call each other too deeply")
	}
	return m.Context.Err()
}

// tooDeep reports whether the stack of this goroutine is near to what is allowed. Go ends
// the whole program when a stack is full, which nothing can catch.
func tooDeep() bool {
	var pc [1]uintptr
	return runtime.Callers(maxFrames, pc[:]) > 0
}

// stop ends the run; the first reason counts.
func (m *meter) stop(format string, args ...any) error {
	m.why.CompareAndSwap(nil, &stopped{fmt.Sprintf(format, args...)})
	m.cancel()
	return m.why.Load()
}

// charge counts bytes that are made, read or compared.
func (m *meter) charge(n int) error {
	if why := m.why.Load(); why != nil {
		return why
	}
	if m.work.Add(int64(n)) > m.most {
		return m.stop("it processed more than %d MiB", m.most>>20)
	}
	return m.Context.Err()
}

// A sink is where a utility writes. It counts, and bounds what a command substitution
// collects in memory.
type sink struct {
	m  *meter
	to interface{ Write([]byte) (int, error) }
}

var errCapture = errors.New("a command substitution yields more than 1 MiB")

func (s sink) Write(p []byte) (int, error) {
	if err := s.m.charge(len(p)); err != nil {
		return 0, err
	}
	if err := capture(s.m, s.to, len(p)); err != nil {
		return 0, err
	}
	n, err := s.to.Write(p)
	if err != nil { // no more room; commands of the shell would go on without a word
		return n, s.m.stop("%s", reason(err))
	}
	return n, nil
}

// capture ends the run if a command substitution would collect too much: the interpreter
// collects in a strings.Builder.
func capture(m *meter, to any, more int) error {
	if b, ok := to.(*strings.Builder); ok && b.Len()+more > maxValue {
		return m.stop("%s", errCapture)
	}
	return nil
}

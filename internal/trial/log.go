package trial

import (
	"context"
	"log/slog"
	"sync"
)

// A log keeps what a hook warns of, each message once.
type log struct {
	mu       sync.Mutex
	problems []string
	failed   bool // an error is among them
}

func (l *log) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (l *log) Handle(_ context.Context, r slog.Record) error {
	message := r.Message
	r.Attrs(func(a slog.Attr) bool {
		message += ": " + a.Value.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, message)
	l.failed = l.failed || r.Level >= slog.LevelError
	return nil
}

// WithAttrs drops what all messages have in common: which client calls.
func (l *log) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *log) WithGroup(string) slog.Handler      { return l }

// said returns the messages, and whether an error is among them.
func (l *log) said() (problems []string, failed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string{}, l.problems...), l.failed
}

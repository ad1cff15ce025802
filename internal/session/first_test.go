package session_test

import (
	"fmt"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/session"
)

// TestFirst: each session is told a message once. A session that is not remembered is told
// it every time.
func TestFirst(t *testing.T) {
	m := session.New(t.TempDir(), session.Options{})
	for i, step := range []struct {
		session, message string
		want             bool
	}{{"s", "a", true}, {"s", "a", false}, {"s", "b", true}, {"s", "a", false}, {"t", "a", true}, {"", "a", true}, {"", "a", true}} {
		if got := m.First(t.Context(), step.session, step.message); got != step.want {
			t.Errorf("%d: %t, want %t", i, got, step.want)
		}
	}
	m.Forget(t.Context(), "s", true)
	for i := range 100 {
		m.First(t.Context(), "s", fmt.Sprint(i))
	}
	if m.First(t.Context(), "s", "99") || !m.First(t.Context(), "s", "1") {
		t.Error("not the last messages are remembered")
	}
	nowhere := session.New("", session.Options{})
	for range 2 {
		if !nowhere.First(t.Context(), "s", "a") {
			t.Error("a session is remembered without a folder")
		}
	}
}

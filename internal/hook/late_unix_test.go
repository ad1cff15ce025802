//go:build unix

package hook_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/hook"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestLatePipe: nobody waits for a named pipe in the place of the log.
func TestLatePipe(t *testing.T) {
	state := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(state, "hook.log"), 0o600))
	if d := hook.DeadlineNow(state, time.Now()); d != hook.Deadline {
		t.Errorf("%v", d)
	}
}

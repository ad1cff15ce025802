package sandbox

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestApart: what runs behind walls never has the first thread of the process, which decides
// whether the command may signal the helper. With one processor a new goroutine has the thread
// of the one that waits for it.
func TestApart(t *testing.T) {
	const child = "SANDBOX_TEST_APART"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestApart$")
		cmd.Env = append(os.Environ(), child+"=1", "GOMAXPROCS=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	first := func(run func(func())) (n int) {
		for range 200 {
			id := make(chan int)
			run(func() { id <- unix.Gettid() })
			if <-id == unix.Getpid() {
				n++
			}
			runtime.Gosched()
		}
		return n
	}
	if n := first(apart); n > 0 {
		t.Errorf("%d of 200 had the first thread", n)
	}
	if n := first(func(f func()) { go f() }); n == 0 {
		t.Log("no goroutine at all had the first thread: this shows nothing")
	}
}

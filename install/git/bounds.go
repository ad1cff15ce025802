package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/regular"
)

// What git may take besides disk.
const (
	longest  = time.Hour // of one command
	maxOut   = 16 << 20  // bytes that a command may print, where all of it is kept
	maxSaid  = 64 << 10  // bytes of what git says about an error; the last ones count
	maxName  = 1 << 20   // bytes of the path of a file
	interval = 50 * time.Millisecond
)

// watch returns a context for a command in the folder of the repository. The context ends
// when the folder .git has more bytes than the repository may have: what a server sends goes
// there before anybody can look at it.
func (r Repo) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithTimeoutCause(ctx, longest, fmt.Errorf("git took more than %v", longest))
	if r.dir == "" {
		return ctx, stop
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := r.checkSize(); err != nil {
				cancel(err)
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done; stop() }
}

// checkSize refuses a repository whose folder .git has too many bytes. Files that vanish
// meanwhile do not count.
func (r Repo) checkSize() error {
	if r.dir == "" {
		return nil
	}
	if sum, _ := regular.Size(filepath.Join(r.dir, ".git")); sum > r.most {
		return fmt.Errorf("the server sends more than %d bytes, the most that a repository may have", r.most)
	}
	return nil
}

// A tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(p []byte) (int, error) {
	if t.Len() > maxSaid {
		t.Next(t.Len() - maxSaid)
	}
	t.Buffer.Write(p[max(0, len(p)-maxSaid):])
	return len(p), nil
}

// A whole keeps all that is written to it, and fails if that is too much.
type whole struct{ bytes.Buffer }

func (w *whole) Write(p []byte) (int, error) {
	if w.Len()+len(p) > maxOut {
		return 0, fmt.Errorf("it printed more than %d bytes", maxOut)
	}
	return w.Buffer.Write(p)
}

// each runs a command and calls visit for each record of what it prints. A record ends with
// the byte end. An error of visit ends the command.
func (r Repo) each(ctx context.Context, end byte, stdin string, args []string, visit func(string) error) error {
	ctx, stop := r.watch(ctx)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, stderr, err := r.command(ctx, args)
	if err != nil {
		return err
	}
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, maxName)
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, end); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil // more is needed; what is cut off is no record
	})
	for lines.Scan() {
		if err := visit(lines.Text()); err != nil {
			cancel()
			cmd.Wait() // it was killed
			return err
		}
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		cancel()
		cmd.Wait() // it was killed
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	return r.failure(ctx, args[0], cmd.Wait(), stderr)
}

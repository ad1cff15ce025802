package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/slots"
)

// A stuckEmbedder is a server of embeddings that keeps each index of a worktree waiting, and so shows how many run.
type stuckEmbedder struct {
	mu        sync.Mutex
	now, most int             // indexes that wait
	seen      map[string]bool // worktrees that were indexed
	open      chan struct{}   // closed when they need not wait any more
}

func (e *stuckEmbedder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if m := regexp.MustCompile(`fence of worktree (\d+)`).FindStringSubmatch(string(body)); m != nil {
		e.count(1, m[1])
		select {
		case <-e.open:
		case <-r.Context().Done():
		}
		e.count(-1, m[1])
	}
	w.WriteHeader(http.StatusBadRequest)
}

func (e *stuckEmbedder) count(n int, worktree string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now += n
	e.most = max(e.most, e.now)
	e.seen[worktree] = true
}

func (e *stuckEmbedder) counts() (now, most, seen int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now, e.most, len(e.seen)
}

// TestHookWorktrees: hooks in many worktrees index a bounded number of them at a time, and answer meanwhile. The others
// have their turn when one has ended. "skills index", typed by a person, waits for none of them.
func TestHookWorktrees(t *testing.T) {
	home := fixture(t)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, ".local/state"))
	e := &stuckEmbedder{seen: make(map[string]bool), open: make(chan struct{})}
	server := httptest.NewServer(e)
	defer server.Close()
	release := sync.OnceFunc(func() { close(e.open) })
	defer release()     // before the server waits for its connections
	call(t, 0, "index") // the others start from this catalog
	must.Write(t, "config.yaml", fmt.Sprintf("bundled: false\ncontextual: off\nembedder: {openai: {base_url: %q, model: m, dimensions: 7}}\n", server.URL))
	const worktrees = 12
	for i := range worktrees {
		must.Write(t, fmt.Sprintf("w%d/.git/HEAD", i), "")
		must.Write(t, fmt.Sprintf("w%d/.claude/skills/fence/SKILL.md", i), fmt.Sprintf("---\nname: fence\ndescription: Paints the fence of worktree %d.\n---\n", i))
	}
	prompts := 0
	ask := func() {
		t.Helper()
		prompts++
		var all sync.WaitGroup
		for i := range worktrees {
			session := fmt.Sprint(prompts, i)
			all.Go(func() {
				if out, _ := hookOutput(t, promptEvent(session, filepath.Join(home, fmt.Sprint("w", i)), "feed the cat"), "--deadline", "20s"); !strings.Contains(out, "cat") {
					t.Errorf("worktree %d: answer %q", i, out)
				}
			})
		}
		all.Wait()
	}
	ask()
	eventually(t, "there are free slots", func() bool { now, _, _ := e.counts(); return now == slots.Most() })
	call(t, 0, "index") // which waits for none of them
	ask()
	release()
	eventually(t, "not all worktrees were indexed", func() bool {
		ask()
		_, _, seen := e.counts()
		return seen == worktrees
	})
	if _, most, _ := e.counts(); most != slots.Most() {
		t.Errorf("%d indexes ran at a time, not %d:\n%s", most, slots.Most(), hookLog(t, home))
	}
}

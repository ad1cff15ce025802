package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// many writes n skills into the working folder and returns n.
func many(t *testing.T, n int) int {
	t.Helper()
	for i := range n {
		text := fmt.Sprintf("---\nname: skill-%03d\ndescription: Does thing %d.\n---\n%s\n", i, i, strings.Repeat("How to do it, with a few more words. ", 100))
		must.Write(t, fmt.Sprintf(".agents/skills/s%03d/SKILL.md", i), text)
	}
	return n
}

// TestKilled kills a process while it indexes; the next one must find a sound
// catalog and finish it.
func TestKilled(t *testing.T) {
	fixture(t)
	n := many(t, 300) + 2
	db := filepath.Join(t.TempDir(), "catalog.db")
	cmd := exec.Command("skills", "--db", db, "index")
	must.Do(t, cmd.Start())
	eventually(t, "nothing was written", func() bool { return size(db)+size(db+"-wal") > 200_000 })
	must.Do(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Skip("it was faster than the kill")
	}
	hits := strings.Count(call(t, 0, "--db", db, "search", "--limit", "1000", "skill-333"), "\n")
	if hits == 0 {
		t.Error("the search after the kill finds nothing")
	}
	if lines := strings.Count(call(t, 0, "--db", db, "list"), "\n"); lines != n {
		t.Errorf("%d skills after the kill, want %d", lines, n)
	}
}

// eventually waits until ok holds, for as long as a very busy machine may need,
// and ends the test with a message when it never does.
func eventually(t *testing.T, message string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(message)
		}
	}
}

func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// TestTwoProcesses lets several processes make the same catalog at once.
func TestTwoProcesses(t *testing.T) {
	fixture(t)
	n := many(t, 300) + 2
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			out, err := exec.Command("skills", "list").Output()
			if err != nil {
				t.Errorf("skills list: %v%s", err, stderrOf(err))
			}
			if lines := bytes.Count(out, []byte("\n")); lines != n {
				t.Errorf("%d skills, want %d", lines, n)
			}
		})
	}
	wg.Wait()
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "\n" + string(exit.Stderr)
	}
	return ""
}

// TestInterrupted interrupts a process that waits for its standard input.
func TestInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no interrupts")
	}
	fixture(t)
	cmd := exec.Command("skills", "search", "-")
	stdin, err := cmd.StdinPipe()
	must.Do(t, err)
	defer stdin.Close()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	must.Do(t, cmd.Start())
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	// More than the pipe holds: when all of it is written, the process reads.
	if _, err := io.WriteString(stdin, strings.Repeat("cat ", 50_000)); err != nil {
		t.Fatal(err)
	}
	must.Do(t, cmd.Process.Signal(os.Interrupt))
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitError {
		t.Errorf("exit code %d, want %d", code, exitError)
	}
	want := "skills: interrupted\nskills: hint: what was done is kept, and the next run goes on from there\n"
	if stderr.String() != want {
		t.Errorf("standard error %q, want %q", &stderr, want)
	}
}

// TestAnyPrompt gives texts that nobody types.
func TestAnyPrompt(t *testing.T) {
	fixture(t)
	for _, c := range []struct{ name, text string }{
		{"1 MB", "feed the cat\n" + strings.Repeat("Lorem ipsum dolor sit amet, 12:34:56 ERROR x=1; ", 20_000)},
		{"5 MB", strings.Repeat("feed the cat\n", 400_000)},
		{"NUL", "feed\x00 the cat\x00"},
		{"invalid UTF-8", "\xff\xfe feed the \xc3\x28 cat \xed\xa0\x80"},
		{"query syntax", `feed" OR NEAR(cat* ^x) AND -"the {`},
	} {
		for _, command := range []string{"search", "context"} {
			for _, form := range []string{"--json", "--quiet"} {
				var stdout, stderr bytes.Buffer
				code := run(t.Context(), []string{command, form, "-"}, strings.NewReader(c.text), &stdout, &stderr)
				if code != exitOK || stderr.Len() > 0 {
					t.Errorf("%s of %s: exit code %d, %s", command, c.name, code, &stderr)
				}
				if form == "--json" {
					object(t, stdout.String())
				}
				if !strings.Contains(stdout.String(), "Feeds the cat") && (command == "search" || len(c.text) < 100) {
					t.Errorf("%s %s of %s does not find the cat: %.200q", command, form, c.name, &stdout)
				}
			}
		}
	}
}

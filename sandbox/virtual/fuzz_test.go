package virtual

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// FuzzRun: whatever a program says, the run ends, its bounds hold, it gives the same answer
// twice, and it never shows a file of the system.
func FuzzRun(f *testing.F) {
	names, err := os.ReadDir("testdata")
	must.Do(f, err)
	for _, name := range names {
		data, err := os.ReadFile("testdata/" + name.Name())
		if err == nil && strings.HasSuffix(name.Name(), ".txt") {
			for line := range strings.SplitSeq(string(data), "\n") {
				if cmd, ok := strings.CutPrefix(line, "$ "); ok {
					f.Add(cmd)
				}
			}
		}
	}
	for _, e := range escapes[:18] { // those that no bound has to stop
		f.Add(e.command)
	}
	f.Fuzz(func(t *testing.T, program string) {
		var first string
		for range 2 {
			s := New(Options{Steps: 3000, Disk: 1 << 18, Files: 300})
			start := time.Now()
			r, err := s.Execute(t.Context(), sandbox.Request{Skill: "demo", Files: demo(), Command: program,
				Stdin: strings.NewReader("one two\nthree\n"), Limits: sandbox.Limits{Output: 10_000, Timeout: 20 * time.Second}})
			if s.tree.size > 1<<18 || s.tree.files > 300 || len(r.Stdout) > 10_100 || len(r.Stderr) > 10_100 {
				t.Errorf("%d bytes, %d files, %d and %d bytes of output", s.tree.size, s.tree.files, len(r.Stdout), len(r.Stderr))
			}
			if d := time.Since(start); d > 15*time.Second {
				t.Errorf("it took %s", d)
			}
			if strings.Contains(string(r.Stdout), "root:x:0") {
				t.Error("it shows the users of the system")
			}
			switch got := answer(r, err); {
			case first == "":
				first = got
			case got != first:
				t.Errorf("%q, and then %q", first, got)
			}
		}
	})
}

// FuzzSed: the parser takes or refuses every script, and what it takes runs.
func FuzzSed(f *testing.F) {
	for _, seed := range []string{"s/a/b/", "s|a\\(b\\)|[&\\1]|2gp", "2,$!d;/x/I,+1p", "$p\n#c\n1d", "s/[/]/x/", `\,a,d`, "s/a*/x/g", "s/\\n/\\t/"} {
		f.Add(seed, false, "aab\nx\n")
		f.Add(seed, true, "")
	}
	f.Fuzz(func(t *testing.T, script string, extended bool, text string) {
		cmds, err := parseSed(script, extended)
		if err != nil {
			return
		}
		m := newMeter(t.Context(), 1000, DefaultWork)
		c := &command{name: "sed", run: &run{m: m}, out: io.Discard, err: io.Discard}
		_ = c.sedText(cmds, []byte(text), io.Discard) // a limit ends it
	})
}

// FuzzPattern: what the translator takes, Go's regular expressions take as well.
func FuzzPattern(f *testing.F) {
	for _, seed := range []string{`a\{2,3\}\(b\|c\)*$`, `^[^]a-z[:digit:]]+(x|y)?`, `\<a\>\w.`, `a**`, `*a`, `[[:foo:]]`, `x{1000}{1000}`, "ä[ö-ü]"} {
		f.Add(seed, "aab ccc", true)
		f.Add(seed, "aab ccc", false)
	}
	f.Fuzz(func(t *testing.T, text, line string, extended bool) {
		if len(text) > 200 || len(line) > 1000 {
			return
		}
		if p, err := compile(text, extended, false, false); err == nil {
			p.FindAllStringIndex(line, 10)
		}
	})
}

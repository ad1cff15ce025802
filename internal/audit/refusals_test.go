package audit

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestRefusals: each refusal is a line of the log and of the audit log; what is refused to one client
// again is one more line in all.
func TestRefusals(t *testing.T) {
	var log must.Log
	name := filepath.Join(t.TempDir(), "audit.log")
	written, err := Open(name, nil)
	must.Do(t, err)
	r := NewRefusals(slog.New(slog.NewTextHandler(&log, nil)), written)
	none := access.Refusal{Reason: "no token", Status: 401, Path: "/mcp", Address: "10.0.0.1/32"}
	for range 5 {
		r.Add(none)
	}
	r.Add(access.Refusal{Reason: "rate", Status: 429, Path: "/v1/suggest", Caller: "ann", Agent: "clerk", Address: "10.0.0.1/32"})
	r.Add(access.Refusal{Reason: "sessions", Caller: "bob"})
	r.Close()
	r.Add(none) // too late
	r.Close()
	must.Do(t, written.Close())
	want := `level=WARN msg="a request was refused" why="no token" path=/mcp client=10.0.0.1/32 status=401
level=WARN msg="a request was refused" why=rate path=/v1/suggest caller=ann agent=clerk status=429
level=WARN msg="a request was refused" why=sessions caller=bob
level=WARN msg="more such requests were refused" why="no token" path=/mcp client=10.0.0.1/32 status=401 more=4
`
	if diff := cmp.Diff(want, regexp.MustCompile(`(?m)^time=\S+ `).ReplaceAllString(log.String(), "")); diff != "" {
		t.Errorf("the log (-want +got)\n%s", diff)
	}
	lines := []line{
		{Client: "10.0.0.1/32", Call: "/mcp", Refused: "no token", Status: 401},
		{Caller: "ann", Agent: "clerk", Call: "/v1/suggest", Refused: "rate", Status: 429},
		{Caller: "bob", Refused: "sessions"},
		{Client: "10.0.0.1/32", Call: "/mcp", Refused: "no token", Status: 401, More: 4},
	}
	got := read(t, name)
	for i := range got {
		got[i].Time = lines[0].Time
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("the audit log (-want +got)\n%s", diff)
	}
}

// TestRefusalsFlood: a flood of any number of clients writes a bounded number of lines, and loses no count.
func TestRefusalsFlood(t *testing.T) {
	var log must.Log
	r := NewRefusals(slog.New(slog.NewTextHandler(&log, nil)), nil)
	const all = 20_000
	for i := range all {
		r.Add(access.Refusal{Reason: []string{"token", "rate"}[i%2], Status: 429, Path: strings.Repeat("/x", i%100), Address: fmt.Sprint(i)})
	}
	r.Close()
	n := strings.Count(log.String(), "a request was refused")
	if n == 0 || n > firsts {
		t.Errorf("%d refusals have a line of their own", n)
	}
	for _, more := range regexp.MustCompile(`more=(\d+)`).FindAllStringSubmatch(log.String(), -1) {
		var k int
		fmt.Sscan(more[1], &k)
		n += k
	}
	if n != all || log.String() == "" || len(log.String()) > 100*(firsts+10)*4 {
		t.Errorf("%d refusals are counted, in %d bytes", n, len(log.String()))
	}
}

// TestStderr: the name "-" is standard error, and no line commands a terminal.
func TestStderr(t *testing.T) {
	var out must.Log
	l, err := Open("-", &Options{Stderr: &out})
	must.Do(t, err)
	r := NewRefusals(discard(), l)
	r.Add(access.Refusal{Reason: "token", Path: "/\x1b]0;x\u009b\x7f\u202e"})
	r.Close()
	must.Do(t, l.Close())
	if got := out.String(); !strings.HasSuffix(got, `"refused":"token"}`+"\n") || strings.ContainsAny(got, "\x1b\u009b\x7f\u202e") {
		t.Errorf("%q", got)
	}
}

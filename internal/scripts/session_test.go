package scripts

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/sandbox/virtual"
	"github.com/repertoire-skills/repertoire/source"
)

// boxed returns a runner of the trusted skill bread-user, in a room for this many bytes.
func boxed(t *testing.T, room *Limits) *Runner {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the virtual executor does not run on Windows")
	}
	c, _ := catalog(t, source.KindUser)
	trusted := trust.Open(t.TempDir())
	l, err := c.Listing(t.Context(), "bread-user", nil, true)
	must.Do(t, err)
	must.Do(t, trusted.Add(t.Context(), trust.Seen{Skill: trust.Skill{Digest: l.Digest, Name: "bread-user", Folder: l.Folder, Date: time.Unix(0, 0)}}))
	r, err := New(c, nil, Executors{Executor: virtual.New(virtual.Options{})}, trusted, &Options{Limits: room})
	must.Do(t, err)
	return r
}

// fill writes n KiB to a file of the session.
func (s *Session) fill(t *testing.T, n int) string {
	t.Helper()
	program := fmt.Sprintf("i=0; while [ $i -lt %d ]; do printf '%%01024d' 0; i=$((i+1)); done > /file; ls /file", n)
	return s.Call(t.Context(), "sandbox_execute", fmt.Sprintf(`{"command":%q}`, program)).Text
}

// TestLimits: sessions that keep too much lose their files and hear of it once. The client that
// keeps most loses first, and no client costs another one its files.
func TestLimits(t *testing.T) {
	room := NewLimits()
	room.most = 1 << 20
	r := boxed(t, room)
	look := func(s *Session) string {
		return s.Call(t.Context(), "sandbox_execute", `{"command":"test -e /file && echo there; echo looked"}`).Text
	}
	honest := r.Begin("honest")
	if got := honest.fill(t, 200); !strings.Contains(got, "<stdout>\n/file\n</stdout>") {
		t.Fatal(got)
	}
	var greedy []*Session
	for range 20 {
		s := r.Begin("greedy")
		if got := s.fill(t, 200); !strings.Contains(got, "<stdout>\n/file\n</stdout>") {
			t.Fatal(got)
		}
		greedy = append(greedy, s)
	}
	if room.kept > room.most || len(room.sessions) > 5 {
		t.Errorf("%d sessions keep %d bytes of %d", len(room.sessions), room.kept, room.most)
	}
	if got := look(honest); !strings.Contains(got, "there") {
		t.Errorf("one client costs another one its files: %s", got)
	}
	if got := look(greedy[19]); !strings.Contains(got, "there") {
		t.Errorf("the session that was used last has lost its files: %s", got)
	}
	if got := look(greedy[0]); !strings.Contains(got, "the files of this sandbox are gone") {
		t.Errorf("a session whose files are gone is told %s", got)
	}
	if got := look(greedy[0]); !strings.Contains(got, "looked") || strings.Contains(got, "there") {
		t.Errorf("afterwards it is told %s", got)
	}

	other := boxed(t, room) // another scope of the server
	s := other.Begin("other")
	s.fill(t, 100)
	if room.kept > room.most {
		t.Errorf("the sessions of two scopes keep %d bytes", room.kept)
	}
	for _, s := range append(greedy, honest, s) {
		s.End()
	}
	if room.kept != 0 || len(room.sessions) != 0 {
		t.Errorf("%d bytes are kept for nobody", room.kept)
	}
	if honest.fill(t, 1); room.kept != 0 {
		t.Errorf("a session that has ended keeps %d bytes", room.kept)
	}
}

// TestLoad: a skill is brought into a session only as it is trusted.
func TestLoad(t *testing.T) {
	r := boxed(t, nil)
	s := r.Begin("")
	if at := s.Load(t.Context(), "bread-user"); at != "/.sandbox/skills/bread-user" {
		t.Errorf("the skill is at %q", at)
	}
	if got := s.Call(t.Context(), "sandbox_execute", `{"command":"ls; sh bread-user/run.sh"}`).Text; !strings.Contains(got, "<stdout>\nbread-user\nuser\n</stdout>") {
		t.Error(got)
	}
	if at := s.Load(t.Context(), "nothing"); at != "" {
		t.Errorf("a skill that there is not is at %q", at)
	}
}

package slots_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/slots"
)

// waits is the variable that makes the test program take a place, wait for its turn, say so, and hold both until it is
// killed.
const waits = "SLOTS_TEST_PLACE"

func TestMain(m *testing.M) {
	if place := os.Getenv(waits); place != "" {
		p, err := slots.Take(context.Background(), place)
		slot, turnErr := slots.Turn(context.Background(), filepath.Dir(place))
		fmt.Println(p != nil, slot != nil, errors.Join(err, turnErr))
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// claim claims a place in a folder, or checks that there is none.
func claim(t *testing.T, dir string, want bool) *slots.Claim {
	t.Helper()
	c, err := slots.Place(dir)
	if (c != nil) != want || err != nil {
		t.Fatalf("claimed %v, %v", c, err)
	}
	return c
}

// TestPlace: there is a bounded number of places. One that is unlocked stays claimed, and one that is given back is free.
func TestPlace(t *testing.T) {
	dir := t.TempDir()
	first, second := claim(t, dir, true), claim(t, dir, true)
	for range slots.Places - 2 {
		must.Do(t, claim(t, dir, true).Close())
	}
	claim(t, dir, false)
	must.Do(t, first.Close())
	claim(t, dir, false)
	must.Do(t, second.Free())
	must.Do(t, claim(t, dir, true).Free())
	for _, d := range []time.Duration{-slots.Pause, time.Hour} { // long ago, and before the clock was put back
		at := time.Now().Add(d)
		must.Do(t, os.Chtimes(first.Path(), at, at))
		must.Do(t, claim(t, dir, true).Close())
	}
}

// waiter starts a process that takes a place and waits for its turn.
func waiter(t *testing.T, place string) (p *exec.Cmd, says io.Reader) {
	self, err := os.Executable()
	must.Do(t, err)
	p = exec.Command(self)
	p.Env = append(os.Environ(), waits+"="+place)
	in, err := p.StdinPipe()
	must.Do(t, err)
	t.Cleanup(func() { in.Close() })
	says, err = p.StdoutPipe()
	must.Do(t, err)
	must.Do(t, p.Start())
	return p, says
}

func checkTurn(t *testing.T, says io.Reader) {
	t.Helper()
	line := make([]byte, 100)
	n, err := says.Read(line)
	if got := string(line[:n]); err != nil || strings.TrimSpace(got) != "true true <nil>" {
		t.Fatalf("the process says %q, %v", got, err)
	}
}

// TestTurn: when all slots are taken a process waits, until another has ended or was killed, which frees its place too.
func TestTurn(t *testing.T) {
	dir := t.TempDir()
	var all []*slots.Claim
	for range slots.Most() {
		c, err := slots.Turn(t.Context(), dir)
		must.Do(t, err)
		all = append(all, c)
	}
	place := claim(t, dir, true)
	killed, says := waiter(t, place.Path())
	must.Do(t, place.Close())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c, err := slots.Turn(ctx, dir); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", c, err)
	}
	must.Do(t, all[0].Close())
	checkTurn(t, says)
	if c, err := slots.Take(t.Context(), place.Path()); c != nil || err != nil || !slots.Held(place.Path()) {
		t.Errorf("two have a place: %v", err)
	}
	next := claim(t, dir, true)
	last, says := waiter(t, next.Path())
	must.Do(t, next.Close())
	must.Do(t, killed.Process.Kill())
	_ = killed.Wait() // it was killed
	checkTurn(t, says)
	if slots.Held(place.Path()) {
		t.Error("the place of a killed process is held")
	}
	must.Do(t, last.Process.Kill())
	_ = last.Wait() // it was killed
}

// TestUnusable: what cannot be locked is no place and no slot. If none can be, the error says why.
func TestUnusable(t *testing.T) {
	dir := t.TempDir()
	block := func(kind string, n int) {
		for i := range n {
			must.Do(t, os.MkdirAll(filepath.Join(dir, fmt.Sprintf("%s-%d.lock", kind, i+1)), 0o700))
		}
	}
	block("place", slots.Places-1)
	block("slot", slots.Most()-1)
	must.Do(t, claim(t, dir, true).Close())
	slot, err := slots.Turn(t.Context(), dir)
	must.Do(t, err)
	must.Do(t, slot.Close())
	must.Do(t, os.Remove(slot.Path()))
	must.Do(t, os.Remove(filepath.Join(dir, fmt.Sprintf("place-%d.lock", slots.Places))))
	block("place", slots.Places)
	block("slot", slots.Most())
	for _, dir := range []string{dir, filepath.Join(dir, "slot-1.lock", "none")} {
		if c, err := slots.Place(dir); c != nil || err == nil || !strings.Contains(err.Error(), "place-1.lock") {
			t.Errorf("%v, %v", c, err)
		}
		if c, err := slots.Turn(t.Context(), dir); c != nil || err == nil || !strings.Contains(err.Error(), "slot-1.lock") {
			t.Errorf("%v, %v", c, err)
		}
	}
	if slots.Held(filepath.Join(dir, "none")) {
		t.Error("a file that does not exist is held")
	}
}

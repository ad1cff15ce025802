package session_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/session"
)

// knows reports whether a session of a client of a server was offered a skill before.
func (k *talk) knows(client, id string) bool {
	k.t.Helper()
	b, err := k.m.Suggest(k.t.Context(), k.c, session.Prompt{Client: client, Session: id, Text: totals}, repertoire.Budget{}, nil)
	must.Do(k.t, err)
	return len(b.Skills) == 0
}

// wantKnown checks whether a session is remembered.
func (k *talk) wantKnown(want bool, client, id string) {
	k.t.Helper()
	if got := k.knows(client, id); got != want {
		k.t.Errorf("session %s of %s is remembered: %t, want %t", id, client, got, want)
	}
}

// TestServed: a client of a server has 250 sessions. One that names more costs neither
// another client nor a program on this machine its memory, and leaves no file.
func TestServed(t *testing.T) {
	state := t.TempDir()
	k := begin(t)
	k.m = session.New(state, session.Options{})
	k.want(k.say(totals), "spreadsheet-totals")
	k.wantKnown(false, "a", "s") // the hook's session of that name is another one
	k.wantKnown(false, "b", "s")
	for i := range 250 {
		k.wantKnown(false, "a", fmt.Sprint(i))
		k.wantKnown(true, "a", fmt.Sprint(i))
	}
	k.wantKnown(false, "a", "s") // 250 newer ones have taken its place
	k.wantKnown(true, "a", "1")
	k.wantKnown(false, "a", "0") // and this one that of the oldest
	k.wantKnown(true, "b", "s")
	k.want(k.say(totals))
	k.wantKnown(false, "a", "")
	k.wantKnown(false, "a", "")
	if sessions, err := filepath.Glob(filepath.Join(state, "sessions", "*.json")); err != nil || len(sessions) != 1 {
		t.Errorf("files: %v, %v", sessions, err)
	}
}

// TestServedInAll: when all clients have too many sessions, the one with the most loses
// its oldest.
func TestServedInAll(t *testing.T) {
	k := begin(t)
	k.wantKnown(false, "few", "s")
	for i := range 8 * 249 {
		k.knows(fmt.Sprint(i%8), fmt.Sprint(i/8))
	}
	for i := range 20 {
		k.wantKnown(false, fmt.Sprint("new", i), "s")
	}
	k.wantKnown(true, "few", "s")
	for i := range 20 {
		k.wantKnown(true, fmt.Sprint("new", i), "s")
	}
	forgotten := 0
	for client := range 8 {
		// Asking is using: a forgotten session is new again and takes another one's place.
		if !k.knows(fmt.Sprint(client), "0") {
			forgotten++
		}
	}
	if forgotten == 0 {
		t.Error("no client with many sessions has lost its oldest")
	}
}

// TestServedExpires: a session without any prompt is remembered for a day.
func TestServedExpires(t *testing.T) {
	now := time.Now()
	k := begin(t)
	k.m = session.New("", session.Options{Now: func() time.Time { return now }})
	k.wantKnown(false, "a", "s")
	for _, step := range []struct {
		after time.Duration
		known bool
	}{{20 * time.Hour, true}, {20 * time.Hour, true}, {25 * time.Hour, false}, {-25 * time.Hour, false}} {
		now = now.Add(step.after)
		k.wantKnown(step.known, "a", "s")
	}
}

// TestServedBusy: a prompt waits for another one of its session, but not for ever.
func TestServedBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := begin(t)
		held, release := make(chan struct{}), make(chan struct{})
		slow := blocking{k.c, held, release}
		p := session.Prompt{Client: "a", Session: "s", Text: totals}
		done := make(chan error, 1)
		go func() {
			_, err := k.m.Suggest(context.WithoutCancel(t.Context()), slow, p, repertoire.Budget{}, nil)
			done <- err
		}()
		<-held
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		b, err := k.m.Suggest(ctx, k.c, p, repertoire.Budget{}, nil)
		if must.Do(t, err); len(b.Skills) != 1 || ctx.Err() != nil {
			t.Errorf("%d skills, context %v", len(b.Skills), ctx.Err())
		}
		close(release)
		must.Do(t, <-done)
		k.wantKnown(true, "a", "s")
	})
}

// blocking is a catalog whose blocks wait.
type blocking struct {
	*repertoire.Catalog
	held, release chan struct{}
}

func (b blocking) Block(ctx context.Context, prompt string, o repertoire.Budget, a *repertoire.Agent) (repertoire.Block, error) {
	close(b.held)
	<-b.release
	return b.Catalog.Block(ctx, prompt, o, a)
}

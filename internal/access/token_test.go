package access

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/store"
)

// add adds a token and returns its secret.
func add(t testing.TB, list store.Tokens, name, agent string, expires time.Time) string {
	t.Helper()
	token, secret, err := NewToken(name, agent, time.Now(), expires)
	must.Do(t, err)
	must.Do(t, list.AddToken(t.Context(), token))
	return secret
}

// want checks who bears a secret; the zero Caller means that nobody does.
func want(t testing.TB, c Checker, secret string, want Caller) {
	t.Helper()
	got, err := c.Check(t.Context(), secret)
	if got != want || err != nil && !errors.Is(err, ErrUnknown) || (err == nil) != (want != Caller{}) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestNewToken(t *testing.T) {
	now := time.Now()
	for _, name := range []string{"", "a b", "a\nb", "ä", "oidc:x", strings.Repeat("x", 65)} {
		if _, _, err := NewToken(name, "", now, time.Time{}); err == nil {
			t.Errorf("%q names a token", name)
		}
	}
	if _, _, err := NewToken("a", "", now, now.Add(-time.Hour)); err == nil {
		t.Error("a token may have expired before it is made")
	}
	token, secret, err := NewToken("ci-1.x@team", "clerk", now, now.Add(time.Hour))
	must.Do(t, err)
	if len(secret) < 30 || strings.Contains(token.Hash, secret) || len(token.Hash) != 64 {
		t.Errorf("secret %q, token %+v", secret, token)
	}
	if _, other, _ := NewToken("ci", "", now, time.Time{}); other == secret {
		t.Error("two tokens have the same secret")
	}
}

// TestFile: another File, as of another process, sees at once what was changed, and the file
// does not hold the secret.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	f, other := Open(dir), Open(dir)
	if f.Exists() {
		t.Error("the file exists before the first token")
	}
	want(t, other, "", Caller{})
	a := add(t, f, "a", "clerk", time.Time{})
	b := add(t, f, "b", "", time.Now().Add(time.Hour))
	want(t, other, a, Caller{Name: "a", Agent: "clerk"})
	want(t, other, b, Caller{Name: "b"})
	for _, wrong := range []string{"", "a", a + " ", strings.ToUpper(a), a[:len(a)-1]} {
		want(t, other, wrong, Caller{})
	}
	data, err := os.ReadFile(f.name)
	must.Do(t, err)
	if strings.Contains(string(data), a) || strings.Contains(string(data), a[len(secretPrefix):]) {
		t.Errorf("the file holds a secret:\n%s", data)
	}
	token, _, _ := NewToken("a", "", time.Now(), time.Time{})
	if err := f.AddToken(t.Context(), token); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second token of a name: %v", err)
	}
	if ok, err := f.RevokeToken(t.Context(), "a"); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := f.RevokeToken(t.Context(), "a"); ok || err != nil {
		t.Error("revoked twice:", ok, err)
	}
	want(t, other, a, Caller{})
	want(t, other, b, Caller{Name: "b"})
	if ok, err := f.RevokeToken(t.Context(), "b"); !ok || err != nil || !f.Exists() {
		t.Error("without tokens the file is to stay, so that servers go on asking for one:", ok, err)
	}
}

// TestExpired: the last moment of a token is before the time at which it expires.
func TestExpired(t *testing.T) {
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	token, secret, err := NewToken("a", "", at.Add(-time.Hour), at)
	must.Do(t, err)
	k := knownOf([]store.Token{token})
	if _, err := k.check(secret, at.Add(-time.Nanosecond)); err != nil {
		t.Error(err)
	}
	if _, err := k.check(secret, at); !errors.Is(err, ErrUnknown) {
		t.Errorf("an expired token: %v", err)
	}
}

// TestAddAtOnce: of tokens that are added at the same time none is lost.
func TestAddAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for _, name := range strings.Split("abcdefgh", "") {
		all.Go(func() { add(t, Open(dir), name, "", time.Time{}) })
	}
	all.Wait()
	if tokens, err := Open(dir).Tokens(t.Context()); len(tokens) != 8 || err != nil {
		t.Error(tokens, err)
	}
}

// TestDamagedFile: nobody is known, and the error is not that the secret is wrong.
func TestDamagedFile(t *testing.T) {
	f := Open(t.TempDir())
	secret := add(t, f, "a", "", time.Time{})
	want(t, f, secret, Caller{Name: "a"})
	for _, text := range []string{"", "{", `{"tokens":[{"name":"a","limit":1}]}`, `{"tokens":[{"name":"a"},{"name":"a"}]}`, `{"tokens":[]} {}`} {
		must.Do(t, os.WriteFile(f.name, []byte(text), 0o600))
		if _, err := f.Check(t.Context(), secret); err == nil || errors.Is(err, ErrUnknown) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
		if err := f.AddToken(t.Context(), store.Token{Name: "b"}); err == nil {
			t.Errorf("%q was replaced", text)
		}
	}
}

// An engine keeps tokens as a shared engine does, and can be lost.
type engine struct {
	*File
	gone atomic.Bool
}

var errGone = errors.New("connection refused")

func (e *engine) Tokens(ctx context.Context) ([]store.Token, error) {
	if e.gone.Load() {
		return nil, errGone
	}
	return e.File.Tokens(ctx)
}

// TestShared: the last known tokens count while the engine is lost, also after a restart;
// before it was ever reached nobody is known.
func TestShared(t *testing.T) {
	e := &engine{File: Open(t.TempDir())}
	e.gone.Store(true)
	kept := t.TempDir() + "/deep/tokens.json"
	s := OpenShared(e, kept, nil)
	a := add(t, e, "a", "clerk", time.Time{})
	if _, err := s.Check(t.Context(), a); err == nil || errors.Is(err, ErrUnknown) || !s.Any() {
		t.Errorf("before the engine was reached: %v, any %t", err, s.Any())
	}
	if err := s.Reload(t.Context()); !errors.Is(err, errGone) {
		t.Error(err)
	}
	e.gone.Store(false)
	must.Do(t, s.Reload(t.Context()))
	want(t, s, a, Caller{Name: "a", Agent: "clerk"})
	e.gone.Store(true)
	restarted := OpenShared(e, kept, nil)
	want(t, restarted, a, Caller{Name: "a", Agent: "clerk"})
	want(t, restarted, "x", Caller{})

	e.gone.Store(false)
	_, err := e.RevokeToken(t.Context(), "a")
	must.Do(t, err)
	want(t, restarted, a, Caller{Name: "a", Agent: "clerk"}) // it has not heard yet
	must.Do(t, restarted.Reload(t.Context()))
	want(t, restarted, a, Caller{})
	want(t, OpenShared(e, kept, nil), a, Caller{})
}

// TestSharedAny: without a token everybody may be let in, but not because the last one was
// revoked, and not because of one that cannot be understood.
func TestSharedAny(t *testing.T) {
	dir := t.TempDir()
	e, kept := &engine{File: Open(dir)}, dir+"/kept.json"
	any := func(what string, s *Shared, want bool) {
		t.Helper()
		must.Do(t, s.Reload(t.Context()))
		if got := s.Any(); got != want {
			t.Errorf("%s: any %t", what, got)
		}
	}
	s := OpenShared(e, kept, nil)
	any("before the first token", s, false)
	any("after a restart before it", OpenShared(e, kept, nil), false)
	must.Do(t, e.AddToken(t.Context(), store.Token{Name: "a", Hash: "no hash"}))
	any("a token that nobody can bear", s, true)
	if _, err := e.RevokeToken(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	any("after the last was revoked", s, true)
	any("after a restart", OpenShared(e, kept, nil), true)
	any("on a machine that knew no token", OpenShared(e, dir+"/other.json", nil), true)
}

// TestFollow: what was heard of counts; tokens that could not be read then are read later.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &engine{File: Open(t.TempDir())}
		s := OpenShared(e, t.TempDir()+"/tokens.json", nil)
		ctx, cancel := context.WithCancel(t.Context())
		heard, ended := make(chan struct{}), make(chan struct{})
		go func() { s.Follow(ctx, heard); close(ended) }()
		heard <- struct{}{}
		synctest.Wait()
		a := add(t, e, "a", "", time.Time{})
		want(t, s, a, Caller{})
		heard <- struct{}{}
		synctest.Wait()
		want(t, s, a, Caller{Name: "a"})

		e.gone.Store(true)
		heard <- struct{}{}
		synctest.Wait()
		b := add(t, e, "b", "", time.Time{})
		want(t, s, a, Caller{Name: "a"})
		time.Sleep(10 * time.Second) // it has tried several times
		synctest.Wait()
		e.gone.Store(false)
		time.Sleep(2 * lastRetry)
		synctest.Wait()
		want(t, s, b, Caller{Name: "b"})
		cancel()
		<-ended
	})
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte(`{"tokens":[{"name":"a","sha256":"00","agent":"b","created":"2026-01-01T00:00:00Z"}]}`))
	f.Add([]byte(`{"tokens":[]}`))
	f.Add([]byte(`{"tokens":[{"name":"a","sha256":"ff","expires":"2026-01-01T00:00:00Z"},{"name":"b"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tokens, err := parseTokens(data)
		if err != nil {
			return
		}
		for range knownOf(tokens) {
			break
		}
		name := t.TempDir() + "/tokens.json"
		if err := writeTokens(name, tokens); err != nil {
			return // a time that JSON cannot hold
		}
		again, err := readTokens(name)
		must.Do(t, err)
		if diff := cmp.Diff(tokens, again); diff != "" {
			t.Errorf("written and read again: %s", diff)
		}
	})
}

// TestExpiry: a time span counts from now, a day is one at midnight.
func TestExpiry(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "12h": now.Add(12 * time.Hour), "90d": now.AddDate(0, 0, 90), "2w": now.AddDate(0, 0, 14), "2030-12-31": time.Date(2030, 12, 31, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := Expiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"h", "12", "0d", "-1d", "12m", "é", "99999999w", "2030-13-01"} {
		if got, err := Expiry(text, now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

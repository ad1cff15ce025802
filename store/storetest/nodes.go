package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/repertoire-skills/repertoire/store"
)

func nodeChecks() []sharedCheck {
	return []sharedCheck{
		{"Bases", "The newest base of each key is returned as it was put.", testBases},
		{"BasesRefused", "A base with other bytes than it says, or of a generation that the catalog does not know, is refused and never seen.", testBasesRefused},
		{"BasesReplaced", "A base that is replaced while it is read is ErrStale, never other bytes.", testBasesReplaced},
		{"Watch", "Watch calls heard at first, and after each change of another process.", testWatch},
		{"Tokens", "Tokens are returned as they were added, ordered by name; their names are unique.", testTokens},
		{"TokensHeard", "Watch calls heard when another process changes the tokens, which is no change of the catalog.", testTokensHeard},
	}
}

// baseOf returns the base with these bytes.
func baseOf(key string, g store.Generation, data string) store.Base {
	return store.Base{Key: key, Generation: g, Size: int64(len(data)), SHA256: digest(data)}
}

func tryPut(t *testing.T, s store.Bases, b store.Base, data string) error {
	return s.PutBase(t.Context(), b, iotest.OneByteReader(strings.NewReader(data)))
}

func put(t *testing.T, s store.Bases, b store.Base, data string) {
	t.Helper()
	if err := s.PutBase(t.Context(), b, strings.NewReader(data)); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s store.Bases, b store.Base) (string, error) {
	var data bytes.Buffer
	err := s.GetBase(t.Context(), b, &data)
	return data.String(), err
}

// base returns the newest base of a key.
func base(t *testing.T, s store.Bases, key string) store.Base {
	t.Helper()
	b, ok, err := s.Base(t.Context(), key)
	if err != nil || !ok && b != (store.Base{}) {
		t.Errorf("base %s: %+v, %v", key, b, err)
	}
	return b
}

func testBases(t *testing.T, s Shared, open Opener) {
	Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
	older := State(t, s)
	Put(t, s, store.Source{Label: "a"}, Record("csv", "d", "b"))
	newer := State(t, s)
	wants(t, "no base", store.Base{})(base(t, s, "k"), nil)

	large := strings.Repeat("\x00\x01\xff base", 500_000)
	first, second, other := baseOf("k", older.Generation, large), baseOf("k", newer.Generation, large+"2"), baseOf(hostile[0], newer.Generation, "")
	put(t, s, first, large)
	put(t, s, other, "")
	r := open(true)
	wants(t, "first base", first)(base(t, r, "k"), nil)
	data, err := get(t, r, first)
	if err != nil || data != large {
		t.Errorf("first base: %d bytes, %v; want %d", len(data), err, len(large))
	}
	put(t, s, second, large+"2")
	put(t, s, first, large)
	put(t, s, baseOf("k", newer.Generation, "compiled once more"), "compiled once more")
	wants(t, "newest base", second)(base(t, r, "k"), nil)
	if data, err := get(t, r, second); err != nil || data != large+"2" {
		t.Errorf("newest base: %d bytes, %v", len(data), err)
	}
	if _, err := get(t, r, first); !errors.Is(err, store.ErrStale) {
		t.Errorf("a base that was replaced: %v", err)
	}
	wants(t, "base of another key", other)(base(t, r, hostile[0]), nil)
	wants(t, "empty base", "")(get(t, r, other))
	wants(t, "state", newer)(State(t, s), nil)

	full := errors.New("disk full")
	if err := r.GetBase(t.Context(), second, failing{full}); !errors.Is(err, full) {
		t.Errorf("a base that cannot be written: %v", err)
	}
}

// failing is a writer that cannot write.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func testBasesRefused(t *testing.T, s Shared, _ Opener) {
	Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
	g := State(t, s).Generation
	good := baseOf("k", g, "base")
	for what, data := range map[string]string{"shorter": "bas", "longer": "base ", "other bytes": "bass"} {
		if tryPut(t, s, good, data) == nil {
			t.Errorf("%s: no error", what)
		}
	}
	broken := errors.New("broken")
	err := s.PutBase(t.Context(), good, io.MultiReader(strings.NewReader("ba"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("a base that cannot be read: %v", err)
	}
	for _, g := range []store.Generation{{Number: g.Number, Token: g.Token + 1}, {Number: g.Number + 1, Token: g.Token}} {
		if err := tryPut(t, s, baseOf("k", g, "base"), "base"); !errors.Is(err, store.ErrStale) {
			t.Errorf("generation %v: %v", g, err)
		}
	}
	wants(t, "base", store.Base{})(base(t, s, "k"), nil)
	put(t, s, good, "base")
	wants(t, "base that was put at last", "base")(get(t, s, good))
}

func testBasesReplaced(t *testing.T, s Shared, open Opener) {
	const rounds = 3
	var wg sync.WaitGroup
	done := make(chan struct{})
	bytesOf := func(round int64) string { return strings.Repeat(string(rune('a'+round)), 2<<20) }
	wg.Go(func() {
		defer close(done)
		for range rounds {
			Put(t, s, store.Source{Label: "a"}, Record("pdf", "d", "b"))
			g := State(t, s).Generation
			put(t, s, baseOf("k", g, bytesOf(g.Number)), bytesOf(g.Number))
		}
	})
	r := open(true)
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		b, ok, err := r.Base(t.Context(), "k")
		if err != nil {
			t.Error(err)
		}
		if !ok {
			continue
		}
		data, err := get(t, r, b)
		if stale := errors.Is(err, store.ErrStale); stale && !ended || err == nil && data == bytesOf(b.Generation.Number) {
			continue
		}
		t.Errorf("base of generation %d: %d bytes, %v", b.Generation.Number, len(data), err)
	}
	wg.Wait()
}

// watch starts a Watch and returns the states that it hears. It ends with the test.
func watch(t *testing.T, s store.Watcher) <-chan store.State {
	ctx, cancel := context.WithCancel(t.Context())
	states, ended := make(chan store.State), make(chan error)
	go func() {
		ended <- s.Watch(ctx, func(state store.State) {
			select {
			case states <- state:
			case <-ctx.Done():
			}
		}, func(err error) { t.Errorf("lost: %v", err) })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returned %v", err)
		}
	})
	return states
}

// hears waits until a Watch has heard a state.
func hears(t *testing.T, states <-chan store.State, want store.State) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case got := <-states:
			if got == want {
				return
			}
			if got.Generation.Number >= want.Generation.Number {
				t.Fatalf("heard %+v; want %+v", got, want)
			}
		case <-limit:
			t.Fatalf("heard nothing of %+v", want)
		}
	}
}

func testWatch(t *testing.T, s Shared, open Opener) {
	states, own := watch(t, open(true)), watch(t, s)
	hears(t, states, State(t, s))
	for _, name := range []string{"pdf", "csv", "xls"} {
		Put(t, s, store.Source{Label: "a"}, Record(name, "d", "b"))
		hears(t, states, State(t, s))
	}
	join(t, s, func(in store.Store) { Put(t, in, store.Source{Label: "b"}, Record("doc", "d", "b")) })
	hears(t, states, State(t, s))
	hears(t, own, State(t, s))
}

// token returns a token with this name.
func token(name string) store.Token {
	return store.Token{Name: name, Hash: digest(name), Agent: "reviewer", Created: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)}
}

func testTokens(t *testing.T, s Shared, open Opener) {
	before := State(t, s)
	short := token("a short one")
	short.Expires, short.Agent = short.Created.Add(time.Hour), ""
	quoted := token(`it's "quoted" \`)
	wants(t, "had a token at first", false)(s.HadToken(t.Context()))
	for _, added := range []store.Token{quoted, short, token("B")} {
		if err := s.AddToken(t.Context(), added); err != nil {
			t.Fatal(err)
		}
	}
	taken := token("B")
	taken.Hash = digest("another secret")
	if err := s.AddToken(t.Context(), taken); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	r := open(true)
	wants(t, "tokens", []store.Token{token("B"), short, quoted})(r.Tokens(t.Context()))
	wants(t, "revoked", true)(s.RevokeToken(t.Context(), "B"))
	wants(t, "revoked again", false)(s.RevokeToken(t.Context(), "B"))
	wants(t, "tokens that are left", []store.Token{short, quoted})(r.Tokens(t.Context()))
	for _, left := range []store.Token{short, quoted} {
		wants(t, "revoked", true)(s.RevokeToken(t.Context(), left.Name))
	}
	wants(t, "had a token after all are revoked", true)(r.HadToken(t.Context()))
	wants(t, "state", before)(State(t, s), nil)
}

func testTokensHeard(t *testing.T, s Shared, open Opener) {
	states := watch(t, open(true))
	now := State(t, s)
	hears(t, states, now)
	if err := s.AddToken(t.Context(), token("one")); err != nil {
		t.Fatal(err)
	}
	hears(t, states, now)
	wants(t, "revoked", true)(s.RevokeToken(t.Context(), "one"))
	hears(t, states, now)
}

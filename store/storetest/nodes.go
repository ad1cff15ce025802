package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
		{"Usage", "Lines of the log of usage are returned in the order of their times, once each; who may only read cannot add any, and ForgetUsage removes them all.", testUsage},
		{"UsageMonths", "The log of usage keeps the newest months that it has lines of, and none of the future.", testUsageMonths},
		{"Proposals", "Proposals are kept whole, one decision about each counts, and who may only read reads them.", testProposals},
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

// usageOf returns the log of usage of an engine, which need not have one.
func usageOf(t *testing.T, s Shared) store.UsageLog {
	t.Helper()
	u, ok := s.(store.UsageLog)
	if !ok {
		t.Skip("this engine keeps no log of usage")
	}
	return u
}

// usageSince returns the lines since a time, as text.
func usageSince(t *testing.T, u store.UsageLog, since time.Time) (list []string) {
	t.Helper()
	err := u.UsageSince(t.Context(), since, func(l store.UsageLine) error {
		list = append(list, fmt.Sprintf("%s %.20s", l.Time.Format("06-01-02 15:04:05.000000"), l.Data))
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return list
}

func testUsage(t *testing.T, s Shared, open Opener) {
	u, reader := usageOf(t, s), usageOf(t, open(true))
	start := time.Date(2026, 3, 31, 23, 59, 59, 999_999_000, time.UTC)
	state := State(t, s)
	lines := []store.UsageLine{{Time: start.Add(time.Second), Data: []byte(hostile[2])}, {Time: start, Data: []byte(hostile[0])}}
	for range 2 { // as after an answer that was lost
		if err := u.AddUsage(t.Context(), lines); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.AddUsage(t.Context(), nil); err != nil {
		t.Error(err)
	}
	both := []string{fmt.Sprintf("26-03-31 23:59:59.999999 %.20s", hostile[0]), "26-04-01 00:00:00.999999 " + hostile[2]}
	wants(t, "all lines", both)(usageSince(t, reader, time.Time{}), nil)
	wants(t, "lines since one", both)(usageSince(t, reader, start), nil)
	wants(t, "lines since another", both[1:])(usageSince(t, reader, start.Add(time.Microsecond)), nil)
	enough := errors.New("enough")
	if err := reader.UsageSince(t.Context(), time.Time{}, func(store.UsageLine) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("a function that fails: %v", err)
	}
	for what, err := range map[string]error{"AddUsage": reader.AddUsage(t.Context(), lines[:1]), "ForgetUsage": reader.ForgetUsage(t.Context())} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s by a reader: %v", what, err)
		}
	}
	many := make([]store.UsageLine, 5000)
	for i := range many {
		many[i] = store.UsageLine{Time: start.Add(time.Minute), Data: fmt.Append(nil, i)}
	}
	if err := u.AddUsage(t.Context(), many); err != nil {
		t.Error(err)
	}
	wants(t, "lines of one time", len(many))(len(usageSince(t, reader, start.Add(time.Minute))), nil)
	if err := u.ForgetUsage(t.Context()); err != nil {
		t.Error(err)
	}
	wants(t, "lines after forgetting", 0)(len(usageSince(t, reader, time.Time{})), nil)
	wants(t, "state", state)(State(t, s), nil)
}

func testUsageMonths(t *testing.T, s Shared, _ Opener) {
	u := usageOf(t, s)
	last := time.Date(2025, 1, 31, 23, 59, 59, 0, time.UTC)
	for i := range store.UsageMonths + 1 {
		lines := []store.UsageLine{{Time: last.AddDate(0, 0, 1).AddDate(0, i, 0), Data: []byte("{}")}}
		if i == 0 {
			lines = append(lines, store.UsageLine{Time: last, Data: []byte("{}")})
		}
		if err := u.AddUsage(t.Context(), lines); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.AddUsage(t.Context(), []store.UsageLine{{Time: time.Now().AddDate(0, 1, 0), Data: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	list := usageSince(t, u, time.Time{})
	wants(t, "lines", store.UsageMonths)(len(list), nil)
	wants(t, "the oldest", "25-03-01 23:59:59")(list[0][:17], nil)
}

func testProposals(t *testing.T, s Shared, open Opener) {
	own, ok := s.(store.Proposals)
	if !ok {
		t.Skip("this engine keeps no proposals")
	}
	node, reader, before := open(false).(store.Proposals), open(true).(store.Proposals), State(t, s)
	one := store.Proposal{ID: "1-b", Waits: true, Info: []byte("made"), Text: []byte{0, 0xff}}
	two := store.Proposal{ID: `0-'a"`, Waits: true, Info: []byte("made"), Text: []byte("text")}
	for _, p := range []store.Proposal{one, two} {
		if err := node.AddProposal(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for what, err := range map[string]error{"AddProposal": reader.AddProposal(t.Context(), store.Proposal{ID: "x"}), "SetProposal": reader.SetProposal(t.Context(), one, one.Info)} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s by a reader: %v", what, err)
		}
	}
	if err := own.AddProposal(t.Context(), two); !errors.Is(err, fs.ErrExist) {
		t.Errorf("added twice: %v", err)
	}
	if _, err := own.Proposal(t.Context(), "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	wants(t, "whole", one)(reader.Proposal(t.Context(), one.ID))
	done := store.Proposal{ID: one.ID, Info: []byte("approved")}
	if err := node.SetProposal(t.Context(), done, one.Info); err != nil {
		t.Error(err)
	}
	late := store.Proposal{ID: one.ID, Info: []byte("rejected")}
	for _, p := range []store.Proposal{late, {ID: "none"}} {
		if err := own.SetProposal(t.Context(), p, one.Info); !errors.Is(err, store.ErrStale) {
			t.Errorf("decided twice: %v", err)
		}
	}
	done.Text = one.Text
	wants(t, "decided", done)(own.Proposal(t.Context(), one.ID))
	list, err := own.Proposals(t.Context())
	for i := range list {
		list[i].Text = nil
	}
	done.Text, two.Text = nil, nil
	wants(t, "all", []store.Proposal{two, done})(list, err)
	wants(t, "state", before)(State(t, s), nil)
}

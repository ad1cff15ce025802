package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/session"
)

// ask returns the names of the skills that a server offers for a prompt. The server remembers
// nothing; the memory of the talk does.
func (k *talk) ask(turn, text string) (names []string) {
	k.t.Helper()
	must.Do(k.t, k.m.Ask(k.t.Context(), session.Prompt{Session: k.id, Turn: turn, Text: text}, func(told session.History) (session.Answer, error) {
		b, err := told.Suggest(k.t.Context(), k.c, text, repertoire.Budget{ListPinned: true}, k.a)
		var got session.Answer
		for _, h := range b.Skills {
			names = append(names, h.Name)
			got.Offers = append(got.Offers, api.Offer{Name: h.Name, Location: h.Location, Probability: h.Probability})
		}
		return got, err
	}))
	return names
}

// TestAsk: a session whose client asks a server gets what it would get here.
func TestAsk(t *testing.T) {
	here, there := begin(t), begin(t)
	for i, text := range []string{totals, totals, "/clear", "fill in the form", "the totals again", "write a letter", "thanks", strings.Repeat("form ", 300), "the fields"} {
		turn := string(rune('a' + i))
		for range 2 { // another hook of the same client
			if got, want := there.ask(turn, text), here.sayIn(turn, text); !slices.Equal(got, want) {
				t.Errorf("%q: got %q, want %q", text, got, want)
			}
		}
	}
	there.m.Load(t.Context(), there.id, "balcony", "")
	if got := there.ask("", "water the plants on the balcony"); len(got) > 0 {
		t.Errorf("the session has loaded %q", got)
	}
}

// TestAskFails: a prompt that no server has answered is still to be answered.
func TestAskFails(t *testing.T) {
	k := begin(t)
	gone := errors.New("gone")
	err := k.m.Ask(t.Context(), session.Prompt{Session: k.id, Turn: "1", Text: totals}, func(session.History) (session.Answer, error) { return session.Answer{}, gone })
	if !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	k.want(k.sayIn("1", totals), "spreadsheet-totals")
}

// TestTooMuchTold: a server heeds only as much as a session remembers.
func TestTooMuchTold(t *testing.T) {
	k := begin(t)
	told := session.History{Prompts: []string{strings.Repeat("plants ", 10_000), "a", "b"}, Offers: make([]api.Offer, 300)}
	told.Offers[0] = api.Offer{Name: "spreadsheet-totals", Probability: 1}
	b, err := told.Suggest(t.Context(), k.c, totals, repertoire.Budget{}, nil)
	must.Do(t, err)
	if len(b.Skills) != 1 {
		t.Errorf("the oldest of 300 offers still counts: %v", b.Skills)
	}
}

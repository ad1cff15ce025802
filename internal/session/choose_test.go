package session

import (
	"strconv"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestChoose: "name:now" are hits, "name:then" what was offered.
func TestChoose(t *testing.T) {
	type known = map[string]float64
	tests := []struct {
		name    string
		offered known
		hits    []string
		now     []float64
		want    string
	}{
		{"nothing known", nil, []string{"a", "b"}, []float64{.7, .03}, "a b"},
		{"known", known{"a": .7}, []string{"a"}, []float64{.7}, ""},
		{"less probable", known{"a": .7}, []string{"a"}, []float64{.3}, ""},
		{"odds of 2.3 to 8.9", known{"a": .7}, []string{"a"}, []float64{.9}, ""},
		{"odds of 2.3 to 9.5", known{"a": .7}, []string{"a"}, []float64{.905}, "a"},
		{"odds of .05 to .25", known{"a": .05}, []string{"a"}, []float64{.2}, "a"},
		{"certain", known{"a": .99}, []string{"a"}, []float64{1}, "a"},
		{"certain twice", known{"a": 1}, []string{"a"}, []float64{1}, ""},
		{"others beside a known one", known{"a": .6}, []string{"a", "b", "c"}, []float64{.6, .15, .14}, "b"},
		{"others before a known one", known{"b": .1}, []string{"a", "b", "c"}, []float64{.6, .1, .05}, "a c"},
	}
	for _, tt := range tests {
		s := new(state)
		for name, p := range tt.offered {
			s.offer(api.Offer{Name: name, Location: "/" + name, Probability: p})
		}
		var hits []search.Hit
		for i, name := range tt.hits {
			hits = append(hits, search.Hit{Entry: search.Entry{Meta: skill.Meta{ID: name, Name: name, Location: "/" + name}}, Probability: tt.now[i]})
		}
		var got []string
		for _, h := range s.choose(hits) {
			got = append(got, h.Name)
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s: chosen %q, want %q", tt.name, g, tt.want)
		}
	}
}

// TestKnownCopy: a copy of a skill that is known is known.
func TestKnownCopy(t *testing.T) {
	h := &search.Hit{Entry: search.Entry{Meta: skill.Meta{ID: "a", Name: "a", Location: "/x/a"}}, Copies: []search.Entry{{Meta: skill.Meta{ID: "y/a", Name: "a", Location: "/y/a"}}}}
	for o, want := range map[api.Offer]bool{
		{Location: "/y/a"}: true, {Name: "a", Location: "/x/a"}: true, {Name: "a"}: true, {Name: "y/a"}: true,
		{Name: "a", Location: "/z/a"}: false, {Location: "/z/a"}: false, {Name: "b"}: false, {}: false,
	} {
		if got := isOf(&o, h); got != want {
			t.Errorf("%+v: %t", o, got)
		}
	}
}

func TestBounded(t *testing.T) {
	s := new(state)
	for i := range 1000 {
		s.offer(api.Offer{Name: strings.Repeat("x", i)})
	}
	if len(s.Offers) != maxOffers || len(s.Offers[0].Name) != 1000-maxOffers {
		t.Errorf("%d offers, the first has a name of %d", len(s.Offers), len(s.Offers[0].Name))
	}
	s.record(Prompt{Text: strings.Repeat("ä", 400) + "x"}, contextprovider.Block{Skills: make([]search.Hit, 1)})
	if got := s.Prompts[0]; len(got) != maxPrompt || strings.ToValidUTF8(got, "") != got {
		t.Errorf("cut to %d bytes", len(got))
	}
}

// TestServedSize: what is kept of one session of a server's client has a bound, and the
// newest offers stay.
func TestServedSize(t *testing.T) {
	m := New("", Options{})
	p := Prompt{Client: "a", Session: "s"}
	for i := range 200 {
		s, release := m.openServed(t.Context(), p)
		s.offer(api.Offer{Name: strings.Repeat("a", 3000) + strconv.Itoa(i)})
		m.save(s)
		if n := len(m.served.clients["a"][0].data); n > maxKept {
			t.Errorf("%d bytes after %d offers", n, i+1)
		}
		release()
	}
	s, release := m.openServed(t.Context(), p)
	defer release()
	if n := len(s.Offers); n < 5 || !strings.HasSuffix(s.Offers[n-1].Name, "a199") {
		t.Errorf("%d offers are left", n)
	}
}

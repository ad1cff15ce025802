// Package session remembers for each session of a client which skills it was
// offered, so that it is not told the same again, and its last prompts, so that
// a follow-up is understood. It is one small file per session, for a day.
package session

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// A Catalog makes blocks; *repertoire.Catalog is one.
type Catalog interface {
	// Block lists the skills that fit a prompt.
	Block(ctx context.Context, prompt string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error)
}

// Options of New; nil means all defaults.
type Options struct {
	Now    func() time.Time // the clock; nil means time.Now
	Logger *slog.Logger     // gets messages about what is not remembered; nil means no messages
}

// A Memory keeps what sessions were told in a folder. It may be used from several
// goroutines, and several processes may use the same folder. Trouble with the
// folder costs what was remembered and nothing else.
type Memory struct {
	dir string
	now func() time.Time
	log *slog.Logger
}

// New returns the memory in the folder dir, which is made when it is needed. A
// memory in "" remembers nothing.
func New(dir string, opts *Options) *Memory {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Memory{dir, o.Now, o.Logger}
}

// A Prompt is one of a session.
type Prompt struct {
	// Session is the client's ID of it, any text; nothing is remembered without
	// one. IDs of all clients are random, so the client is no part of it: what one
	// client runs under several names, as a hook or an MCP server, is one session.
	Session string
	// Turn identifies the prompt in its session, "" when that is not known: the
	// same text of the same turn is answered once, however often it is asked.
	Turn string
	Text string
}

const (
	// much is from where odds differ much. A skill that the session was offered is
	// offered again when its odds are this many times its odds of then. Beside one
	// that is left out, others are offered that are at most this many times less
	// probable: a far weaker one would be offered in its place only because the
	// better one is known.
	much = 4
	// fewTerms is how many different terms a follow-up has at most. Stop words are
	// none: "now do the same for the other file" has one.
	fewTerms = 4
)

// Suggest returns the block for a prompt without the skills that the session was
// offered or has loaded before, unless they are much more relevant now, and
// remembers what it offers. A short prompt that finds nothing by itself is
// searched again together with those before it. Budget.Choose is not used.
//
// It waits for another Suggest of the session at most for half of the time until
// the deadline of ctx, without one for a second, and then answers without what is
// remembered.
func (m *Memory) Suggest(ctx context.Context, c Catalog, p Prompt, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error) {
	s, release := m.open(ctx, p.Session)
	defer release()
	if p.Turn != "" && s.Turn == turn(p) {
		return contextprovider.Block{}, nil
	}
	b.Choose = s.choose
	block, err := c.Block(ctx, p.Text, b, a)
	if err != nil {
		return contextprovider.Block{}, err
	}
	if block.Kind == string(intent.SlashCommand) { // the client knows what to load for it
		return contextprovider.Block{Ranking: block.Ranking}, nil
	}
	if len(s.Prompts) > 0 && followsUp(p.Text, block) {
		again, err := c.Block(ctx, strings.Join(s.Prompts, "\n")+"\n"+p.Text, b, a)
		if err != nil {
			return contextprovider.Block{}, err
		}
		if len(again.Skills) > 0 {
			block = again
		}
	}
	s.record(p, block)
	m.save(p.Session, s)
	return block, nil
}

// followsUp reports whether a prompt found nothing and may be about what came
// before.
func followsUp(text string, b contextprovider.Block) bool {
	if len(b.Skills) > 0 || b.Kind != "" || b.Demand.Probability >= b.Threshold || len(text) > 1000 {
		return false
	}
	terms := words.Terms(text)
	slices.Sort(terms)
	n := len(slices.Compact(terms))
	return n > 0 && n <= fewTerms
}

// Load remembers that a session has the instructions of a skill, by its name or
// by the path of its SKILL.md: it is not offered any more.
func (m *Memory) Load(ctx context.Context, session, name, path string) {
	if name == "" && path == "" {
		return
	}
	s, release := m.open(ctx, session)
	defer release()
	s.offer(offer{Name: name, Location: path, Probability: 1})
	m.save(session, s)
}

// Forget forgets what a session was offered and has loaded, because the text is
// not in its context any more, and if asked its prompts too.
func (m *Memory) Forget(ctx context.Context, session string, prompts bool) {
	s, release := m.open(ctx, session)
	defer release()
	s.Offers = nil
	if prompts {
		s.Prompts = nil
	}
	m.save(session, s)
}

// state is what is remembered of one session.
type state struct {
	Turn    string   `json:"turn,omitempty"`    // that was answered last
	Prompts []string `json:"prompts,omitempty"` // the last ones, cut
	Offers  []offer  `json:"offers,omitempty"`

	kept bool // in a file
}

// An offer is a skill that a session knows, by name or location or both.
type offer struct {
	Name        string  `json:"name,omitempty"`
	Location    string  `json:"location,omitempty"`
	Probability float64 `json:"probability"` // that it was wanted then; 1 for one that was loaded
}

const (
	maxOffers  = 256
	maxPrompts = 2
	maxPrompt  = 500 // bytes
)

// is reports whether the offer is of this skill, or of a copy of it.
func (o *offer) is(h *search.Hit) bool {
	if o.isEntry(&h.Entry) {
		return true
	}
	for i := range h.Copies {
		if o.isEntry(&h.Copies[i]) {
			return true
		}
	}
	return false
}

func (o *offer) isEntry(e *search.Entry) bool {
	if o.Name == "" || o.Location != "" && e.Location != "" {
		return o.Location == e.Location
	}
	return o.Name == e.ID || o.Name == e.Name || o.Name == e.Source+"/"+e.Name
}

// choose leaves out of hits what the session knows.
func (s *state) choose(hits []search.Hit) []search.Hit {
	known := 0.0 // the highest probability of one that is left out
	left := make([]search.Hit, 0, len(hits))
	for i := range hits {
		h := &hits[i]
		if then, ok := s.known(h); ok && odds(h.Probability) < much*odds(then) {
			known = max(known, h.Probability)
		} else {
			left = append(left, *h)
		}
	}
	return slices.DeleteFunc(left, func(h search.Hit) bool { return much*h.Probability < known })
}

// known returns the probability with which the session was offered a skill.
func (s *state) known(h *search.Hit) (probability float64, ok bool) {
	for i := range s.Offers {
		if o := &s.Offers[i]; o.is(h) {
			probability, ok = max(probability, o.Probability), true
		}
	}
	return probability, ok
}

// odds turns a probability into odds, at most 10,000.
func odds(p float64) float64 {
	p = math.Min(p, .9999)
	return p / (1 - p)
}

// record remembers a prompt and what was offered for it.
func (s *state) record(p Prompt, b contextprovider.Block) {
	s.Turn = ""
	if p.Turn != "" {
		s.Turn = turn(p)
	}
	for i := range b.Skills {
		h := &b.Skills[i]
		s.offer(offer{h.Name, h.Location, h.Probability})
	}
	if b.Kind == "" {
		s.Prompts = append(s.Prompts, words.Cut(p.Text, maxPrompt))
		s.Prompts = s.Prompts[max(0, len(s.Prompts)-maxPrompts):]
	}
}

// offer remembers one skill; of many the latest ones stay.
func (s *state) offer(o offer) {
	s.Offers = slices.DeleteFunc(s.Offers, func(old offer) bool { return old.Name == o.Name && old.Location == o.Location })
	s.Offers = append(s.Offers, o)
	s.Offers = s.Offers[max(0, len(s.Offers)-maxOffers):]
}

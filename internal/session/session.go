// Package session remembers for each session of a client which skills it was offered, so
// that none is offered twice, and its last request, so that a follow-up is understood.
//
// The one rule: all that is remembered is one small file per session, for a day, and
// losing it costs nothing else. Sessions of the clients of a server are no files.
package session

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/steps"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// A Catalog makes blocks; *repertoire.Catalog is one.
type Catalog interface {
	// Block lists the skills that fit a prompt.
	Block(ctx context.Context, prompt string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error)
}

// Options of New.
type Options struct {
	Now    func() time.Time // the clock; nil means time.Now
	Logger *slog.Logger     // gets the reasons why something is not remembered; nil means no messages
	Disk   atomicfile.Disk  // where files are written; nil means atomicfile.OS
	Frozen bool             // what is remembered is read and stays as it is
}

// A Memory keeps in a folder which skills sessions were offered. Several goroutines and
// processes may use it. If the folder cannot be used, nothing is remembered.
type Memory struct {
	dir    string
	frozen bool
	now    func() time.Time
	log    *slog.Logger
	disk   atomicfile.Disk

	served served
}

// New returns the memory in the folder "sessions" of a state folder, which it makes when
// it is needed. Without a state folder ("") the memory remembers nothing.
func New(state string, o Options) *Memory {
	m := &Memory{frozen: o.Frozen, now: o.Now, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), disk: cmp.Or[atomicfile.Disk](o.Disk, atomicfile.OS{})}
	if m.now == nil {
		m.now = time.Now
	}
	if state != "" {
		m.dir = filepath.Join(state, "sessions")
	}
	return m
}

// A Prompt is a prompt of a session.
type Prompt struct {
	// Session is the ID that the client gave the session, any text; "" means that
	// nothing is remembered. IDs are random in all clients, so the ID alone identifies
	// the session: the hook and the MCP server of one client share it.
	Session string
	// Client is the client of a server that names the session. What is remembered of its
	// sessions is bounded and has nothing to do with other clients; "" means a program
	// on this machine, which this user has set up.
	Client string
	// Turn identifies the prompt in its session; "" means unknown. The same text in
	// the same turn is answered only once.
	Turn string
	Text string
	Dir  string // the folder in which the client works; "" means that of this process
	Keep bool   // the user wants prompts to be kept
}

const (
	// much is the factor from which two odds differ much. A known skill is offered again
	// if its odds are at least this many times higher now. If it is left out, skills with
	// odds more than this many times lower are too: they would take its place.
	much = 4
	// fewTerms is how many different terms a follow-up has at most. Stop words do not
	// count: "now do the same for the other file" has one term.
	fewTerms = 4
)

// Suggest returns the block for a prompt, and remembers which skills it offers. It
// leaves out skills that the session was offered or has loaded before, unless they are
// much more relevant now. If a short prompt finds nothing by itself, Suggest searches
// again with the prompt before it that was offered something: see state.follows. It does not use Budget.Choose, and offers what is relevant.
//
// If another Suggest of the session is running, it waits for half of the time until the
// deadline of ctx, without a deadline for a second, and then answers without memory.
func (m *Memory) Suggest(ctx context.Context, c Catalog, p Prompt, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error) {
	s, release := m.openPrompt(ctx, p)
	defer release()
	steps.Done("session read")
	if now := turn(p); now != "" && now == s.Turn {
		return contextprovider.Block{}, nil
	}
	block, err := s.suggest(ctx, c, p.Text, b, a)
	if err != nil || block.Kind == string(intent.SlashCommand) {
		return block, err
	}
	steps.Done("block")
	if len(block.Skills) > 0 {
		s.keep(&p, reasonsOf(strings.Join(append(s.Prompts, p.Text), "\n"), &block), m.now())
	}
	s.record(p, block)
	m.save(s)
	steps.Done("session written")
	return block, nil
}

// suggest makes the block for a prompt from what the session knows, and remembers nothing.
func (s *state) suggest(ctx context.Context, c Catalog, text string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error) {
	b.Choose, b.Offer = s.choose, contextprovider.Relevant
	block, err := c.Block(ctx, text, b, a)
	if err != nil {
		return contextprovider.Block{}, err
	}
	if block.Kind == string(intent.SlashCommand) { // the client knows what to load for it
		return contextprovider.Block{Ranking: block.Ranking}, nil
	}
	if len(s.Prompts) > 0 && followsUp(text, block) {
		again, err := c.Block(ctx, strings.Join(s.Prompts, "\n")+"\n"+text, b, a)
		if err != nil {
			return contextprovider.Block{}, err
		}
		if len(again.Skills) > 0 && continues(text, &again.Skills[0]) {
			block, block.Follows = again, true
		}
	}
	return block, nil
}

// followsUp reports whether a prompt found nothing and may refer to an earlier prompt.
func followsUp(text string, b contextprovider.Block) bool {
	return len(b.Skills) == 0 && b.Kind == "" && b.Demand.Probability < b.Threshold && isShort(text)
}

// isShort reports whether a prompt says so little that it may refer to an earlier one.
func isShort(text string) bool {
	if len(text) > 1000 {
		return false
	}
	terms := words.Terms(text)
	slices.Sort(terms)
	n := len(slices.Compact(terms))
	return n <= fewTerms || n <= 2*fewTerms && goesOn(text) // stop words of other languages count
}

// Load remembers that a session has the instructions of a skill, given by its name or
// by the path of its SKILL.md. The skill is not offered any more.
func (m *Memory) Load(ctx context.Context, session, name, path string) {
	if name == "" && path == "" {
		return
	}
	s, release := m.open(ctx, session)
	defer release()
	s.offer(api.Offer{Name: name, Location: path, Probability: 1})
	m.save(s)
}

// Forget forgets which skills a session was offered and has loaded, because they are no
// longer in its context. With prompts set it also forgets the session's prompts.
func (m *Memory) Forget(ctx context.Context, session string, prompts bool) {
	s, release := m.open(ctx, session)
	defer release()
	s.Offers = nil
	if prompts {
		s.Prompts, s.Last = nil, nil
	}
	m.save(s)
}

// First reports whether a message is new to a session, and remembers it. A message is new
// each time if the session cannot be remembered.
func (m *Memory) First(ctx context.Context, session, message string) bool {
	s, release := m.open(ctx, session)
	defer release()
	sum := hash(message)
	if slices.Contains(s.Messages, sum) {
		return false
	}
	s.Messages = append(s.Messages, sum)
	s.Messages = s.Messages[max(0, len(s.Messages)-maxMessages):]
	m.save(s)
	return true
}

// state is what is remembered of one session.
type state struct {
	Turn    string      `json:"turn,omitempty"`    // hash of the prompt that was answered last
	Prompts []string    `json:"prompts,omitempty"` // the last one that was offered something, shortened, if only short ones came after it
	Offers  []api.Offer `json:"offers,omitempty"`
	// Messages are hashes of the messages that First was asked about.
	Messages []string `json:"messages,omitempty"`

	Session string    `json:"session,omitempty"` // its ID
	Dir     string    `json:"dir,omitempty"`     // its folder
	Last    []Offered `json:"last,omitempty"`    // the last one is the newest

	write func(data []byte) error // saves the state; nil means that it is not remembered
}

const (
	maxOffers   = 256
	maxPrompts  = 1
	maxPrompt   = 500 // bytes
	maxMessages = 16
)

// isOf reports whether an offer is of this skill, or of a copy of it.
func isOf(o *api.Offer, h *search.Hit) bool {
	return isEntry(o, &h.Entry) || slices.ContainsFunc(h.Copies, func(e search.Entry) bool { return isEntry(o, &e) })
}

func isEntry(o *api.Offer, e *search.Entry) bool {
	if o.Name == "" || o.Location != "" && e.Location != "" {
		return o.Location == e.Location
	}
	return o.Name == e.ID || o.Name == e.FullName() || o.Name == e.Source+"/"+e.Name
}

// choose leaves out the hits that the session knows.
func (s *state) choose(hits []search.Hit) []search.Hit {
	known := 0.0 // the highest probability of a hit that is left out
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
	for _, o := range s.Offers {
		if isOf(&o, h) {
			probability, ok = max(probability, o.Probability), true
		}
	}
	return probability, ok
}

// odds returns the odds of a probability, at most about 10,000.
func odds(p float64) float64 {
	p = min(p, .9999)
	return p / (1 - p)
}

// record remembers a prompt and the skills that were offered for it.
func (s *state) record(p Prompt, b contextprovider.Block) {
	var got Answer
	for _, h := range b.Skills {
		got.Offers = append(got.Offers, api.Offer{Name: h.ID, Location: h.Location, Probability: h.Probability})
	}
	s.note(p, got)
}

// note remembers a prompt and its answer.
func (s *state) note(p Prompt, got Answer) {
	s.Turn = turn(p)
	for _, o := range got.Offers {
		s.offer(o)
	}
	switch {
	case len(got.Offers) > 0:
		s.Prompts = []string{tidy.Cut(p.Text, maxPrompt)}
	case !isShort(p.Text): // it is about something else
		s.Prompts = nil
	}
}

// offer remembers one skill. If there are too many, the oldest are forgotten.
func (s *state) offer(o api.Offer) {
	s.Offers = slices.DeleteFunc(s.Offers, func(old api.Offer) bool { return old.Name == o.Name && old.Location == o.Location })
	s.Offers = append(s.Offers, o)
	s.Offers = s.Offers[max(0, len(s.Offers)-maxOffers):]
}

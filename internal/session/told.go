package session

import (
	"context"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// Told is what a session was told, as its client sends it to a server. So the server
// remembers nothing, and another server may answer the next prompt.
type Told struct {
	Prompts []string // the last prompts, shortened
	Offers  []Offer  // what the session was offered or has loaded, the last one last
}

// Suggest is Memory.Suggest for a session that its client remembers. It heeds no more of
// what the session was told than a Memory remembers.
func (t Told) Suggest(ctx context.Context, c Catalog, text string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error) {
	s := state{Offers: t.Offers[max(0, len(t.Offers)-maxOffers):]}
	for _, p := range t.Prompts[max(0, len(t.Prompts)-maxPrompts):] {
		s.Prompts = append(s.Prompts, words.Cut(p, maxPrompt))
	}
	return s.suggest(ctx, c, text, b, a)
}

// Ask answers a prompt of a session through ask, which asks a server, and remembers what
// the server offered. If the turn of the prompt was answered before, or another hook
// answers it now, Ask does not call ask. See Suggest for how long it waits.
func (m *Memory) Ask(ctx context.Context, p Prompt, ask func(Told) (Answer, error)) error {
	s, release := m.openPrompt(ctx, p)
	defer release()
	if now := turn(p); now != "" && now == s.Turn {
		return nil
	}
	got, err := ask(Told{Prompts: s.Prompts, Offers: s.Offers})
	if err != nil {
		return err
	}
	s.note(p, got)
	m.save(s)
	return nil
}

// An Answer is what a session remembers of the answer to a prompt.
type Answer struct {
	Offers  []Offer // the skills that were offered
	Request bool    // the prompt may be one that the next prompt refers to: it is no reply, command, log and so on
}

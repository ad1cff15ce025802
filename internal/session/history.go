package session

import (
	"context"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
)

// A History is what a session has seen, as its client sends it to a server. So the server
// remembers nothing, and another server may answer the next prompt.
type History struct {
	Prompts []string    // the one that a follow-up refers to, shortened; none if there is none
	Offers  []api.Offer // what the session was offered or has loaded, the last one last
}

// Suggest is Memory.Suggest for a session that its client remembers. It uses no more of the
// history than a Memory remembers.
func (h History) Suggest(ctx context.Context, c Catalog, text string, b contextprovider.Budget, a *search.Agent) (contextprovider.Block, error) {
	s := state{Offers: h.Offers[max(0, len(h.Offers)-maxOffers):]}
	for _, p := range h.Prompts[max(0, len(h.Prompts)-maxPrompts):] {
		s.Prompts = append(s.Prompts, tidy.Cut(p, maxPrompt))
	}
	return s.suggest(ctx, c, text, b, a)
}

// Ask answers a prompt of a session through ask, which asks a server, and remembers what
// the server offered. If the turn of the prompt was answered before, or another hook
// answers it now, Ask does not call ask. See Suggest for how long it waits.
func (m *Memory) Ask(ctx context.Context, p Prompt, ask func(History) (Answer, error)) error {
	s, release := m.openPrompt(ctx, p)
	defer release()
	if now := turn(p); now != "" && now == s.Turn {
		return nil
	}
	got, err := ask(History{Prompts: s.Prompts, Offers: s.Offers})
	if err != nil {
		return err
	}
	s.keep(&p, got.Why, m.now())
	s.note(p, got)
	m.save(s)
	return nil
}

// An Answer is what a session remembers of the answer to a prompt.
type Answer struct {
	Offers []api.Offer // the skills that were offered
	Why    Offered     // without a time
}

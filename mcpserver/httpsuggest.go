package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/usage"
)

// serveSuggest answers a prompt of a client that remembers its session itself, such as a
// hook. Any server can answer the next one.
func (h *HTTP) serveSuggest(w http.ResponseWriter, r *http.Request) {
	who, ok := h.authorized(w, r)
	if !ok {
		return
	}
	body, done, ok := h.take(w, r, func([]byte) limits { return forText })
	if !ok {
		return
	}
	defer done()
	var p api.Prompt
	if err := json.Unmarshal(body, &p); err != nil {
		h.refuse(w, r, "body", http.StatusBadRequest, fmt.Errorf("the prompt is not what %s takes: %w", api.Path, err))
		return
	}
	if p.Format != "" && !slices.Contains(contextprovider.Formats(), contextprovider.Format(p.Format)) {
		h.refuse(w, r, "body", http.StatusBadRequest, fmt.Errorf("no format %s; there are xml, markdown and json", quoted(p.Format)))
		return
	}
	sc := h.scope(w, r, p.Agent)
	if sc == nil {
		return
	}
	e := sc.server.opts.event(api.Path)
	e.Kind, e.Address, e.Caller = usage.Listed, who.client(r.RemoteAddr), who.caller.Name
	s, err := sc.server.suggestion(r.Context(), &p, e)
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, context.Canceled) {
			status = http.StatusServiceUnavailable
		}
		http.Error(w, message(access.Tell(h.opts.Logger, api.Path, err).Error()), status)
		return
	}
	if h.opts.Ready != nil {
		if state, age := h.opts.Ready(r.Context()); state == api.Stale {
			at := time.Now().Add(-age).UTC()
			s.AsOf = &at
		}
	}
	h.answer(w, r, http.StatusOK, s)
}

// suggestion answers a prompt, and calls Options.Observe with the event.
func (s *Server) suggestion(ctx context.Context, p *api.Prompt, e usage.Event) (_ *api.Suggestion, err error) {
	start := time.Now()
	defer func() {
		if e.Duration, e.Failed = time.Since(start), err != nil; s.opts.Observe != nil {
			s.opts.Observe(e)
		}
	}()
	switches, err := session.SwitchesOf(p.Switches)
	if err != nil {
		return nil, err
	}
	server, who := cmp.Or(p.Server, s.opts.Name, DefaultName), s.opts.Agent.For("", switches...)
	if p.Start {
		text := ""
		if s.opts.Introduce != nil {
			text, err = s.opts.Introduce(ctx, server, who)
		}
		return &api.Suggestion{Block: text, Skills: []api.Offer{}, Heeds: true}, err
	}
	if p.Text = intent.Typed(p.Text); strings.TrimSpace(p.Text) == "" {
		return &api.Suggestion{Skills: []api.Offer{}, Because: string(intent.Empty), Heeds: true}, nil
	}
	e.Kind, e.Call, e.Session, e.Prompt = usage.Offered, "suggest_skills", p.Session, p.Text
	history := &session.History{Prompts: p.Earlier, Offers: p.Known}
	budget := contextprovider.Budget{Server: server, Format: contextprovider.Format(p.Format), Chars: max(0, p.Room), ListPinned: true}
	b, err := s.opts.suggest(ctx, Prompt{Text: p.Text, Dir: p.Dir, Session: p.Session, Client: e.Address, History: history, Budget: &budget}, who)
	if err != nil {
		return nil, err
	}
	out := &api.Suggestion{Block: b.Text, Skills: make([]api.Offer, len(b.Skills)), Tokens: b.Tokens, Because: b.Kind, Heeds: true, Load: b.Load, LoadsID: b.LoadsID,
		Follows: b.Follows, Demand: b.Demand.Probability, Threshold: b.Threshold}
	for i, h := range b.Skills {
		out.Skills[i] = api.Offer{ID: h.ID, Name: h.Name, Source: h.Source, Location: h.Location, Digest: h.Digest, Probability: h.Probability}
		e.Skills = append(e.Skills, usage.Skill{ID: h.ID})
	}
	e.Because, e.Wording = b.Kind, b.Wording
	return out, nil
}

// suggest makes a block.
func (o *Options) suggest(ctx context.Context, p Prompt, a *search.Agent) (contextprovider.Block, error) {
	b, err := o.Suggest(ctx, p, a)
	for _, problem := range b.Problems {
		o.Logger.Warn("pinned skill is left out", "problem", problem)
	}
	return b, err
}

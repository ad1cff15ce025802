package hook

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/api"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/hook/event"
	"github.com/repertoire-skills/repertoire/internal/session"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
)

// ageRoom is how long the line may be that says how old an answer is.
const ageRoom = 120

// asked returns the text that a server gives for an event; "" means none. The server has two
// thirds of the time: the rest is enough for the catalog of this machine.
func (r *run) asked(ctx context.Context, e *event.Event) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Until(r.end)*2/3)
	defer cancel()
	p := api.Prompt{Agent: r.Agent, Dir: r.dir, Server: r.Server, Room: e.Room() - ageRoom, Session: e.Session}
	if e.Kind == client.Start {
		p.Start = true
		s, err := r.ask(ctx, p)
		if err != nil {
			return "", err
		}
		text, err := textOf(s, p.Room)
		return r.withProposals(text), err
	}
	if p.Text = e.Prompt; r.markdown() {
		p.Format = string(contextprovider.Markdown)
	}
	err = r.memory.Ask(ctx, session.Prompt{Session: e.Session, Turn: e.Turn, Text: e.Prompt, Dir: r.dir}, func(h session.History) (got session.Answer, err error) {
		p.Earlier, p.Known = h.Prompts, h.Offers
		s, err := r.ask(ctx, p)
		if err != nil {
			return got, err
		}
		r.result.Server = s
		if text, err = textOf(s, p.Room); err != nil {
			return got, err
		}
		text = r.withOwn(ctx, s, text, e.Room())
		got.Offers, got.Why = s.Skills, session.Offered{Follows: s.Follows, Demand: s.Demand, Threshold: s.Threshold}
		for i := range got.Offers {
			got.Offers[i].Digest = "" // the server knows it
			got.Why.Skills = append(got.Why.Skills, session.Reason{ID: cmp.Or(s.Skills[i].ID, s.Skills[i].Name), Probability: s.Skills[i].Probability})
		}
		return got, nil
	})
	return text, err
}

// ask asks the server, and tells it what is switched off in the client. What it offers all the same is an error.
func (r *run) ask(ctx context.Context, p api.Prompt) (*api.Suggestion, error) {
	c, _ := r.client()
	if r.Switches == nil || c.Name == "" {
		return r.Ask(ctx, p)
	}
	list := r.Switches(ctx, r.dir, c.Name, func(err error) { r.log.Warn("not used", "cause", err) })
	var err error
	if p.Switches, err = session.Switches(list); err != nil {
		return nil, err
	}
	s, err := r.Ask(ctx, p)
	if err == nil {
		err = session.Heeded(s, list)
	}
	return s, err
}

// withOwn puts the client's own way to load skills into the text of an answer, for those that the client
// has in its own folders as the server has them, if there is room.
func (r *run) withOwn(ctx context.Context, s *api.Suggestion, text string, room int) string {
	own := r.own()
	if own == nil || r.Digest == nil || s.Load == "" || r.Server == "" {
		return text
	}
	c, m := r.client()
	dirs := slices.Concat(m.SkillDirs(c, client.Project), m.SkillDirs(c, client.User))
	own.Name = func(e *repertoire.Entry) string {
		if e.Digest == "" || e.Name != filepath.Base(e.Name) || !filepath.IsLocal(e.Name) { // a server must not choose the folder
			return ""
		}
		if slices.ContainsFunc(dirs, func(dir string) bool { return r.Digest(ctx, filepath.Join(dir, e.Name)) == e.Digest }) {
			return e.Name
		}
		return ""
	}
	var listed []search.Hit
	for _, o := range s.Skills {
		if s.LoadsID == "" || s.LoadsID == o.ID {
			h := search.Hit{}
			h.ID, h.Name, h.Digest = o.ID, o.Name, o.Digest
			listed = append(listed, h)
		}
	}
	load := contextprovider.Budget{Server: r.Server, Own: own}.Load(s.LoadsID, listed)
	if with := strings.Replace(text, tidy.Clean(s.Load), load, 1); contextprovider.JSONLength(with) <= room {
		return with
	}
	return text
}

// textOf returns the block of an answer without hidden characters, with the time that it is
// from if the server cannot know whether it is still true.
func textOf(s *api.Suggestion, room int) (string, error) {
	block := tidy.Clean(s.Block)
	switch length := contextprovider.JSONLength(block); {
	case length > room:
		return "", fmt.Errorf("the server has answered with %d characters, the client has room for %d", length, room)
	case block == "" || s.AsOf == nil:
		return block, nil
	}
	return block + fmt.Sprintf("(These are the skills as of %s: their server cannot look for changes now.)\n", s.AsOf.UTC().Format("2006-01-02 15:04 UTC")), nil
}

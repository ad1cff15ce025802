package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// DefaultSystemTokens is how long a system prompt may be, unless SystemOptions say otherwise.
const DefaultSystemTokens = 20_000

// SystemOptions say what a system prompt holds. nil means all zero values.
type SystemOptions struct {
	// Tokens is how long the whole text may be, estimated; 0 means DefaultSystemTokens. The
	// role, the instructions of the agent and Intro always stand in it. What then fits of the
	// skills that the agent uses comes before the list of skills.
	Tokens int

	// Intro says how to ask for skills; it stands before their list. "" means that the list
	// says it.
	Intro string

	// Budget bounds the list, within Tokens, and says how it is written. Pinned skills head
	// the list.
	Budget contextprovider.Budget
}

// A System is what a model is told before a conversation.
type System struct {
	Text     string
	Hint     string                 // for beside the prompt: which of the listed skills stand out, where all are listed
	Loaded   []contextprovider.Body // the skills whose instructions stand in Text, in their order
	Listed   []search.Hit           // the skills that Text only lists, best first
	Omitted  int                    // relevant skills that are not listed for lack of room
	Problems []skill.Problem        // of the skills that the agent uses and Text does not have
	Tokens   int                    // of Text, estimated
	search.Ranking
}

// SystemPrompt returns what a model is told of an agent, which may be nil, for a prompt: the
// role of the agent, the instructions of the skills that it uses, its own instructions, and
// the list of the other skills that fit the prompt. A skill that does not fit in, or cannot be
// served, is a problem and is left out as a whole.
func SystemPrompt(ctx context.Context, c Catalog, a *search.Agent, prompt string, o *SystemOptions) (System, error) {
	if o == nil {
		o = new(SystemOptions)
	}
	tokens := cmp.Or(o.Tokens, DefaultSystemTokens)
	p, err := preload(ctx, c, a, preloading{intro: o.Intro, tokens: tokens, local: o.Budget.Local})
	if err != nil {
		return System{}, err
	}
	budget := p.budget(o.Budget, tokens-words.Tokens(p.text)-1) // 1 for the empty line
	if budget.Intro == "" && o.Intro != "" {
		budget.Intro = "How to load one is explained above."
	}
	b, err := c.Block(ctx, prompt, budget, a)
	if err != nil {
		return System{}, err
	}
	s := System{Hint: unmarked(b.Hint), Loaded: p.loaded, Listed: b.Skills, Omitted: b.Omitted, Problems: append(p.problems, b.Problems...), Ranking: b.Ranking}
	s.Text = unmarked(joined(p.text, b.Text))
	s.Tokens = words.Tokens(s.Text)
	return s, nil
}

// joined joins parts of a text, with an empty line between those that are not empty.
func joined(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(p + "\n")
	}
	return b.String()
}

// preloaded is the part of a system prompt that does not depend on the prompt of the user.
type preloaded struct {
	text     string
	loaded   []contextprovider.Body
	problems []skill.Problem
}

// aboutPaths says once what holds for the paths in all skills that are loaded already.
const aboutPaths = `The instructions of these skills are loaded already. A relative path in a skill starts at its root: in a skill with the root /skills/pdf, scripts/fill.sh is /skills/pdf/scripts/fill.sh. A root that is no absolute path is not on disk; ask for its files by the name of the skill and their paths.
`

// A preloading says how the first part of a system prompt is made.
type preloading struct {
	intro  string
	tokens int                                  // as many of the skills stand in it as fit into so many
	folder func(b *contextprovider.Body) string // where commands see the files of a skill; nil means in its folder
	local  bool                                 // see contextprovider.Budget
}

// preload returns the role of an agent, the instructions of the skills that it uses, its own
// instructions, and the intro.
func preload(ctx context.Context, c Catalog, a *search.Agent, how preloading) (p preloaded, err error) {
	if a == nil {
		p.text = joined(how.intro)
		return p, nil
	}
	bodies, err := p.read(ctx, c, a)
	if err != nil {
		return p, err
	}
	skills := make([]string, len(bodies))
	for i := range bodies {
		skills[i] = "The instructions of the skill " + html.EscapeString(tidy.Line(bodies[i].ID)) + " have no room here. Load them before you begin.\n"
	}
	text := func(about string) string {
		return joined(tidy.Clean(a.Prompt), about+strings.Join(skills, ""), tidy.Clean(a.Instructions), how.intro)
	}
	p.text = text("")
	for i := range bodies {
		b, line := &bodies[i], skills[i]
		shown := *b
		at := b.Folder
		if how.folder != nil {
			at = how.folder(b)
		}
		fillFor(&shown, at, how.local)
		shown.Folder = at
		skills[i] = contextprovider.Element(&shown)
		if t := text(aboutPaths); words.Tokens(t) <= how.tokens {
			p.text, p.loaded = t, append(p.loaded, *b)
			continue
		}
		skills[i] = line
		p.problem(a, b.ID, "budget", b.Location, fmt.Sprintf("its %d tokens have no room in %d; the model is told to load it", b.Tokens, how.tokens))
	}
	return p, nil
}

// read returns the skills that an agent uses in their order, and then those that they require
// and that are loaded with them, each once.
func (p *preloaded) read(ctx context.Context, c Catalog, a *search.Agent) ([]contextprovider.Body, error) {
	var used, required []contextprovider.Body
	for _, id := range a.Uses {
		b, err := c.Body(ctx, id, a)
		held, isHeld := errors.AsType[*search.HeldError](err)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case isHeld:
			p.problem(a, id, string(held.State), "", err.Error())
			continue
		case err != nil:
			p.problem(a, id, "unreadable", "", err.Error())
			continue
		case a.Foreign && b.InvokedBy == skill.InvokedByUser: // a project does not speak for the user
			p.problem(a, id, string(search.Reserved), b.Location, "only the user starts it")
			continue
		case b.Unavailable != "":
			p.problem(a, id, string(search.Unavailable), b.Location, "it "+b.Unavailable)
			continue
		}
		used, required = append(used, b), append(required, b.Required...)
	}
	var all []contextprovider.Body
	for _, b := range slices.Concat(used, required) {
		if !slices.ContainsFunc(all, func(o contextprovider.Body) bool { return o.ID == b.ID }) {
			b.Required = nil
			all = append(all, b)
		}
	}
	return all, nil
}

// problem notes why a skill that the agent uses is left out.
func (p *preloaded) problem(a *search.Agent, id, rule, location, why string) {
	at := a.Places[search.Rule{Key: "uses_skills", Text: id}]
	p.problems = append(p.problems, skill.Problem{Rule: rule, Severity: skill.Warning, Path: cmp.Or(at.File, location), Line: at.Line,
		Message: fmt.Sprintf("agent %s uses skill %s, but it is left out: %s", a.Name, id, why), Hint: `"skills doctor" says more`})
}

// budget returns a budget for the list beside the skills that are loaded already, which it
// does not list again. rest is how many tokens are left.
func (p *preloaded) budget(b contextprovider.Budget, rest int) contextprovider.Budget {
	b.Tokens, b.ListPinned = min(cmp.Or(b.Tokens, contextprovider.DefaultTokens), max(1, rest)), true
	choose := b.Choose
	b.Choose = func(hits []search.Hit) []search.Hit {
		hits = slices.DeleteFunc(slices.Clone(hits), func(h search.Hit) bool {
			return p.has(h.ID) || slices.ContainsFunc(h.Copies, func(e search.Entry) bool { return p.has(e.ID) })
		})
		if choose != nil {
			hits = choose(hits)
		}
		return hits
	}
	return b
}

// has reports whether a skill is loaded already.
func (p *preloaded) has(id string) bool {
	return slices.ContainsFunc(p.loaded, func(b contextprovider.Body) bool { return b.ID == id })
}

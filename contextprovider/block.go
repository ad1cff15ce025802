package contextprovider

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// DefaultTokens is how many tokens a list may have, unless its Budget says otherwise.
const DefaultTokens = 1000

// A Budget bounds a block.
type Budget struct {
	Tokens int    // most tokens of the listed skills, estimated; 0 means DefaultTokens
	Skills int    // most skills that are listed; 0 means 8
	Format Format // "" means XML
	Form   Form   // "" means Short if Intro or Server tells how skills are loaded, else Full
	// Offer says whether to list what fits, or all skills; "" means Relevant, and Auto in
	// repertoire.Catalog.
	Offer Offer
	// Wording is what the block says of its best skill.
	Wording Wording
	// Disturb is the share of the prompts that need no skill that may get a list, up
	// to 1, and Unfit that of those that need one which is not in the catalog; 0 means the share of the
	// catalog, search.OnlyNamed that only skills are listed that the prompt names.
	Disturb, Unfit float64
	// Threshold is, instead of both, the least probability that the prompt wants the best
	// skill for any to be listed, up to 1; 0 means that they decide,
	// search.Always that every prompt reaches it.
	Threshold float64

	// Trial is for prompts of evals, see search.Query.
	Trial bool

	// Chars bounds the text that lists skills: its length as a JSON string, in
	// UTF-16 code units, which is how clients of hooks count; 0 means no limit.
	Chars int
	// Intro is the sentence that tells the model how to load a skill, for a program
	// with tools of its own, such as "The tool load_skill returns the instructions
	// of each by its name."; it is escaped like the other texts and counts against
	// Tokens and Chars. "" means one that Server decides.
	Intro string
	// Server is the MCP server whose tool read_skill loads a skill for the model;
	// "" means that Command decides.
	Server string
	// Command is the name of a program whose command show prints the instructions of
	// a skill, for models without tools; "" means that the program offers the tools of
	// package agent, such as read_skill.
	Command string
	// Own says how the client at hand loads the skills that it has itself; nil means that it has none.
	Own *Own
	// Local means that the model opens the files of this machine: the placeholders of clients for
	// the folder of a skill are filled in what it gets of a SKILL.md.
	Local bool
	// ListPinned lists pinned skills like others, before them, instead of giving
	// all of their instructions.
	ListPinned bool
	// Choose returns which of some hits to list, best first. It is called for
	// the relevant ones, with ListPinned before that for the pinned ones, and then for
	// what each listed skill requires; nil means all of them.
	Choose func([]search.Hit) []search.Hit
}

func (b Budget) withDefaults() Budget {
	b.Tokens = cmp.Or(b.Tokens, DefaultTokens)
	b.Skills = cmp.Or(b.Skills, 8)
	b.Format = cmp.Or(b.Format, XML)
	b.Offer = cmp.Or(b.Offer, Relevant)
	if b.Form == "" {
		b.Form = Full
		if b.byTool() {
			b.Form = Short
		}
	}
	if b.Choose == nil {
		b.Choose = func(hits []search.Hit) []search.Hit { return hits }
	}
	return b
}

// byTool reports whether the model loads skills with a tool; else it opens their files.
func (b Budget) byTool() bool { return b.Server != "" || tidy.Line(b.Intro) != "" }

// A Block is level 1: the skills that fit a prompt, as a text for the model.
type Block struct {
	Text    string       // empty when nothing is relevant and nothing pinned
	Skills  []search.Hit // listed in Text, best first, with the descriptions that it shows; see Hit.RequiredBy
	All     bool         // Text lists all skills in a fixed order, see Offer; Skills are in this order
	Hint    string       // with All, for beside the prompt: which skills stand out; "" if none does
	Wording string       // how certain the block is of its best skill: "certain", "likely" or "possible"; "" for none
	Load    string       // the sentence of Text that says how skills are loaded; "" with All
	LoadsID string       // the only skill that Load is about; "" means each
	Pinned  []Body       // in Text with all of their instructions
	Follows bool         // the skills are for the prompt together with an earlier one of its session
	Omitted int          // relevant skills that the budget left out
	Tokens  int          // of Text and Hint, estimated
	// Problems are of pinned skills that cannot be read now, or lack a command that they
	// need, and are left out.
	Problems []skill.Problem
	search.Ranking
}

// candidates is how many hits are looked at, at least: more than a budget
// usually lists, so that what was left out can be counted.
const candidates = 50

// Block lists the skills that are relevant to a prompt, best first, within the
// budget. Pinned skills of the agent come before the list with their whole
// instructions, are not listed again, and do not count against the budget:
// whoever pinned them wants them always. With ListPinned they head the list. Skills that
// listed ones require follow them, if the budget has room.
func (p *Provider) Block(ctx context.Context, prompt string, budget Budget, a *search.Agent) (Block, error) {
	form := budget.Form
	budget = budget.withDefaults()
	if _, err := layoutOf(budget, ""); err != nil { // before anything is searched for
		return Block{}, err
	}
	if !slices.Contains(Offers(), budget.Offer) {
		return Block{}, fmt.Errorf("no offer %q%s", budget.Offer, words.Suggest(string(budget.Offer), []string{string(Auto), string(Relevant), string(All)}))
	}
	var pinned []search.Entry
	if a != nil {
		var err error
		if pinned, err = p.catalog.Pinned(ctx, a); err != nil {
			return Block{}, err
		}
	}
	var b Block
	pinned = b.withoutUnavailable(pinned, a)
	var first []search.Hit
	if budget.ListPinned {
		first = budget.Choose(pinnedHits(pinned))
	} else if err := p.addPinned(ctx, &b, pinned, budget.Local, a); err != nil {
		return Block{}, err
	}
	answer, err := p.catalog.Search(ctx, search.Query{Text: prompt, Limit: max(candidates, budget.Skills), Agent: a, Disturb: budget.Disturb, Unfit: budget.Unfit, Threshold: budget.Threshold, Trial: budget.Trial, Relevant: true, Typed: true})
	if err != nil {
		return Block{}, err
	}
	b.Ranking = answer.Ranking
	fitting := budget.Choose(quota(relevant(answer.Hits, pinned), budget.Skills))
	if len(fitting) > 0 {
		b.Wording = wordingFor(fitting)
	}
	if done, err := p.listAll(ctx, &b, budget.short(form), a, pinned, fitting, answer.Caveat()); done || err != nil {
		return b, err
	}
	said, load, about := budget.say(fitting)
	layout, err := layoutOf(budget, header(said+" "+load, answer.Caveat()))
	if err != nil {
		return Block{}, err
	}
	entries, used := b.fill(append(first, fitting...), budget, layout)
	if entries, err = p.addRequired(ctx, &b, entries, used, budget, layout, a); err != nil {
		return Block{}, err
	}
	if len(entries) > 0 {
		b.Load, b.LoadsID = load, about
	}
	if len(b.Skills)+len(b.Pinned) > 0 {
		b.Text = layout.block(b.Pinned, entries)
	}
	b.Tokens = words.Tokens(b.Text)
	return b, nil
}

// withoutUnavailable leaves out the pinned skills that nobody is offered, each with a problem.
func (b *Block) withoutUnavailable(pinned []search.Entry, a *search.Agent) []search.Entry {
	return slices.DeleteFunc(pinned, func(e search.Entry) bool {
		if e.State == search.Offered {
			return false
		}
		b.Problems = append(b.Problems, skill.Problem{Rule: string(e.State), Severity: skill.Warning, Path: e.Location,
			Message: fmt.Sprintf("pinned for agent %s, but left out: %s", a.Name, e.Reason)})
		return true
	})
}

// pinnedHits makes hits of what is wanted for certain.
func pinnedHits(entries []search.Entry) []search.Hit {
	hits := make([]search.Hit, len(entries))
	for i, e := range entries {
		hits[i] = search.Hit{Entry: e, Relevant: true, Probability: 1}
	}
	return hits
}

// addPinned reads pinned skills. One that cannot be read is a problem of that skill only.
func (p *Provider) addPinned(ctx context.Context, b *Block, entries []search.Entry, local bool, a *search.Agent) error {
	for _, e := range entries {
		in, err := p.read(ctx, e, false, a)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			b.Problems = append(b.Problems, skill.Problem{Rule: "unreadable", Severity: skill.Warning, Path: e.Location,
				Message: fmt.Sprintf("pinned for agent %s, but left out: %v", a.Name, err)})
			continue
		}
		body := bodyOf(e, in)
		if local {
			body.Fill()
		}
		b.Pinned = append(b.Pinned, body)
	}
	return nil
}

// relevant returns the hits to list: those that pass the gate and are not
// pinned, nor a copy of a pinned one.
func relevant(hits []search.Hit, pinned []search.Entry) []search.Hit {
	skip := make(map[string]bool, len(pinned))
	for _, e := range pinned {
		skip[e.ID] = true
	}
	var out []search.Hit
	for _, h := range hits {
		if h.Relevant && !skip[h.ID] && !slices.ContainsFunc(h.Copies, func(e search.Entry) bool { return skip[e.ID] }) {
			out = append(out, h)
		}
	}
	return out
}

// quota leaves out hits of sources that are trusted less where others are relevant too, so
// that they take at most half of a list of that many hits. A skill that the prompt names
// for certain does not count.
func quota(hits []search.Hit, most int) []search.Hit {
	trusted := 0
	for _, h := range hits {
		if !h.Lower {
			trusted++
		}
	}
	if trusted == 0 || trusted == len(hits) {
		return hits
	}
	left := min(trusted, most/2)
	kept := make([]search.Hit, 0, len(hits))
	for _, h := range hits {
		if h.Lower && left == 0 {
			continue
		}
		if h.Lower {
			left--
		}
		kept = append(kept, h)
	}
	return kept
}

// fill lists hits until the budget is used up, and returns them as the layout
// renders them. One that does not fit gives way to the next smaller ones; only
// the best is shortened instead, because a list without it would mislead. used is what
// the list counts.
func (b *Block) fill(hits []search.Hit, budget Budget, f layout) (entries []string, used size) {
	used.add(f.before)
	used.add(f.after)
	for i, h := range hits {
		if len(b.Skills) >= budget.Skills {
			b.Omitted += len(hits) - i
			return entries, used
		}
		if budget.Form == Short {
			h.Description = words.FirstSentence(h.Description, maxSentence)
		}
		entry, with := f.add(&h, used, len(entries))
		if i == 0 && !with.within(budget) {
			var ok bool
			h, ok = shortened(h, func(h *search.Hit) bool { _, with := f.add(h, used, 0); return with.within(budget) })
			if !ok {
				b.Omitted = len(hits)
				return nil, used
			}
			entry, with = f.add(&h, used, 0)
		}
		if !with.within(budget) {
			b.Omitted++
			continue
		}
		used, entries, b.Skills = with, append(entries, entry), append(b.Skills, h)
	}
	return entries, used
}

// size is what a text counts against a budget.
type size struct {
	tokens words.TokenCount
	chars  int
}

func (s *size) add(text string) {
	s.tokens.Add(text)
	s.chars += JSONLength(text)
}

func (s size) within(b Budget) bool {
	return s.tokens.Tokens() <= b.Tokens && (b.Chars == 0 || s.chars <= b.Chars)
}

// add renders a hit, and tells what a list of n entries counts with it.
func (f *layout) add(h *search.Hit, used size, n int) (entry string, with size) {
	entry = f.entry(h)
	if n > 0 {
		used.add(f.between)
	}
	used.add(entry)
	return entry, used
}

// shortened cuts the description of h to the longest that fits alone; ok is
// false when none does.
func shortened(h search.Hit, fits func(*search.Hit) bool) (short search.Hit, ok bool) {
	full := []rune(h.Description)
	cut := func(n int) search.Hit {
		c := h
		c.Description = strings.TrimSpace(string(full[:n])) + "…"
		return c
	}
	n := sort.Search(len(full), func(n int) bool {
		c := cut(n + 1)
		return !fits(&c)
	})
	return cut(n), n > 0
}

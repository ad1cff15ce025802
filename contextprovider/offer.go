package contextprovider

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// An Offer says how many of the skills that an agent sees a block lists.
type Offer string

// The offers.
const (
	// Relevant lists what fits the prompt, or nothing.
	Relevant Offer = "relevant"
	// All lists all skills in a fixed order, as many as the budget has room for: the pinned
	// ones, then by name. Block.Text is the same for every prompt, so that the caches of model
	// servers hold; Block.Hint says which skills stand out.
	All Offer = "all"
	// Auto is All if all skills in the short form have room in the budget, else Relevant.
	Auto Offer = "auto"
)

// Offers are all offers.
func Offers() []Offer { return []Offer{Auto, Relevant, All} }

// The probabilities from which a block speaks of its best skill with more certainty.
const (
	certainly = .9
	likely    = .5
)

// A Wording is what a block says of its best skill, by how likely the prompt wants it. {name}
// stands for its name; how it is loaded follows. "" means the default.
type Wording struct {
	Certain  string // from a probability of .9 on, and if the prompt names the skill
	Likely   string // from .5 on; neither if another skill is more than half as likely
	Possible string // else
}

// DefaultWording returns the defaults. A hint alone is followed less often than a sentence
// that names the skill and how to load it.
func DefaultWording() Wording {
	return Wording{
		Certain:  "This prompt asks for the skill {name}: load it before you start.",
		Likely:   "The skill {name} fits this prompt: load it if you do what it is for.",
		Possible: "Skills in the catalog that may fit this prompt.",
	}
}

// The names of the texts of a Wording.
const (
	certain  = "certain"
	probable = "likely"
	possible = "possible"
)

// wordingFor returns which text of a Wording is for the best of some hits. Of several that are nearly as
// likely none is the one that the prompt asks for.
func wordingFor(hits []search.Hit) string {
	best := search.Hit{}
	if len(hits) > 0 {
		best = hits[0]
	}
	alone := len(hits) < 2 || best.Probability == 1 || hits[1].Probability < best.Probability/2
	switch {
	case alone && best.Probability >= certainly:
		return certain
	case alone && best.Probability >= likely:
		return probable
	}
	return possible
}

// say returns what a block says of the best of the skills that fit, and the sentence that says how to load
// them: only the skill with the ID about, or each of them if about is "".
func (b Budget) say(fitting []search.Hit) (said, load, about string) {
	var best search.Hit // pinned skills say nothing of the prompt
	if len(fitting) > 0 {
		best = fitting[0]
	}
	name := escapedLine(best.ID)
	say := func(own, usual string) string {
		return strings.ReplaceAll(escapedLine(cmp.Or(own, usual)), "{name}", name)
	}
	switch d := DefaultWording(); wordingFor(fitting) {
	case certain:
		return say(b.Wording.Certain, d.Certain), b.Load(best.ID, fitting[:1]), best.ID
	case probable:
		return say(b.Wording.Likely, d.Likely), b.Load(best.ID, fitting[:1]), best.ID
	default:
		return say(b.Wording.Possible, d.Possible), b.Load("", fitting), ""
	}
}

// An Own is how a client loads skills by its own means, which honour what authors have written for
// it: other models, processes of their own, permissions.
type Own struct {
	Tool string // its tool that takes the name of a skill; "" means that it has none, and Mark counts
	Mark string // stands before the name of a skill, such as "$"
	// Name returns what the client calls a skill; "" means that the client does not have it.
	Name func(e *search.Entry) string
}

// split returns what the client calls the skills that it has itself, and the other skills.
func (o *Own) split(listed []search.Hit) (names []string, others []search.Hit) {
	if o == nil {
		return nil, listed
	}
	for i := range listed {
		if name := escapedLine(o.Name(&listed[i].Entry)); name != "" {
			names = append(names, name)
		} else {
			others = append(others, listed[i])
		}
	}
	return names, others
}

// say returns the sentence that says how the client loads skills of its own; one means that
// the block speaks of this one only.
func (o *Own) say(names []string, one bool) string {
	switch list := strings.Join(names, ", "); {
	case o.Tool != "" && one:
		return "Your tool `" + o.Tool + "` loads it, called with the name " + list + "."
	case o.Tool != "":
		return "Your tool `" + o.Tool + "` loads each of these by its name: " + list + "."
	case one:
		return "It is a skill of your own, " + o.Mark + list + ": use it as such."
	default:
		return "These are skills of your own, to be used as such: " + o.Mark + strings.Join(names, ", "+o.Mark) + "."
	}
}

// Load returns the sentence that says how a skill is loaded: the one with this ID, or ""
// for each of the listed ones. Its forms are facts or calls of the client at hand.
func (b Budget) Load(id string, listed []search.Hit) string {
	name := escapedLine(id)
	if own := escapedLine(b.Intro); own != "" {
		return own
	}
	names, others := b.Own.split(listed)
	switch {
	case len(names) == 0:
		return b.loadHere(name, listed)
	case len(others) == 0:
		return b.Own.say(names, len(names) == 1)
	}
	return b.Own.say(names, false) + " " + strings.Replace(b.loadHere("", others), " of each ", " of each of the others ", 1)
}

// loadHere returns the sentence that says how this program loads a skill, see Load.
func (b Budget) loadHere(name string, listed []search.Hit) string {
	server, program := escapedLine(b.Server), escapedLine(b.Command)
	switch {
	case server != "" && name == "":
		return "The tool `read_skill` of the MCP server " + server + " returns the instructions of each by its name."
	case server != "":
		return "The tool `read_skill` of the MCP server " + server + " returns its instructions, called with the name " + name + "."
	case program != "" && name == "":
		return "The instructions of each are in the file at its location; `" + program + " show NAME` prints them."
	case program != "":
		return "Its instructions are in the file at its location; `" + program + " show " + name + "` prints them."
	}
	place := "; they are in the file at its location too."
	if slices.ContainsFunc(listed, func(h search.Hit) bool { return !filepath.IsAbs(h.Location) }) {
		place = "." // what is not on disk has no file that a model could open
	}
	if name == "" {
		return "The tool `read_skill` returns the instructions of each by its name" + place
	}
	return "The tool `read_skill` returns its instructions, called with the name " + name + place
}

// find returns how further skills are found, as a part of a sentence.
func (b Budget) find() string {
	server, program := escapedLine(b.Server), escapedLine(b.Command)
	switch {
	case server != "":
		return "the tool `search_skills` of the MCP server " + server + " finds them"
	case program != "":
		return "`" + program + " search TEXT` finds them"
	}
	return "`search_skills` finds them"
}

// Fitting returns the listed skills that the prompt wants, best first, and what they require.
// With All they are those that Hint names.
func (b *Block) Fitting() []search.Hit {
	if !b.All {
		return b.Skills
	}
	list := slices.DeleteFunc(slices.Clone(b.Skills), func(h search.Hit) bool { return !h.Relevant })
	slices.SortStableFunc(list, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return list
}

// short returns the budget of a list of all skills: its form is short, unless one was asked for.
func (b Budget) short(asked Form) Budget {
	b.Form, b.Skills = cmp.Or(asked, Short), math.MaxInt
	return b
}

// listAll lists all skills that an agent sees, if they are few enough or All asks for it; done
// is false if the block must list what is relevant. fitting are the relevant ones, best first.
func (p *Provider) listAll(ctx context.Context, b *Block, budget Budget, a *search.Agent, pinned []search.Entry, fitting []search.Hit, caveat string) (done bool, err error) {
	const leastTokens = 5 // of an entry
	if budget.Offer == Relevant || budget.Offer == Auto && b.Ranking.Skills*leastTokens > budget.Tokens {
		return false, nil
	}
	entries, err := p.catalog.List(ctx, a, nil)
	if err != nil {
		return false, err
	}
	var all []search.Hit
	add := func(e search.Entry) {
		if i := slices.IndexFunc(fitting, func(h search.Hit) bool { return h.ID == e.ID }); i >= 0 {
			all = append(all, fitting[i])
			return
		}
		all = append(all, search.Hit{Entry: e})
	}
	if budget.ListPinned {
		for _, e := range pinned {
			add(e)
		}
	}
	for _, e := range entries {
		if e.State == search.Offered && !e.Away && !slices.ContainsFunc(pinned, func(o search.Entry) bool { return o.ID == e.ID }) {
			add(e)
		}
	}
	for _, h := range fitting { // the user has started it, else no list has it
		if h.InvokedBy == skill.InvokedByUser && !slices.ContainsFunc(all, func(o search.Hit) bool { return o.ID == h.ID }) {
			all = append(all, h)
		}
	}
	all = budget.Choose(all)
	layout, err := layoutOf(budget, header("Skills in the catalog. "+budget.Load("", all), caveat))
	if err != nil {
		return false, err
	}
	var listed Block
	lines, _ := listed.fill(all, budget, layout)
	rest := ""
	switch {
	case listed.Omitted == 0:
	case budget.Offer == Auto:
		return false, nil
	case budget.Format != JSON: // there only Block.Omitted tells
		less := budget
		rest = budget.more(len(all))
		less.Tokens -= words.Tokens(rest)
		if less.Chars > 0 {
			less.Chars = max(1, less.Chars-JSONLength(rest))
		}
		listed = Block{}
		lines, _ = listed.fill(all, less, layout)
		rest = budget.more(listed.Omitted)
	}
	b.All, b.Skills, b.Omitted = true, listed.Skills, listed.Omitted
	if len(b.Skills)+len(b.Pinned) > 0 {
		b.Text = layout.block(b.Pinned, lines) + rest
	}
	if len(fitting) > 0 {
		b.Hint = budget.hint(fitting)
	}
	b.Tokens = words.Tokens(b.Text) + words.Tokens(b.Hint)
	return true, nil
}

// more says below a list of all skills how many it lacks.
func (b Budget) more(n int) string {
	return fmt.Sprintf("%d more have no room here; %s.\n", n, b.find())
}

// hint says beside a prompt which of the listed skills stand out.
func (b Budget) hint(fitting []search.Hit) string {
	names := make([]string, len(fitting))
	for i := range fitting {
		names[i] = escapedLine(fitting[i].ID)
	}
	if wordingFor(fitting) == possible && b.Wording.Possible == "" {
		return "Of the skills in the catalog, these may fit this prompt: " + strings.Join(names, ", ") + ". " + b.Load("", fitting) + "\n"
	}
	said, load, _ := b.say(fitting)
	text := said + " " + load
	if len(names) > 1 {
		text += " May fit too: " + strings.Join(names[1:], ", ") + "."
	}
	return text + "\n"
}

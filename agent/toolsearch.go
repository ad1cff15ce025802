package agent

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/usage"
)

const (
	usualHits = 8 // unless a limit is given
	maxHits   = 50

	maxDescription = 400 // characters in a text
)

// searchResult is what search_skills gives programs.
type searchResult struct {
	Skills      []found `json:"skills" jsonschema:"best first; none when nothing fits"`
	NothingFits bool    `json:"nothing_fits" jsonschema:"no skill is about this"`
	Nearest     string  `json:"nearest,omitempty" jsonschema:"id of the best skill when nothing fits"`
	Unfit       int     `json:"unfit,omitempty" jsonschema:"number of skills that were found but hardly fit, which all=true lists"`
	search.Part
	AsOf      string  `json:"as_of,omitempty" jsonschema:"when the answer was known to be right: the shared catalog cannot be reached now"`
	Ranking   string  `json:"ranking" jsonschema:"what the order is based on"`
	Wanted    float64 `json:"wanted" jsonschema:"probability that the query wants any skill"`
	Threshold float64 `json:"threshold" jsonschema:"what wanted is compared with for skills to be relevant"`
}

// found is a skill of an answer.
type found struct {
	ID          string `json:"id" jsonschema:"for read_skill"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source" jsonschema:"where the skill comes from"`
	skill.About
	Probability float64 `json:"probability" jsonschema:"that the skill is wanted, 0 to 1"`
	Relevant    bool    `json:"relevant" jsonschema:"worth reading"`
	Location    string  `json:"location" jsonschema:"of its SKILL.md"`
	RequiredBy  string  `json:"required_by,omitempty" jsonschema:"the skill that requires this one, which is listed only because of that"`
}

// foundOf returns the skills of an answer. Skills of folders have no hidden characters; what a
// database says of a skill may have some.
func foundOf(hits []search.Hit) []found {
	list := make([]found, len(hits))
	for i, h := range hits {
		list[i] = found{
			ID: h.ID, Name: h.Name, Description: tidy.Clean(h.Description), Source: h.Source, About: h.About,
			Probability: figures.Rounded(h.Probability), Relevant: h.Relevant, Location: h.Location, RequiredBy: h.RequiredBy,
		}
	}
	return list
}

// idsOf returns the IDs of hits.
func idsOf(hits []search.Hit) []string {
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	return ids
}

func searchSkills(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	limit := in.Number("limit")
	if limit < 0 || limit > maxHits {
		return Reply{}, &tool.Problem{Fact: fmt.Sprintf("Argument limit is %d; it is 1 to %d", limit, maxHits)}
	}
	agent, err := s.cfg.narrowed(in.Text("agent"))
	if err != nil {
		return Reply{}, err
	}
	q := search.Query{Text: in.Text("query"), Limit: cmp.Or(limit, usualHits), Agent: agent, Fitting: !in.On("all"), Least: search.WorthReading}
	answer, err := s.cfg.Catalog.Search(ctx, q)
	if err != nil {
		return Reply{}, err
	}
	e := usage.Answered(usage.Searched, q.Text, &answer.Ranking)
	e.Skills = usage.Named(idsOf(answer.Hits)...)
	s.note(e)
	r := searchResult{
		Skills: foundOf(answer.Hits), NothingFits: len(answer.Hits) == 0, Unfit: answer.Unfit, Part: search.PartOf(answer.Unread), Ranking: answer.Mode,
		Wanted: figures.Rounded(answer.Demand.Probability), Threshold: figures.Rounded(answer.Threshold),
	}
	if !answer.AsOf.IsZero() {
		r.AsOf = answer.AsOf.UTC().Format(time.RFC3339)
	}
	if r.NothingFits && answer.Unfit > 0 {
		q.Limit, q.Fitting = 1, false
		nearest, err := s.cfg.Catalog.Search(ctx, q)
		if err != nil {
			return Reply{}, err
		}
		r.Nearest = strings.Join(idsOf(nearest.Hits), "")
	}
	return Reply{Text: withCaveat(r.text(), answer.Caveat(), r.Partial), Data: r}, nil
}

// findSkills asks Config.Find. What a query is answered with is no use of a skill that is here.
func findSkills(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	limit := in.Number("limit")
	switch {
	case s.cfg.Find == nil:
		return Reply{}, &tool.Problem{Fact: "The user has not allowed to look for skills beyond this machine", Hint: "search_skills finds those that are here"}
	case limit < 0 || limit > maxHits:
		return Reply{}, &tool.Problem{Fact: fmt.Sprintf("Argument limit is %d; it is 1 to %d", limit, maxHits)}
	}
	q := search.Query{Text: in.Text("query"), Limit: cmp.Or(limit, usualHits), Agent: s.cfg.Agent, Fitting: true, Least: search.WorthReading}
	text, data, err := s.cfg.Find(ctx, q)
	return Reply{Text: text, Data: data}, err
}

// narrowed returns the scope of a search. A name may narrow the scope of the agent, but never
// widen it.
func (c *Config) narrowed(name string) (*search.Agent, error) {
	switch {
	case name == "" || c.Agent != nil && name == c.Agent.Name:
		return c.Agent, nil
	case c.Agent != nil:
		return nil, &tool.Problem{Fact: "Only the agent " + c.Agent.Name + " is served here", Hint: "leave agent out"}
	}
	var names []string
	for _, a := range c.Agents {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return nil, &tool.Problem{Fact: "There is no agent " + tool.Quoted(name), Hint: "the configuration names none; leave agent out"}
	}
	return nil, &tool.Problem{Fact: "There is no agent " + tool.Quoted(name), Hint: strings.TrimPrefix(words.Suggest(name, names), "; ")}
}

// withCaveat returns a text and below it what must be known of it, unless that is "".
func withCaveat(text, caveat string, partial bool) string {
	if caveat == "" {
		return text
	}
	if partial {
		caveat += " A later call may find more."
	}
	return strings.TrimSuffix(text, "\n") + "\n" + caveat + "\n"
}

// text lists the hits, one on each line.
func (r *searchResult) text() string {
	if len(r.Skills) == 0 {
		nearest := ""
		if r.Nearest != "" {
			nearest = fmt.Sprintf(" The nearest is %s, which hardly fits.", line(r.Nearest, maxLabel))
		}
		return "Nothing fits: no skill of the catalog is about this." + nearest + " Go on without one, or say it in other words."
	}
	var b strings.Builder
	relevant := 0
	for _, f := range r.Skills {
		if f.Relevant {
			relevant++
		}
	}
	switch relevant {
	case 0:
		b.WriteString("No skill is likely to be wanted for this; the nearest are:\n")
	case len(r.Skills):
		b.WriteString("Skills that may fit, best first (read_skill gives the instructions of one):\n")
	default:
		fmt.Fprintf(&b, "The first %d may fit, best first (read_skill gives the instructions of one); the others are only near:\n", relevant)
	}
	for _, f := range r.Skills {
		fmt.Fprintf(&b, "- %s (%.2f): %s\n", line(f.ID, maxLabel), f.Probability, line(f.Description, maxDescription))
	}
	return b.String()
}

// A Prompt is what suggest_skills is asked about.
type Prompt struct {
	Text    string
	Dir     string // the working folder of the user; "" means unknown
	Session string // of the client that asks; "" means unknown
}

func suggestSkills(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	p := Prompt{Text: intent.Typed(in.Text("prompt")), Dir: in.Text("cwd"), Session: in.Text("session")}
	suggest := s.cfg.Suggest
	if suggest == nil {
		suggest = func(ctx context.Context, p Prompt) (contextprovider.Block, error) {
			return s.cfg.block(ctx, p.Text, contextprovider.Relevant)
		}
	}
	var b contextprovider.Block
	var err error
	if strings.TrimSpace(p.Text) == "" {
		p.Text, b.Kind = "", string(intent.Empty)
	} else if b, err = suggest(ctx, p); err != nil {
		return Reply{}, err
	}
	e := usage.Answered(usage.Offered, p.Text, &b.Ranking)
	e.Session, e.Skills, e.Wording, e.Tokens = p.Session, usage.Named(idsOf(b.Skills)...), b.Wording, b.Tokens
	s.note(e)
	switch {
	case p.Session != "": // hooks get no text for nothing: it would stand before each such prompt
	case p.Text == "":
		b.Text = "An empty prompt wants no skill."
	default:
		b.Text = listOf(&b)
	}
	return Reply{Text: b.Text}, nil
}

// A page of list_skills takes about 3,000 tokens.
const pageOfNames = 50

// listResult is what list_skills gives programs.
type listResult struct {
	Skills     []listed `json:"skills" jsonschema:"by name, or for a query best first"`
	Total      int      `json:"total" jsonschema:"skills on all pages"`
	NextCursor string   `json:"next_cursor,omitempty" jsonschema:"for the next page, if there is one"`
	search.Part
}

// listed is a skill of a list.
type listed struct {
	ID          string   `json:"id" jsonschema:"for read_skill"`
	Description string   `json:"description" jsonschema:"its start"`
	Source      string   `json:"source"`
	Tags        []string `json:"tags,omitempty"`
	Tokens      int      `json:"tokens" jsonschema:"of the instructions, estimated"`
	Away        bool     `json:"away,omitempty" jsonschema:"it cannot be read now"`
}

// A selection is what list_skills is asked for.
type selection struct {
	query, tag, source string
	from               int    // of a query: the place from which the page starts
	after              string // of a list by name: the key of the name after which it starts
}

func listSkills(ctx context.Context, s *acts, in tool.Arguments) (Reply, error) {
	p := selection{query: strings.TrimSpace(in.Text("query")), tag: in.Text("tag"), source: in.Text("source")}
	if err := p.follow(in.Text("cursor")); err != nil {
		return Reply{}, err
	}
	entries, err := s.cfg.Catalog.List(ctx, s.cfg.Agent, nil)
	if err != nil {
		return Reply{}, err
	}
	unread, err := s.cfg.Catalog.Unread(ctx)
	if err != nil {
		return Reply{}, err
	}
	// A model that browses should not choose what lacks a command.
	entries = slices.DeleteFunc(entries, func(e search.Entry) bool { return e.State == search.Unavailable })
	if err := p.known(entries, unread); err != nil {
		return Reply{}, err
	}
	if p.query == "" {
		entries = slices.DeleteFunc(entries, func(e search.Entry) bool {
			return p.source != "" && e.Source != p.source || p.tag != "" && !hasTag(e.Tags, p.tag)
		})
		slices.SortStableFunc(entries, func(a, b search.Entry) int { return strings.Compare(words.NameKey(a.ID), words.NameKey(b.ID)) })
		p.from = sort.Search(len(entries), func(i int) bool { return p.after == "" || words.NameKey(entries[i].ID) > p.after })
	} else if entries, err = s.about(ctx, p, len(entries)); err != nil {
		return Reply{}, err
	}
	r := listResult{Total: len(entries), Skills: []listed{}, Part: search.PartOf(unread)}
	p.from = min(p.from, len(entries))
	page := entries[p.from:min(p.from+pageOfNames, len(entries))]
	for _, e := range page {
		r.Skills = append(r.Skills, listed{ID: e.ID, Description: line(e.Description, maxListed), Source: e.Source, Tags: e.Tags, Tokens: e.Tokens, Away: e.Away})
	}
	if next := p.from + len(page); next < len(entries) {
		at := fromPlace + strconv.Itoa(next)
		if p.query == "" {
			at = afterName + words.NameKey(page[len(page)-1].ID)
		}
		r.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(at))
	}
	return Reply{Text: withCaveat(r.text(&p), search.PartOf(unread).Caveat(), r.Partial), Data: r}, nil
}

// A cursor is one of these with a name or a number.
const (
	afterName = "after "
	fromPlace = "from "
	maxCursor = 1024 // bytes
)

// follow reads a cursor; "" means the start of a list. Lists by name go on after a name, and
// lists for a query at a place: the same query has the same order as long as the catalog does
// not change.
func (p *selection) follow(cursor string) error {
	if cursor == "" {
		return nil
	}
	at, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	var ok bool
	if p.query == "" {
		p.after, ok = strings.CutPrefix(string(at), afterName)
	} else if at, isPlace := strings.CutPrefix(string(at), fromPlace); isPlace {
		p.from, _ = strconv.Atoi(at)
		ok = p.from > 0
	}
	if err != nil || !ok || len(cursor) > maxCursor {
		return &tool.Problem{Fact: "The cursor is malformed or no longer valid", Hint: "list again without one"}
	}
	return nil
}

// about returns the skills of the list that have to do with its query, best first. A search
// finds some hundred at most.
func (s *acts) about(ctx context.Context, p selection, most int) ([]search.Entry, error) {
	a, err := s.cfg.Catalog.Search(ctx, search.Query{Text: p.query, Limit: most, Agent: s.cfg.Agent, Source: p.source, Tag: p.tag, Fitting: true})
	if err != nil {
		return nil, err
	}
	entries := make([]search.Entry, len(a.Hits))
	for i := range a.Hits {
		entries[i] = a.Hits[i].Entry
	}
	return entries, nil
}

func hasTag(tags []string, tag string) bool {
	return slices.ContainsFunc(tags, func(t string) bool { return words.SameName(t, tag) })
}

// known returns an error for a tag or a source that no skill has.
func (p *selection) known(entries []search.Entry, unread int) error {
	var tags, sources []string
	for _, e := range entries {
		tags, sources = append(tags, e.Tags...), append(sources, e.Source)
	}
	switch {
	case p.source != "" && !slices.Contains(sources, p.source):
		return unknown("source", p.source, sources, unread)
	case p.tag != "" && !hasTag(tags, p.tag):
		return unknown("tag", p.tag, tags, unread)
	}
	return nil
}

// unknown returns the error for a tag or a source that no skill has.
func unknown(kind, name string, known []string, unread int) error {
	slices.Sort(known)
	hint := strings.TrimPrefix(words.Suggest(name, slices.Compact(known)), "; ")
	if unread > 0 {
		hint = strings.TrimPrefix(hint+"; "+search.PartOf(unread).TryAgain(), "; ")
	}
	return &tool.Problem{Fact: fmt.Sprintf("No skill has the %s %s", kind, tool.Quoted(name)), Hint: line(hint, maxMessage)}
}

// text lists the skills of a page, one on each line.
func (r *listResult) text(p *selection) string {
	var b strings.Builder
	from, to := p.from+1, p.from+len(r.Skills)
	switch {
	case len(r.Skills) == 0 && p.from > 0:
		return "There are no more skills."
	case len(r.Skills) == 0 && p.query != "":
		return "No skill here has to do with this; without a query all are listed."
	case len(r.Skills) == 0:
		return "There are no skills here."
	case p.query != "":
		fmt.Fprintf(&b, "Skills %d-%d of %d that have to do with this, best first:\n", from, to, r.Total)
	default:
		fmt.Fprintf(&b, "Skills %d-%d of %d, by name:\n", from, to, r.Total)
	}
	for _, e := range r.Skills {
		away := ""
		if e.Away {
			away = " (cannot be read now)"
		}
		fmt.Fprintf(&b, "- %s%s: %s\n", line(e.ID, maxLabel), away, e.Description)
	}
	if r.NextCursor != "" {
		fmt.Fprintf(&b, "The next page has the cursor %s\n", r.NextCursor)
	}
	return b.String()
}

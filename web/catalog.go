package web

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/usage"
)

const (
	pageSize = 50  // skills that a page of the catalog lists
	excerpts = 20  // hits with an excerpt, for which their instructions are read
	mostTags = 200 // that the form offers; 20,101 published skills have 10,000
)

// A catalogPage lists skills.
type catalogPage struct {
	Query, Source, Tag, Agent, State string // as the form says
	Sources, Tags, Agents, States    []string
	Rare                             int // tags that the form does not offer

	Rows  []row
	From  int // number of the first row, from 0
	Found int // rows on all pages
	All   int // skills without the filters of the form
	Unfit int // skills that hardly fit the query and are left out

	Proposes bool // the visitor may propose a new skill
}

// A row is one skill of the list.
type row struct {
	repertoire.Entry
	Status, Reason string
	Excerpt        []excerpt // around what a query matches; nil means that there is none
}

// An excerpt is a part of a text, marked if a query matches it.
type excerpt struct {
	Text string
	Mark bool
}

// Previous and Next return the addresses of the neighbouring pages, for the template; "" means
// that there is none.
func (c *catalogPage) Previous() string { return c.start(c.From - pageSize) }
func (c *catalogPage) Next() string     { return c.start(c.From + pageSize) }

func (c *catalogPage) start(at int) string {
	if at < 0 || at >= c.Found {
		return ""
	}
	return strconv.Itoa(at)
}

// First is the number of the first row, from 1.
func (c *catalogPage) First() int { return c.From + 1 }

// Last is the number of the last row, from 1.
func (c *catalogPage) Last() int { return min(c.From+pageSize, c.Found) }

// getCatalog lists the skills that fit the filters of the form.
func (hs *handlers) getCatalog(v *visit) (answer, error) {
	c := &catalogPage{Query: strings.TrimSpace(v.FormValue("q")), Source: v.FormValue("source"), Tag: strings.ToLower(v.FormValue("tag")), Agent: v.FormValue("agent"), State: v.FormValue("state")}
	c.Proposes = hs.proposes(v)
	c.From, _ = strconv.Atoi(v.FormValue("from")) // whatever else it says, the list starts at its start
	agent, err := v.agent(c.Agent)
	if err != nil {
		return answer{}, err
	}
	entries, err := hs.catalog.List(v.Context(), agent, &repertoire.ListOptions{Shadowed: true, Held: v.owner, Person: true})
	if err != nil {
		return answer{}, err
	}
	entries, _ = repertoire.SplitLinks(entries)
	c.choices(v, entries)
	rows := rowsOf(c.filter(entries))
	if c.Query != "" {
		if rows, err = hs.find(v, c, agent, rows); err != nil {
			return answer{}, err
		}
	}
	c.Found = len(rows)
	c.From = min(max(c.From, 0), max(c.Found-1, 0)) / pageSize * pageSize
	c.Rows = rows[c.From:c.Last()]
	shown := make([]string, len(c.Rows))
	for i, r := range c.Rows {
		shown[i] = r.ID
	}
	hs.observe(v, usage.Event{Kind: usage.Listed, Call: "/ui/catalog", Skills: usage.Named(shown...), Prompt: c.Query})
	return answer{data: c}, nil
}

// agent returns the agent of a name in whose place a visitor may ask; "" is the visitor.
func (v *visit) agent(name string) (*repertoire.Agent, error) {
	if name == "" || v.scope != nil {
		return v.scope, nil
	}
	a, err := v.site.catalog.Agent(name)
	if err != nil {
		return nil, refuse("%w", err)
	}
	return a, nil
}

// choices sets what the form offers, which are the values that the skills have.
func (c *catalogPage) choices(v *visit, entries []repertoire.Entry) {
	sources, tags, states := make(map[string]bool), make(map[string]int), make(map[string]bool)
	for _, e := range entries {
		status, _ := e.Status()
		sources[e.Source], states[status] = true, true
		for _, t := range e.Tags {
			tags[strings.ToLower(t)]++
		}
		if e.ShadowedBy == "" {
			c.All++
		}
	}
	c.Sources, c.States = slices.Sorted(maps.Keys(sources)), slices.Sorted(maps.Keys(states))
	c.Tags = mostUsed(tags, mostTags, c.Tag)
	c.Rare = len(tags) - len(c.Tags)
	for _, a := range v.agents() {
		if a != nil && v.scope == nil {
			c.Agents = append(c.Agents, a.Name)
		}
	}
}

// mostUsed returns the n most used tags in their order, and the chosen one if it is used.
func mostUsed(tags map[string]int, n int, chosen string) []string {
	list := slices.SortedFunc(maps.Keys(tags), func(a, b string) int {
		return cmp.Or(cmp.Compare(tags[b], tags[a]), cmp.Compare(a, b))
	})
	list = list[:min(n, len(list))]
	if tags[chosen] > 0 && !slices.Contains(list, chosen) {
		list = append(list, chosen)
	}
	slices.Sort(list)
	return list
}

// filter returns the entries that the form chooses. Shadowed copies are listed only if it asks
// for them.
func (c *catalogPage) filter(entries []repertoire.Entry) (list []repertoire.Entry) {
	for _, e := range entries {
		status, _ := e.Status()
		tagged := func(t string) bool { return words.SameName(t, c.Tag) }
		switch {
		case c.State == "" && e.ShadowedBy != "", c.State != "" && c.State != status:
		case c.Source != "" && c.Source != e.Source, c.Tag != "" && !slices.ContainsFunc(e.Tags, tagged):
		default:
			list = append(list, e)
		}
	}
	return list
}

// find returns the rows that have the query in their names, and then those that a search
// finds, best first.
func (hs *handlers) find(v *visit, c *catalogPage, agent *repertoire.Agent, rows []row) (found []row, err error) {
	q := repertoire.Query{Text: c.Query, Agent: agent, Limit: pageSize, Fitting: true, Source: c.Source, Tag: c.Tag, Person: true}
	if !slices.Contains(c.Sources, c.Source) {
		q.Source = ""
	}
	if !slices.Contains(c.Tags, c.Tag) {
		q.Tag = ""
	}
	a, err := hs.catalog.Search(v.Context(), q)
	if err != nil {
		return nil, err
	}
	rest := make(map[string]row)
	for _, r := range rows {
		if strings.Contains(words.NameKey(r.ID), words.NameKey(c.Query)) {
			found = append(found, r)
		} else {
			rest[r.ID] = r
		}
	}
	hits := slices.DeleteFunc(a.Hits, func(h repertoire.Hit) bool { _, ok := rest[h.ID]; return !ok })
	entries := make([]repertoire.Entry, min(len(hits), excerpts))
	for i := range entries {
		entries[i] = hits[i].Entry
	}
	snippets, err := hs.catalog.Snippets(v.Context(), q, entries, 0)
	if err != nil {
		return nil, err
	}
	for i, h := range hits {
		r := rest[h.ID]
		if i < len(snippets) {
			r.Excerpt = excerptsOf(snippets[i])
		}
		found = append(found, r)
	}
	c.Unfit = a.Unfit
	return found, nil
}

func rowsOf(entries []repertoire.Entry) []row {
	rows := make([]row, len(entries))
	for i, e := range entries {
		rows[i].Entry = e
		rows[i].Status, rows[i].Reason = e.Status()
	}
	return rows
}

// excerptsOf divides a snippet where its matches begin and end.
func excerptsOf(s repertoire.Snippet) (list []excerpt) {
	at := 0
	for _, m := range s.Matches {
		if m[0] < at || m[1] > len(s.Text) {
			continue
		}
		list = append(list, excerpt{s.Text[at:m[0]], false}, excerpt{s.Text[m[0]:m[1]], true})
		at = m[1]
	}
	if at < len(s.Text) {
		list = append(list, excerpt{s.Text[at:], false})
	}
	return list
}

package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

const listText = `Browse the catalog of skills a page at a time: all by name, or with a query those that have to do with it, best first; of a tag or a source if one is given. Call this when the user asks what skills there are. To find a skill for a task, call search_skills instead: it returns only what fits.`

// A page of the tool takes about 3,000 tokens.
const (
	pageOfNames   = 50
	maxListedText = 160 // characters of a description
)

type listParams struct {
	Query  string `json:"query,omitempty" jsonschema:"only skills that have to do with this, best first"`
	Tag    string `json:"tag,omitempty" jsonschema:"only skills with this tag"`
	Source string `json:"source,omitempty" jsonschema:"only skills from this source"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

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

func (s *Server) list(ctx context.Context, _ *mcp.CallToolRequest, p listParams) (*mcp.CallToolResult, listResult, error) {
	var none listResult
	p.Query = strings.TrimSpace(p.Query)
	c, err := p.cursor()
	if err != nil {
		return nil, none, err
	}
	entries, err := s.catalog.List(ctx, s.opts.Agent, nil)
	if err != nil {
		return nil, none, err
	}
	unread, err := s.catalog.Unread(ctx)
	if err != nil {
		return nil, none, err
	}
	entries = withoutUnavailable(entries)
	if err := known(entries, p); err != nil && unread > 0 {
		return nil, none, fmt.Errorf("%w; %s", err, search.TryAgain(unread))
	} else if err != nil {
		return nil, none, err
	}
	if p.Query == "" {
		entries = slices.DeleteFunc(entries, func(e search.Entry) bool {
			return p.Source != "" && e.Source != p.Source || p.Tag != "" && !hasTag(e.Tags, p.Tag)
		})
		slices.SortStableFunc(entries, func(a, b search.Entry) int { return strings.Compare(words.NameKey(a.ID), words.NameKey(b.ID)) })
		c.Next = sort.Search(len(entries), func(i int) bool { return c.After == "" || words.NameKey(entries[i].ID) > c.After })
	} else if entries, err = s.ranked(ctx, p, len(entries)); err != nil {
		return nil, none, err
	}
	r := listResult{Total: len(entries), Skills: []listed{}, Part: search.PartOf(unread)}
	from := min(c.Next, len(entries))
	page := entries[from:min(from+pageOfNames, len(entries))]
	for _, e := range page {
		r.Skills = append(r.Skills, listed{ID: e.ID, Description: line(e.Description, maxListedText), Source: e.Source, Tags: e.Tags, Tokens: e.Tokens, Away: e.Away})
	}
	switch next := from + len(page); {
	case next >= len(entries):
	case p.Query != "":
		r.NextCursor = cursor{Next: next}.encode()
	default:
		r.NextCursor = cursor{After: words.NameKey(page[len(page)-1].ID)}.encode()
	}
	return text(withCaveat(r.text(from, p.Query), search.Caveat(unread), r.Partial)), r, nil
}

// cursor returns the cursor of a call. Lists by name go on after a name, and lists for a query
// at a place: the same query has the same order as long as the catalog does not change.
func (p *listParams) cursor() (cursor, error) {
	c, err := decodeCursor(p.Cursor)
	if err == nil && p.Cursor != "" && (c.Order != "" || (p.Query == "") != (c.After != "") || (p.Query == "") == (c.Next > 0)) {
		err = errCursor
	}
	return c, err
}

// ranked returns the skills of the list that have to do with its query, best first. A search
// finds some hundred at most.
func (s *Server) ranked(ctx context.Context, p listParams, most int) ([]search.Entry, error) {
	a, err := s.catalog.Search(ctx, search.Query{Text: p.Query, Limit: most, Agent: s.opts.Agent, Source: p.Source, Tag: p.Tag, Fitting: true})
	if err != nil {
		return nil, err
	}
	entries := make([]search.Entry, len(a.Hits))
	for i := range a.Hits {
		entries[i] = a.Hits[i].Entry
	}
	return entries, nil
}

// withoutUnavailable leaves out the skills that lack a command: a model that browses should
// not choose them.
func withoutUnavailable(entries []search.Entry) []search.Entry {
	return slices.DeleteFunc(entries, func(e search.Entry) bool { return e.State == search.Unavailable })
}

func hasTag(tags []string, tag string) bool {
	return slices.ContainsFunc(tags, func(t string) bool { return strings.EqualFold(t, tag) })
}

// known returns an error for a tag or a source that no skill has.
func known(entries []search.Entry, p listParams) error {
	var tags, sources []string
	for _, e := range entries {
		tags, sources = append(tags, e.Tags...), append(sources, e.Source)
	}
	if p.Source != "" && !slices.Contains(sources, p.Source) {
		return unknown("source", p.Source, sources)
	}
	if p.Tag != "" && !hasTag(tags, p.Tag) {
		return unknown("tag", p.Tag, tags)
	}
	return nil
}

// unknown returns the error for a tag or a source that no skill has.
func unknown(kind, name string, known []string) error {
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 {
		return mistake("no skill has a %s", kind)
	}
	return access.Mistake(line(fmt.Sprintf("no skill has the %s %s%s", kind, quoted(name), words.Suggest(name, known)), maxMessage))
}

// text lists the skills from a place on, one on each line.
func (r *listResult) text(from int, query string) string {
	var b strings.Builder
	switch {
	case len(r.Skills) == 0 && from > 0:
		return "There are no more skills."
	case len(r.Skills) == 0 && query != "":
		return "No skill here has to do with this; without a query all are listed."
	case len(r.Skills) == 0:
		return "There are no skills here."
	case query != "":
		fmt.Fprintf(&b, "Skills %d-%d of %d that have to do with this, best first:\n", from+1, from+len(r.Skills), r.Total)
	default:
		fmt.Fprintf(&b, "Skills %d-%d of %d, by name:\n", from+1, from+len(r.Skills), r.Total)
	}
	for _, e := range r.Skills {
		away := ""
		if e.Away {
			away = " (cannot be read now)"
		}
		fmt.Fprintf(&b, "- %s%s: %s\n", line(e.ID, maxName), away, e.Description)
	}
	if r.NextCursor != "" {
		fmt.Fprintf(&b, "The next page has the cursor %s\n", r.NextCursor)
	}
	return b.String()
}

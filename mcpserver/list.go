package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

const listText = `Browse the catalog of skills by name, a page at a time, optionally those with a tag or from a source. To find a skill for a task, call search_skills instead: a catalog may hold thousands. Call this when the user asks what skills there are.`

// A page of the tool takes about 3,000 tokens.
const (
	pageOfNames   = 50
	maxListedText = 160 // characters of a description
)

type listParams struct {
	Tag    string `json:"tag,omitempty" jsonschema:"only skills with this tag"`
	Source string `json:"source,omitempty" jsonschema:"only skills from this source"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type listResult struct {
	Skills     []listed `json:"skills" jsonschema:"by name"`
	Total      int      `json:"total" jsonschema:"skills on all pages"`
	NextCursor string   `json:"next_cursor,omitempty" jsonschema:"for the next page, if there is one"`
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
	c, err := decodeCursor(p.Cursor)
	if err == nil && (c.After == "") != (p.Cursor == "") {
		err = errCursor
	}
	if err != nil {
		return nil, none, err
	}
	entries, err := s.catalog.List(ctx, s.opts.Agent, nil)
	if err != nil {
		return nil, none, err
	}
	entries = withoutUnavailable(entries)
	if err := known(entries, p); err != nil {
		return nil, none, err
	}
	entries = slices.DeleteFunc(entries, func(e search.Entry) bool {
		return p.Source != "" && e.Source != p.Source || p.Tag != "" && !hasTag(e.Tags, p.Tag)
	})
	r := listResult{Total: len(entries), Skills: []listed{}}
	slices.SortStableFunc(entries, func(a, b search.Entry) int { return strings.Compare(words.NameKey(a.ID), words.NameKey(b.ID)) })
	from := sort.Search(len(entries), func(i int) bool { return c.After == "" || words.NameKey(entries[i].ID) > c.After })
	page := entries[from:min(from+pageOfNames, len(entries))]
	for _, e := range page {
		r.Skills = append(r.Skills, listed{ID: e.ID, Description: line(e.Description, maxListedText), Source: e.Source, Tags: e.Tags, Tokens: e.Tokens, Away: e.Away})
	}
	if from+len(page) < len(entries) {
		r.NextCursor = cursor{After: words.NameKey(page[len(page)-1].ID)}.encode()
	}
	return text(r.text(from)), r, nil
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
		return fmt.Errorf("no skill has a %s", kind)
	}
	return errors.New(line(fmt.Sprintf("no skill has the %s %s%s", kind, quoted(name), words.Suggest(name, known)), maxMessage))
}

// text lists the skills, one on each line.
func (r *listResult) text(from int) string {
	if len(r.Skills) == 0 {
		return "There are no skills here."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Skills %d-%d of %d, by name:\n", from+1, from+len(r.Skills), r.Total)
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

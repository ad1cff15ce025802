package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/repertoire-skills/repertoire/internal/access"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

const searchText = `Find agent skills (tested instructions, often with scripts) for a task. Search before starting any task that others have likely done before: working on a kind of file, with a tool, service, framework or API, or by a convention of this team; and again when the task changes. Do not search for small talk or when the right skill is already loaded.

Write the query as one sentence about what is to be done and with what, in the user's words ("fill in the fields of a PDF form"). The answer has the skills that fit, best first, with the probability that the task wants each; those marked relevant are worth reading with read_skill. If nothing fits, go on without a skill; all=true lists the nearest ones all the same.`

const (
	usualHits = 8 // unless a limit is given
	maxHits   = 50
)

type searchParams struct {
	Query string `json:"query" jsonschema:"what is to be done, as a sentence or as words"`
	Limit int    `json:"limit,omitempty" jsonschema:"most skills to return, 1 to 50; 8 if left out"`
	All   bool   `json:"all,omitempty" jsonschema:"also skills that hardly fit, up to the limit"`
	Agent string `json:"agent,omitempty" jsonschema:"search only what this configured agent may see"`
}

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

	caveat string // of the answer
}

// found is a skill of an answer.
type found struct {
	ID          string  `json:"id" jsonschema:"for read_skill"`
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Source      string  `json:"source" jsonschema:"where the skill comes from"`
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
			ID: h.ID, Name: h.Name, Description: words.Clean(h.Description), Source: h.Source,
			Probability: rounded(h.Probability), Relevant: h.Relevant, Location: h.Location, RequiredBy: h.RequiredBy,
		}
	}
	return list
}

func rounded(x float64) float64 { return float64(int(x*1000+.5)) / 1000 }

func (s *Server) search(ctx context.Context, _ *mcp.CallToolRequest, p searchParams) (*mcp.CallToolResult, searchResult, error) {
	var none searchResult
	if strings.TrimSpace(p.Query) == "" {
		return nil, none, access.Mistake("query is empty; say what is to be done")
	}
	if p.Limit < 0 || p.Limit > maxHits {
		return nil, none, mistake("limit is %d; it is 1 to %d", p.Limit, maxHits)
	}
	agent, err := s.agent(p.Agent)
	if err != nil {
		return nil, none, err
	}
	q := search.Query{Text: p.Query, Limit: cmp.Or(p.Limit, usualHits), Agent: agent, Fitting: !p.All, Least: search.WorthReading}
	answer, err := s.catalog.Search(ctx, q)
	if err != nil {
		return nil, none, err
	}
	r := searchResult{
		Skills: foundOf(answer.Hits), NothingFits: len(answer.Hits) == 0, Unfit: answer.Unfit, Part: search.PartOf(answer.Unread), Ranking: answer.Mode,
		Wanted: rounded(answer.Demand.Probability), Threshold: rounded(answer.Threshold),
	}
	r.caveat = answer.Caveat()
	if !answer.AsOf.IsZero() {
		r.AsOf = answer.AsOf.UTC().Format(time.RFC3339)
	}
	if r.NothingFits && answer.Unfit > 0 {
		q.Limit, q.Fitting = 1, false
		nearest, err := s.catalog.Search(ctx, q)
		if err != nil {
			return nil, none, err
		}
		r.Nearest = strings.Join(idsOf(nearest.Hits), "")
	}
	e := eventOf(ctx)
	e.Skills, e.Session, e.Prompt = idsOf(answer.Hits), s.lastSession(), p.Query
	return text(r.text()), r, nil
}

// text lists the hits, one on each line.
func (r *searchResult) text() string { return withCaveat(r.list(), r.caveat, r.Partial) }

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

func (r *searchResult) list() string {
	if len(r.Skills) == 0 {
		nearest := ""
		if r.Nearest != "" {
			nearest = fmt.Sprintf(" The nearest is %s, which hardly fits.", line(r.Nearest, maxName))
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
		fmt.Fprintf(&b, "- %s (%.2f): %s\n", line(f.ID, maxName), f.Probability, line(f.Description, maxDescription))
	}
	return b.String()
}

// Bounds of names and descriptions in texts, in characters.
const (
	maxName        = 200
	maxDescription = 400
)

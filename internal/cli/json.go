package cli

import (
	"encoding/json"
	"io"
	"time"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/trial"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// printJSON prints v, indented, without escaping what is plain in JSON. On a terminal
// the printer escapes more; the JSON means the same.
func (ui *screen) printJSON(v any) error {
	enc := ui.encoder()
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// exact returns standard output for what other programs read: byte for byte in a pipe, with
// escapes on a terminal.
func (ui *screen) exact() io.Writer {
	if _, ok := terminal(ui.raw); ok {
		return ui.stdout
	}
	return ui.raw
}

// encoder returns what writes JSON to standard output.
func (ui *screen) encoder() *json.Encoder {
	enc := json.NewEncoder(ui.exact())
	enc.SetEscapeHTML(false)
	return enc
}

// mapped returns f of each element of list; never nil, so that JSON has a list.
func mapped[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// ranking is what a result says of an answer as a whole.
type ranking struct {
	Mode  string `json:"mode"`
	Stale string `json:"stale,omitempty"`
	search.Part
	AsOf      string  `json:"as_of,omitempty"`
	Kind      string  `json:"kind,omitempty"`
	Demand    float64 `json:"demand"`
	Threshold float64 `json:"threshold"`

	Disturb *float64 `json:"disturb,omitempty"`
	Unfit   *float64 `json:"unfit_rate,omitempty"`

	Reading []search.Read `json:"reading,omitempty"`
}

func (c *catalog) rankingOf(r search.Ranking) ranking {
	out := ranking{r.Mode, c.stale, search.PartOf(r.Unread), "", r.Kind, figures.Rounded(r.Demand.Probability), figures.Rounded(r.Threshold), nil, nil, r.Readings}
	if !r.AsOf.IsZero() {
		out.AsOf = r.AsOf.UTC().Format(time.RFC3339)
	}
	if b := &r.Background; b.Disturb >= 0 {
		out.Disturb, out.Unfit = &b.Disturb, &b.Unfit
	}
	return out
}

// searchResult is what "search --json" prints.
type searchResult struct {
	Query string `json:"query"`
	ranking
	TookMS      float64     `json:"took_ms"`
	NothingFits bool        `json:"nothing_fits"`
	Unfit       int         `json:"unfit"`
	Results     []resultHit `json:"results"`
}

// resultHit is one skill of a result.
type resultHit struct {
	ID          string      `json:"id"`
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Score       float64     `json:"score"`
	Probability float64     `json:"probability"`
	Source      string      `json:"source"`
	Path        string      `json:"path"`
	Relevant    bool        `json:"relevant"`
	Copies      []string    `json:"copies,omitempty"`
	RequiredBy  string      `json:"required_by,omitempty"`
	Part        string      `json:"part,omitempty"`
	State       string      `json:"state,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	Why         hitWhy      `json:"why"`
	Snippet     *hitSnippet `json:"snippet,omitempty"`
}

// hitSnippet is what matches in a body.
type hitSnippet struct {
	Text    string   `json:"text"`
	Matches [][2]int `json:"matches"` // in characters
}

// snippetOf returns nil for a snippet without text.
func snippetOf(s repertoire.Snippet) *hitSnippet {
	if s.Text == "" {
		return nil
	}
	out := &hitSnippet{Text: s.Text}
	for _, m := range s.Matches {
		out.Matches = append(out.Matches, [2]int{utf8.RuneCountInString(s.Text[:m[0]]), utf8.RuneCountInString(s.Text[:m[1]])})
	}
	return out
}

// hitWhy is what a score is made of.
type hitWhy struct {
	Terms    []rank.Term     `json:"terms"`
	Matched  search.Matched  `json:"matched"`
	Strength float64         `json:"strength"`
	Coverage float64         `json:"coverage"`
	Evidence float64         `json:"evidence"`
	Trigger  *search.Trigger `json:"trigger,omitempty"`
	Rerank   *float64        `json:"rerank,omitempty"`
}

// rounded returns a trigger with few digits; nil for no trigger.
func rounded(t *search.Trigger) *search.Trigger {
	if t == nil {
		return nil
	}
	return &search.Trigger{Kind: t.Kind, Text: t.Text, Value: figures.Rounded(t.Value)}
}

func resultOf(h repertoire.Hit) resultHit {
	return resultHit{
		ID: h.ID, Name: h.Name, Description: h.Description, Score: figures.Rounded(h.Score), Probability: figures.Rounded(h.Probability), Source: h.Source,
		Path: h.Location, Relevant: h.Relevant && h.State == search.Offered, State: string(h.State), Reason: h.Reason, Copies: idsOf(h.Copies), RequiredBy: h.RequiredBy, Part: h.Part,
		Why: hitWhy{Terms: roundedTerms(h.Terms), Matched: h.Matched, Strength: figures.Rounded(h.Strength),
			Coverage: figures.Rounded(h.Coverage), Evidence: figures.Rounded(h.Evidence), Trigger: rounded(h.Trigger), Rerank: h.RerankScore},
	}
}

func roundedTerms(terms []rank.Term) []rank.Term {
	return mapped(terms, func(t rank.Term) rank.Term {
		return rank.Term{Name: t.Name, Value: figures.Rounded(t.Value), Weight: t.Weight}
	})
}

func idsOf(entries []repertoire.Entry) []string {
	return mapped(entries, func(e repertoire.Entry) string { return e.ID })
}

// contextResult is what "context --json" prints.
type contextResult struct {
	Block   string      `json:"block"`
	Hint    string      `json:"hint,omitempty"`
	Skills  []resultHit `json:"skills"`
	Pinned  []string    `json:"pinned,omitempty"`
	Omitted int         `json:"omitted"`
	Tokens  int         `json:"tokens"`
	ranking
}

// listResult is what "list --json" prints.
type listResult struct {
	Stale string `json:"stale,omitempty"`
	search.Part
	Skills []listEntry `json:"skills"`
}

// listEntry is one skill of a list.
type listEntry struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source"`
	Path        string `json:"path"`
	skill.About
	Tags       []string `json:"tags"`
	Tokens     int      `json:"tokens"`
	State      string   `json:"state"`
	Reason     string   `json:"reason,omitempty"`
	ShadowedBy string   `json:"shadowed_by,omitempty"`
	Away       bool     `json:"away,omitempty"`

	ShadowedFrom string `json:"shadowed_from,omitempty"`

	// Where it was installed from, if a lock says so.
	From        string `json:"from,omitempty"`
	InstalledBy string `json:"installed_by,omitempty"`
}

// whyResult is what "why --json" prints.
type whyResult struct {
	resultHit
	Prompt string `json:"prompt"`
	ranking
	DemandTerms []rank.Term      `json:"demand_terms"`
	Background  trial.Background `json:"background"`
	CopyOf      string           `json:"copy_of,omitempty"`
	Rank        int              `json:"rank"`
	Of          int              `json:"of"`
	Best        string           `json:"best,omitempty"`
	Missing     []string         `json:"missing"`
	Advice      []string         `json:"advice"`
	RuledOut    string           `json:"ruled_out,omitempty"`
	Ignored     []string         `json:"ignored,omitempty"`
	Filter      string           `json:"filter,omitempty"`
	ShadowedBy  string           `json:"shadowed_by,omitempty"`
	Verdict     string           `json:"verdict"`
	RerankError string           `json:"rerank_error,omitempty"`
}

// indexResult is what "index --json" prints.
type indexResult struct {
	Offered  int                 `json:"offered"`
	Found    int                 `json:"found"`
	Mode     string              `json:"mode"`
	Needless search.Compared     `json:"needless"`
	Unfit    search.Compared     `json:"unfit"`
	DB       string              `json:"db"`
	TookMS   float64             `json:"took_ms"`
	Sources  []repertoire.Report `json:"sources"`
}

// embedResult is what "embed --json" prints.
type embedResult struct {
	Mode      string          `json:"mode"`
	Embedders []embedderEntry `json:"embedders"`
}

// embedderEntry is one embedder of a list.
type embedderEntry struct {
	Name      string `json:"name"`
	Model     string `json:"model"`
	Dimension int    `json:"dimension"`
	Embedded  int    `json:"embedded"`
	Texts     int    `json:"texts"`
	InUse     bool   `json:"in_use"`
}

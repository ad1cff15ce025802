package contextprovider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// garden returns a catalog of four skills.
func garden(t *testing.T) *kit {
	return open(t, memory(t, "garden", map[string]string{
		"hose/SKILL.md":  doc("hose", "Repairs garden hoses. Use when water leaks.", "Cut it."),
		"mower/SKILL.md": doc("mower", "Sharpens lawn mowers.", "Grind it."),
		"apple/SKILL.md": doc("apple", "Prunes apple trees.", "Cut it."),
		"roses/SKILL.md": doc("roses", "Feeds roses.", "Feed it."),
	}))
}

// TestOfferAll: where all skills have room, the text has them all, pinned ones first, with the
// same bytes for each prompt; the hint says which one a prompt wants.
func TestOfferAll(t *testing.T) {
	k := garden(t)
	a := &search.Agent{Name: "a", Pinned: []string{"roses"}}
	texts := make(map[string]bool)
	for prompt, want := range map[string]string{
		"repair the garden hose, because water leaks": "hose", "prune the apple tree": "apple", "thanks": "", "": "", "what is the capital of France": "",
	} {
		for _, offer := range []contextprovider.Offer{contextprovider.Auto, contextprovider.All} {
			b := k.block(t, prompt, contextprovider.Budget{Offer: offer, ListPinned: true, Command: "skills"}, a)
			texts[b.Text] = true
			if got := names(b.Skills); !b.All || strings.Join(got, " ") != "roses apple hose mower" || b.Omitted != 0 {
				t.Errorf("%s, %q: lists %q, %d omitted", offer, prompt, got, b.Omitted)
			}
			if got := strings.Join(names(b.Fitting()), " "); got != want || strings.Contains(b.Hint, "skills show "+want) != (want != "") || (b.Hint == "") != (want == "") {
				t.Errorf("%s, %q: %q fit, hint %q", offer, prompt, got, b.Hint)
			}
			if b.Tokens != words.Tokens(b.Text)+words.Tokens(b.Hint) || (b.Wording == "") != (want == "") {
				t.Errorf("%s, %q: %d tokens, wording %q", offer, prompt, b.Tokens, b.Wording)
			}
		}
	}
	if len(texts) != 1 {
		t.Errorf("the text depends on the prompt: %v", texts)
	}
}

// TestOfferBounds: with too many skills for the budget, auto lists what fits, and all lists as
// many as have room and says how many it lacks, within the budget.
func TestOfferBounds(t *testing.T) {
	k := garden(t)
	for _, format := range contextprovider.Formats() {
		for tokens := 40; tokens < 160; tokens += 4 {
			budget := contextprovider.Budget{Offer: contextprovider.Auto, Tokens: tokens, Chars: 4 * tokens, Format: format, Command: "skills"}
			auto := k.block(t, "what is the capital of France", budget, nil)
			budget.Offer = contextprovider.All
			all := k.block(t, "what is the capital of France", budget, nil)
			if auto.All != (all.Omitted == 0) || !auto.All && auto.Text != "" {
				t.Errorf("%s, %d tokens: auto lists all %t, all lacks %d", format, tokens, auto.All, all.Omitted)
			}
			if n := contextprovider.JSONLength(all.Text); n > budget.Chars || words.Tokens(all.Text) > tokens+1 {
				t.Errorf("%s: %d characters, %d tokens of %d:\n%s", format, n, words.Tokens(all.Text), tokens, all.Text)
			}
			told := strings.Contains(all.Text, fmt.Sprintf("%d more have no room here; `skills search TEXT` finds them.", all.Omitted))
			if format != contextprovider.JSON && told != (all.Omitted > 0 && len(all.Skills) > 0) || format == contextprovider.JSON && all.Text != "" && !json.Valid([]byte(all.Text)) {
				t.Errorf("%s, %d tokens, %d omitted:\n%s", format, tokens, all.Omitted, all.Text)
			}
		}
	}
	if _, err := k.Block(t.Context(), "x", contextprovider.Budget{Offer: "al"}, nil); err == nil || !strings.Contains(err.Error(), "did you mean all") {
		t.Errorf("an unknown offer: %v", err)
	}
}

// TestWording: what is said of the best skill depends on how likely it is; own texts win, and
// neither they nor a name can begin anything.
func TestWording(t *testing.T) {
	e := search.Entry{}
	e.Name, e.ID, e.Description, e.Location = "a<b", "a<b", "Does it.", "/x/SKILL.md"
	own := contextprovider.Wording{Certain: "Take {name}, </available_skills>!", Likely: "Maybe {name}.", Possible: "Or {name}."}
	for probability, want := range map[float64][3]string{
		1:   {"certain", "This prompt asks for the skill a&lt;b: load it before you start. ", "Take a&lt;b, &lt;/available_skills&gt;! "},
		.9:  {"certain", "This prompt asks for the skill a&lt;b: load it before you start. ", "Take a&lt;b, "},
		.89: {"likely", "The skill a&lt;b fits this prompt: load it if you do what it is for. ", "Maybe a&lt;b. "},
		.5:  {"likely", "The skill a&lt;b fits this prompt: ", "Maybe a&lt;b. "},
		.49: {"possible", "Skills in the catalog that may fit this prompt. The tool `read_skill` of the MCP server team returns the instructions of each by its name.", "Or a&lt;b. "},
	} {
		p := contextprovider.New(finds{search.Hit{Entry: e, Relevant: true, Probability: probability}}, nil)
		for i, w := range []contextprovider.Wording{{}, own} {
			b, err := p.Block(t.Context(), "x", contextprovider.Budget{Server: "team", Wording: w}, nil)
			if err != nil || b.Wording != want[0] || !strings.HasPrefix(b.Text, want[1+i]) {
				t.Errorf("%v: %q, %q, %v", probability, b.Wording, b.Text, err)
			}
			if call := "the MCP server team returns its instructions, called with the name a&lt;b."; strings.Contains(b.Text, call) != (probability >= .5) {
				t.Errorf("%v: %q", probability, b.Text)
			}
		}
	}
}

// finds is a catalog that finds one skill.
type finds struct{ search.Hit }

func (h finds) Lookup(ctx context.Context, id string, a *search.Agent) (search.Entry, error) {
	return h.Entry, nil
}
func (h finds) Pinned(context.Context, *search.Agent) ([]search.Entry, error) { return nil, nil }
func (h finds) List(context.Context, *search.Agent, *search.ListOptions) ([]search.Entry, error) {
	return []search.Entry{h.Entry}, nil
}
func (h finds) Search(context.Context, search.Query) (search.Answer, error) {
	return search.Answer{Hits: []search.Hit{h.Hit}, Ranking: search.Ranking{Skills: 1}}, nil
}

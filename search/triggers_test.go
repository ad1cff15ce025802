package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/search/searchtest"
	"github.com/repertoire-skills/repertoire/skill"
)

// triggered returns a skill with triggers whose text says nothing else.
func triggered(name string, t skill.Triggers) *skill.Skill {
	s := searchtest.Skill(name, "Helps with things of the "+name+" kind", "body")
	s.Triggers = t
	return s
}

// triggerCatalog returns a catalog of skills with triggers, among others.
func triggerCatalog(t *testing.T, opts search.Options) *searchtest.Catalog {
	t.Helper()
	x := searchtest.Open(t, t.TempDir()+"/catalog.db", nil, &searchtest.Options{Search: opts})
	src := searchtest.Many(30)
	for _, s := range []*skill.Skill{
		triggered("ledger", skill.Triggers{Keywords: []string{"purchase invoices", "发票"}, Verbs: []string{"reconcile"}, Patterns: []string{`INV-\d{4}`}}),
		triggered("slides", skill.Triggers{Keywords: []string{"pitch deck", "useState hook"}, Patterns: []string{`\bkeynote\b`}}),
		triggered("grabby-a", skill.Triggers{Keywords: []string{"weekly report"}}),
		triggered("grabby-b", skill.Triggers{Keywords: []string{"weekly report"}}),
		triggered("grabby-c", skill.Triggers{Keywords: []string{"weekly report", "fruit"}}),
	} {
		src[s.Name] = s
	}
	searchtest.Sync(t, x, "a", src.Refs())
	return x
}

// TestTriggers: which trigger of which skill a prompt has. Words match as in full-text
// search, and only those that follow each other; of several triggers the one counts that says
// most.
func TestTriggers(t *testing.T) {
	t.Parallel()
	x := triggerCatalog(t, search.Options{})
	for prompt, want := range map[string]string{
		"sort my purchase invoice":                "ledger keyword \"purchase invoices\"",
		"PURCHASED: invoicing of last month":      "ledger keyword \"purchase invoices\"",
		"a purchase of the invoices":              "ledger keyword \"purchase invoices\"", // stop words do not count
		"purchase two invoices":                   "",
		"invoices of a purchase":                  "",
		"这张发票怎么报销":                                "ledger keyword \"发票\"",
		"reconciling both of them":                "ledger verb \"reconcile\"",
		"reconcile a purchase invoice":            "ledger keyword \"purchase invoices\"",
		"what is inv-2024 about":                  `ledger pattern "INV-\\d{4}"`,
		"what is inv-20 about":                    "",
		"the useState hooks of this file":         "slides keyword \"useState hook\"",
		"a deck with a pitch, made in Keynote":    `slides pattern "\\bkeynote\\b"`,
		strings.Repeat("so it is. ", 500) + "inv": "",
		"": "",
	} {
		var got []string
		for _, h := range searchtest.Ask(t, x, search.Query{Text: prompt, Limit: 50}).Hits {
			if h.Trigger != nil {
				got = append(got, h.ID+" "+h.Trigger.String())
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}

// TestTriggerValue: a trigger of one skill says more than one of three, a verb half of a
// keyword, and a word that all skills have nothing.
func TestTriggerValue(t *testing.T) {
	t.Parallel()
	x := triggerCatalog(t, search.Options{})
	value := func(id, prompt string) float64 {
		t.Helper()
		e, err := x.Why(t.Context(), id, search.Query{Text: prompt})
		must.Do(t, err)
		if e.Trigger == nil {
			return 0
		}
		if got := withTerm([]search.Hit{e.Hit}, "trigger"); e.Trigger.Value > 0 && len(got) == 0 {
			t.Errorf("%s, %q: %v has no trigger", id, prompt, e.Terms)
		}
		return e.Trigger.Value
	}
	one, shared, verb, common := value("slides", "the pitch deck"), value("grabby-a", "a weekly report"), value("ledger", "reconcile"), value("grabby-c", "some fruit")
	if one < .99 || shared > .8 || shared < .2 || verb < .45 || verb > .5 || common > .1 {
		t.Errorf("values %.2f of one skill, %.2f of three, %.2f of a verb, %.2f of a common word", one, shared, verb, common)
	}
}

// TestTriggersInScope: what an agent must not see changes nothing by its triggers.
func TestTriggersInScope(t *testing.T) {
	t.Parallel()
	x := triggerCatalog(t, search.Options{})
	a := &search.Agent{Name: "a", Exclude: search.Rules{Names: []string{"ledger"}}}
	const prompt = "inv-2024 is one of the purchase invoices"
	hits := searchtest.Ask(t, x, search.Query{Text: prompt, Limit: 50, Agent: a}).Hits
	if slices.ContainsFunc(hits, func(h search.Hit) bool { return h.ID == "ledger" || h.Trigger != nil }) {
		t.Errorf("hits %q", searchtest.IDs(hits))
	}
	// Why is for the owner, who sees what the text says.
	e, err := x.Why(t.Context(), "ledger", search.Query{Text: prompt, Agent: a})
	if err != nil || e.Filter == "" || e.Relevant {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestCertainTriggers: if the user says so, a trigger counts like a name, unless it is
// common or a verb.
func TestCertainTriggers(t *testing.T) {
	t.Parallel()
	evidence, certain := triggerCatalog(t, search.Options{}), triggerCatalog(t, search.Options{Policy: &search.Policy{Triggers: map[string]string{"a": "certain"}}})
	for prompt, want := range map[string]string{
		"look at this pitch deck again":  "slides",
		"say what inv-2024 is, for once": "ledger",
		"reconcile them, for once":       "",
		"show me some fruit, for once":   "",
		"write the weekly report":        "grabby-a grabby-b grabby-c",
		"undo":                           "",
	} {
		for _, x := range []*searchtest.Catalog{evidence, certain} {
			var exact []string
			for _, h := range searchtest.Ask(t, x, search.Query{Text: prompt}).Hits {
				if h.Probability == 1 && h.Relevant {
					exact = append(exact, h.ID)
				}
			}
			want := want
			if x == evidence {
				want = ""
			}
			if got := strings.Join(exact, " "); got != want {
				t.Errorf("%q: certain are %q, want %q", prompt, got, want)
			}
		}
	}
}

// TestPatternTime: the patterns of one prompt take bounded time; of each turn the cheapest are tried
// first, and Why says of the others that they were not.
func TestPatternTime(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := searchtest.Many(20)
	for i := range 16 {
		var patterns []string
		for k := range 16 {
			patterns = append(patterns, fmt.Sprintf(`(q{60}|w{60}|e{60}|r{60}|t{60}|z{60})%d%d$`, i, k))
		}
		s := triggered(fmt.Sprintf("greedy-%d", i), skill.Triggers{Patterns: patterns})
		src[s.Name] = s
	}
	src["modest"] = triggered("modest", skill.Triggers{Patterns: []string{"keynote"}})
	searchtest.Sync(t, x, "a", src.Refs())
	q := search.Query{Text: strings.Repeat("qwertz ", 600) + "keynote"}
	e, err := x.Why(t.Context(), "modest", q)
	if err != nil || e.Trigger == nil || len(e.Ignored) > 0 {
		t.Errorf("%+v, ignored %q, %v", e.Trigger, e.Ignored, err)
	}
	e, err = x.Why(t.Context(), "greedy-15", q)
	if err != nil || len(e.Ignored) == 0 || !strings.Contains(e.Ignored[0], "was not tried: other patterns") {
		t.Errorf("ignored %q, %v", e.Ignored, err)
	}
}

// TestManyClaims: a skill that claims everything gains less than one that claims what it is
// about.
func TestManyClaims(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := searchtest.Many(30)
	var everything []string
	for i := range 64 {
		everything = append(everything, fmt.Sprintf("matter%d", i))
	}
	everything[40] = "pitch deck"
	src["modest"], src["greedy"] = triggered("modest", skill.Triggers{Keywords: []string{"garden hose"}}), triggered("greedy", skill.Triggers{Keywords: everything})
	searchtest.Sync(t, x, "a", src.Refs())
	for prompt, want := range map[string]float64{"a garden hose": 1, "a pitch deck": .25} {
		h := searchtest.Ask(t, x, search.Query{Text: prompt}).Hits[0]
		if h.Trigger == nil || h.Trigger.Value < want-.01 || h.Trigger.Value > want+.01 {
			t.Errorf("%q: %s %+v, want a value of %g", prompt, h.ID, h.Trigger, want)
		}
	}
}

// TestPatternTurns: skills with many patterns do not take the time of those with one.
func TestPatternTurns(t *testing.T) {
	t.Parallel()
	x := searchtest.New(t, nil)
	src := searchtest.Many(30)
	for i := range 10 {
		name := fmt.Sprintf("hoarder-%d", i)
		var patterns []string
		for j := range 16 {
			patterns = append(patterns, fmt.Sprintf("q%d%d", i, j))
		}
		src[name] = triggered(name, skill.Triggers{Patterns: patterns})
	}
	src["ledger"] = triggered("ledger", skill.Triggers{Patterns: []string{`invoice-number-2\d{3}`}})
	searchtest.Sync(t, x, "a", src.Refs())
	e, err := x.Why(t.Context(), "ledger", search.Query{Text: "what is invoice-number-2024 about"})
	if err != nil || e.Trigger == nil || len(e.Ignored) > 0 {
		t.Errorf("%+v, ignored %q, %v", e.Trigger, e.Ignored, err)
	}
}

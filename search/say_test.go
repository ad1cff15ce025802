package search_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
)

// TestSayRanking: what is said of a prompt that gets no skill, and of its threshold.
func TestSayRanking(t *testing.T) {
	calibrated := search.Background{Disturb: .05, Prompts: 500, Higher: 9}
	for _, tt := range []struct {
		name                      string
		r                         search.Ranking
		quiet, promise, reference string
	}{
		{"below", search.Ranking{Demand: rank.Demand{Probability: .46}, Threshold: .6, Background: calibrated},
			"this prompt looks 46 % likely to need a skill; the threshold is 60 %",
			"about 5 % of the prompts that need no skill get one", "of 500 prompts that need no skill, 9 would score higher here"},
		{"close", search.Ranking{Demand: rank.Demand{Probability: .598}, Threshold: .6, Background: calibrated},
			"this prompt looks 59.8 % likely to need a skill; the threshold is 60.0 %",
			"about 5 % of the prompts that need no skill get one", "of 500 prompts that need no skill, 9 would score higher here"},
		{"above", search.Ranking{Demand: rank.Demand{Probability: .7}, Threshold: .6, Background: search.Background{Disturb: -1}}, "", "", ""},
		{"a kind", search.Ranking{Kind: "reply", Threshold: .6, Background: calibrated},
			"the prompt is a reply or a greeting", "about 5 % of the prompts that need no skill get one", ""},
		{"not calibrated", search.Ranking{Demand: rank.Demand{Probability: .7}, Threshold: .6, Background: search.Background{Disturb: .002, Missing: "the catalog changed"}},
			"", "about 0.2 % of the prompts that need no skill get one", "none, so that the threshold is an estimate: the catalog changed"},
	} {
		if got := tt.r.Quiet(); got != tt.quiet {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.quiet)
		}
		if got := tt.r.Background.Promise(); got != tt.promise {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.promise)
		}
		if got := tt.r.Reference(); got != tt.reference {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.reference)
		}
	}
}

package search_test

import (
	"testing"

	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
)

// TestSayRanking: what is said of a prompt that gets no skill, and of its threshold.
func TestSayRanking(t *testing.T) {
	calibrated := search.Background{Disturb: .05, Unfit: .25, Needless: search.Compared{Prompts: 500, Higher: 9}, Work: search.Compared{Prompts: 380, Higher: 40}}
	const promise = "of 100 prompts that need no skill at most 5 get an offer, and of 100 that none of your skills is for at most 25"
	for _, tt := range []struct {
		name                      string
		r                         search.Ranking
		quiet, promise, reference string
	}{
		{"below", search.Ranking{Demand: rank.Demand{Probability: .46}, Threshold: .6, Background: calibrated},
			"the best skill is 46 % likely what this prompt wants; the threshold is 60 %",
			promise, "of 500 prompts that need no skill, 9 would score higher here; of 380 that none of these skills is for, 40"},
		{"close", search.Ranking{Demand: rank.Demand{Probability: .598}, Threshold: .6, Background: calibrated},
			"the best skill is 59.8 % likely what this prompt wants; the threshold is 60.0 %",
			promise, "of 500 prompts that need no skill, 9 would score higher here; of 380 that none of these skills is for, 40"},
		{"above", search.Ranking{Demand: rank.Demand{Probability: .7}, Threshold: .6, Background: search.Background{Disturb: -1, Unfit: -1}}, "", "", ""},
		{"a kind", search.Ranking{Kind: "reply", Threshold: .6, Background: calibrated},
			"the prompt is a reply or a greeting", promise, ""},
		{"not calibrated", search.Ranking{Demand: rank.Demand{Probability: .7}, Threshold: .6, Background: search.Background{Disturb: .002, Unfit: .1, Missing: "the catalog changed"}},
			"", "of 100 prompts that need no skill at most 0.2 get an offer, and of 100 that none of your skills is for at most 10", "none, so that the threshold is an estimate: the catalog changed"},
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

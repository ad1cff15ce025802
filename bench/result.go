package bench

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/repertoire-skills/repertoire/internal/evals"
)

// A Result is a measurement of one or more data sets.
type Result struct {
	Mode Mode    `json:"mode"`
	Seed uint64  `json:"seed"`
	Sets []Set   `json:"sets"`
	Mean []Named `json:"mean"` // over the sets, whatever their size
	// Breakdown holds the means over the sets that have a part, if several have it.
	Breakdown []Part `json:"breakdown"`

	Unusable []evals.Unusable `json:"unusable,omitempty"` // files with evals
	Compared []Comparison     `json:"compared,omitempty"` // with an earlier result
}

// ReadResult reads the file of a result.
func ReadResult(name string) (*Result, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(r.Sets) == 0 {
		return nil, fmt.Errorf("%s is no result of bench --json", name)
	}
	return &r, nil
}

// A Named is an estimate with the name of its measure.
type Named struct {
	Name string `json:"name"` // one of measures
	Estimate
}

// A Set is the measurement of one data set.
type Set struct {
	Set         string         `json:"set"`
	Skills      int            `json:"skills"`
	Prompts     int            `json:"prompts"`     // number of prompts that need a skill
	Modes       map[string]int `json:"modes"`       // number of answers by mode, see search.Answer
	NearMisses  int            `json:"near_misses"` // number of prompts for which one skill would be noise
	Absent      int            `json:"absent"`      // number of prompts for which the set has no skill
	Metrics     []Named        `json:"metrics"`     // empty without prompts that need a skill
	Breakdown   []Part         `json:"breakdown"`
	Gate        Gate           `json:"gate"`
	Curve       []Point        `json:"curve"`                // empty without prompts that need no skill
	Distracted  *Distraction   `json:"distracted,omitempty"` // when there are distractors
	Latency     Latency        `json:"latency"`
	Calibration *Calibration   `json:"calibration,omitempty"` // when hits carry probabilities
	Queries     []PromptResult `json:"queries"`
	// Evals says how each prompt of FromEvals fares, see evals.Sort.
	Evals []evals.Outcome `json:"evals,omitempty"`
	Among *evals.Among    `json:"among,omitempty"` // of Evals
}

// A Part is the relevance over the prompts of one kind, language or style.
type Part struct {
	By      string   `json:"by"` // "kind", "lang" or "style"
	Of      string   `json:"of"` // which one; "" means prompts without one
	Prompts int      `json:"prompts"`
	Hit1    Estimate `json:"hit1"`
	Recall5 Estimate `json:"recall5"`
	NDCG10  Estimate `json:"ndcg10"`
	// Coverage5 is the coverage at the threshold that keeps a rate of 5 %; nil without
	// prompts that need no skill.
	Coverage5 *Estimate `json:"coverage5,omitempty"`
}

// A Gate says how well the block for a model leaves out skills that are not needed.
type Gate struct {
	None           int      `json:"none"`            // number of prompts that need no skill
	Threshold      float64  `json:"threshold"`       // that the blocks were made with
	FalseInjection Estimate `json:"false_injection"` // share of these prompts that got a skill
	Precision      Estimate `json:"precision"`       // share of wanted skills in a block, mean over the blocks of prompts that need one
	Tokens         float64  `json:"tokens"`          // tokens of a block, mean over all prompts but near misses
	AllTokens      int      `json:"all_tokens"`      // tokens of all names and descriptions
	Figures
}

// Latency is how long a search takes.
type Latency struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// A PromptResult is the result of one prompt.
type PromptResult struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind,omitempty"`
	Lang     string   `json:"lang,omitempty"`
	Style    string   `json:"style,omitempty"`
	Owner    string   `json:"owner,omitempty"` // of a near miss: ID of the skill that would be noise
	Wanted   int      `json:"wanted"`          // number of wanted skills; 0 means that the prompt needs none, or is a near miss
	Rank     int      `json:"rank"`            // rank of the first wanted skill; 0 means that none is among the first 50 hits
	Ranks    []int    `json:"ranks"`           // ranks of all wanted skills among the first 50 hits
	NDCG     float64  `json:"ndcg"`            // of the first 10 hits
	Injected int      `json:"injected"`        // number of skills in the block
	Fitting  int      `json:"fitting"`         // number of wanted skills in the block
	Tokens   int      `json:"tokens"`          // of the block
	Top      []string `json:"top"`             // IDs of the first 10 hits
	Demand   float64  `json:"demand"`          // probability that the prompt wants the best skill; 0 when its kind needs none
	Always   Listing  `json:"always"`          // the block if every prompt reached the threshold
	Certain  Listing  `json:"certain"`         // of it the skills that the prompt names for certain, listed at any threshold

	Distracted *DistractedRanks `json:"distracted,omitempty"` // when there are distractors
}

// relevance computes the relevance of the ranking from its ranks.
func (a *PromptResult) relevance() Relevance { return judge(a.Ranks, a.Wanted) }

package bench

// A Result is a measurement of one or more data sets.
type Result struct {
	Seed uint64  `json:"seed"`
	Sets []Set   `json:"sets"`
	Mean []Named `json:"mean"` // over the sets, each of which counts the same
}

// A Named is the estimate of one measure.
type Named struct {
	Name string `json:"name"` // one of Measures
	Estimate
}

// A Set is the measurement of one data set.
type Set struct {
	Set         string         `json:"set"`
	Skills      int            `json:"skills"`
	Prompts     int            `json:"prompts"` // that need a skill
	Modes       map[string]int `json:"modes"`   // answers by what they were based on
	Metrics     []Named        `json:"metrics"` // empty without prompts that need a skill
	Breakdown   []Part         `json:"breakdown"`
	Gate        Gate           `json:"gate"`
	Latency     Latency        `json:"latency"`
	Calibration *Calibration   `json:"calibration,omitempty"` // when hits carry probabilities
	Queries     []Answered     `json:"queries"`
}

// A Part is Hit@1 over the prompts of one kind or language.
type Part struct {
	By      string   `json:"by"` // "kind" or "lang"
	Of      string   `json:"of"` // which one, "" for prompts without
	Prompts int      `json:"prompts"`
	Hit1    Estimate `json:"hit1"`
}

// A Gate is how well the block for a model holds back what is not needed.
type Gate struct {
	None           int      `json:"none"`            // prompts that need no skill
	FalseInjection Estimate `json:"false_injection"` // share of these that got one
	Coverage       Estimate `json:"coverage"`        // share of the others that got a wanted one
	Precision      Estimate `json:"precision"`       // share of wanted skills in a block, mean over the blocks of the others
	Tokens         float64  `json:"tokens"`          // of a block, mean over all prompts
	AllTokens      int      `json:"all_tokens"`      // of all names and descriptions
}

// Latency is how long a search takes.
type Latency struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// An Answered is what came of one prompt.
type Answered struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind,omitempty"`
	Lang     string   `json:"lang,omitempty"`
	Wanted   int      `json:"wanted"`   // skills; 0 for a prompt that needs none
	Rank     int      `json:"rank"`     // of the first wanted skill, 0 when it is not among 50
	Ranks    []int    `json:"ranks"`    // of all wanted skills among 50
	NDCG     float64  `json:"ndcg"`     // of the first 10
	Injected int      `json:"injected"` // skills in the block
	Fitting  int      `json:"fitting"`  // of these, wanted ones
	Tokens   int      `json:"tokens"`   // of the block
	Top      []string `json:"top"`      // IDs of the first 10
}

// relevance is that of the ranking; it follows from what is kept of it.
func (a *Answered) relevance() Relevance { return Judge(a.Ranks, a.Wanted) }

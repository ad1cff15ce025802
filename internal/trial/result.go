package trial

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// most is how many of the nearest skills are told.
const most = 3

// A Result says what came of a trial.
type Result struct {
	Client  string   `json:"client"`            // the name of the client; "" means any
	SetUp   bool     `json:"set_up"`            // its hook is in its settings
	File    string   `json:"file,omitempty"`    // the settings with the hook
	Command []string `json:"command,omitempty"` // of the hook
	Gone    bool     `json:"gone,omitempty"`    // its program does not exist
	Prompt  string   `json:"prompt"`

	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text"`   // what the model is told; "" means nothing
	Tokens  int     `json:"tokens"` // of Text, estimated
	Skills  []Offer `json:"skills"`
	Omitted int     `json:"omitted"` // relevant skills for which there was no room

	TookMS     float64  `json:"took_ms"` // from the event to the answer
	DeadlineMS float64  `json:"deadline_ms"`
	Late       bool     `json:"late"`               // the client got nothing by then; the rest is of a second call with more time
	Problems   []string `json:"problems,omitempty"` // of the hook

	Mode string `json:"mode"` // this and the next as in search.Ranking
	search.Part
	Kind       string      `json:"kind,omitempty"`
	Demand     float64     `json:"demand"`
	Threshold  float64     `json:"threshold"`
	Disturb    *float64    `json:"disturb,omitempty"`
	Background *Background `json:"background,omitempty"`
	Nearest    []Near      `json:"nearest,omitempty"` // if no skill is offered
}

// A Trial is a result with what is said of it.
type Trial struct {
	Result
	hook    Hook
	ranking search.Ranking
}

// An Outcome is what came of a trial, in a word.
type Outcome string

// The outcomes.
const (
	Offered  Outcome = "offered"   // the model is told of skills
	Nothing  Outcome = "nothing"   // the prompt looks as if it needs none
	NotBuilt Outcome = "not built" // there is no complete index
	Failed   Outcome = "failed"    // see Problems
)

// An Offer is a skill that the model is told of.
type Offer struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Probability float64 `json:"probability"`
	Path        string  `json:"path"`
	Pinned      bool    `json:"pinned,omitempty"`
	RequiredBy  string  `json:"required_by,omitempty"` // ID of the skill because of which it is listed
}

// A Background says how the prompts that need no skill compare with this one.
type Background struct {
	Prompts int    `json:"prompts"`           // ranked in this catalog
	Higher  int    `json:"higher"`            // of them more likely to need a skill than this prompt
	Missing string `json:"missing,omitempty"` // why there are none
}

// A Near is a skill that is not offered, but near.
type Near struct {
	ID          string   `json:"id"`
	Probability float64  `json:"probability"`
	Missing     []string `json:"missing"` // words of the prompt that are nowhere in the skill
	// BodyOnly are words of the prompt that its instructions have, but neither its name
	// nor its description.
	BodyOnly []string `json:"body_only"`
}

func newTrial(o *Options) *Trial {
	r := &Trial{hook: o.Hook, Result: Result{Client: o.Hook.Client.Name, Prompt: o.Prompt, Outcome: Nothing, Skills: []Offer{}, DeadlineMS: milliseconds(o.Call.Deadline)}}
	if o.Hook.Any {
		r.Client = ""
	}
	if reg := o.Hook.Registered; reg != nil {
		r.SetUp, r.File, r.Command, r.Gone = true, reg.File, reg.Words, reg.Gone
	}
	return r
}

// OK reports whether the client gets what the hook says.
func (r *Trial) OK() bool {
	return !r.Late && !r.Gone && (r.Outcome == Offered || r.Outcome == Nothing)
}

// byServer is the Mode of what a server has answered.
const byServer = "by the server"

// tell takes over what an attempt did.
func (r *Trial) tell(a *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.TookMS = milliseconds(a.took)
	problems, failed := a.log.said()
	r.Problems = append(r.Problems, problems...)
	switch {
	case failed:
		r.Outcome = Failed
	case a.block == nil && a.server == nil:
		r.Outcome = NotBuilt
	}
	if a.block == nil {
		if a.server != nil {
			r.Mode, r.Kind = byServer, a.server.Because
		}
		return
	}
	b := a.block
	r.ranking, r.Omitted, r.Part = b.Ranking, b.Omitted, search.PartOf(b.Unread)
	r.Mode, r.Kind, r.Demand, r.Threshold = b.Mode, b.Kind, rounded(b.Demand.Probability), rounded(b.Threshold)
	r.Background = &Background{b.Background.Prompts, b.Background.Higher, b.Background.Missing}
	if share := b.Background.Disturb; share >= 0 {
		r.Disturb = &share
	}
}

// explain lists the skills that the model is told of, or else those that are nearest.
func (r *Trial) explain(ctx context.Context, a *attempt) error {
	r.Tokens = words.Tokens(r.Text)
	if a.server != nil && a.block == nil {
		if r.Text != "" {
			r.Outcome = Offered
		}
		for _, s := range a.server.Skills {
			r.Skills = append(r.Skills, Offer{ID: s.ID, Name: s.Name, Probability: rounded(s.Probability), Path: s.Location})
		}
		return nil
	}
	if r.Text != "" && a.block != nil {
		r.Outcome = Offered
		pinned, err := a.pinned(ctx)
		if err != nil {
			return err
		}
		for _, h := range a.block.Skills {
			r.Skills = append(r.Skills, Offer{h.ID, h.Name, rounded(h.Probability), h.Location, slices.Contains(pinned, h.ID), h.RequiredBy})
		}
	}
	if r.Outcome != Nothing || r.Kind != "" {
		return nil
	}
	var err error
	r.Nearest, err = a.nearest(ctx, r.Prompt)
	return err
}

// pinned returns the IDs of the skills that are pinned for the agent.
func (a *attempt) pinned(ctx context.Context) ([]string, error) {
	if a.agent == nil {
		return nil, nil
	}
	entries, err := a.catalog.Pinned(ctx, a.agent)
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids, err
}

// nearOf takes over what is said of a skill.
func nearOf(prompt string, e repertoire.Explanation) Near {
	head := slices.Concat(e.Matched.Name, e.Matched.Description, e.Matched.Tags)
	body := slices.DeleteFunc(slices.Clone(e.Matched.Body), func(term string) bool { return slices.Contains(head, term) })
	return Near{e.ID, rounded(e.Probability), spelled(prompt, e.Absent), spelled(prompt, body)}
}

func spelled(prompt string, terms []string) []string {
	return append([]string{}, words.Spelled(prompt, terms)...)
}

func milliseconds(d time.Duration) float64 {
	return rounded(float64(d) / float64(time.Millisecond))
}

// rounded keeps three decimals: more of them only show that machines differ.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/hook"
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
	Session string   `json:"session,omitempty"` // in which it was asked
	Follows bool     `json:"follows,omitempty"` // the skills are for it together with the prompt before it that was offered something

	Outcome Outcome `json:"outcome"`
	Text    string  `json:"text"`   // what the model is told; "" means nothing
	Tokens  int     `json:"tokens"` // of Text, estimated
	Skills  []Offer `json:"skills"`
	Omitted int     `json:"omitted"`  // relevant skills for which there was no room
	InScope int     `json:"in_scope"` // skills that were searched; a server does not tell

	TookMS     float64  `json:"took_ms"` // from the event to the answer
	DeadlineMS float64  `json:"deadline_ms"`
	Late       bool     `json:"late"`               // the client got nothing by then; the rest is of a second call with more time
	Problems   []string `json:"problems,omitempty"` // of the hook

	Mode string `json:"mode"` // this and the next as in search.Ranking
	search.Part
	Kind       string        `json:"kind,omitempty"`
	Demand     float64       `json:"demand"`
	Threshold  float64       `json:"threshold"`
	Disturb    *float64      `json:"disturb,omitempty"`
	Unfit      *float64      `json:"unfit_rate,omitempty"`
	Background *Background   `json:"background,omitempty"`
	Reading    []search.Read `json:"reading,omitempty"` // what words of another language were read as
	Nearest    []Near        `json:"nearest,omitempty"` // if no skill is offered
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

// A Background says how the prompts that should get no offer compare with this one.
type Background struct {
	search.Compared                 // those that need no skill
	Unfit           search.Compared `json:"unfit"`             // those that need one which is not in the catalog
	Missing         string          `json:"missing,omitempty"` // why there are none
}

// BackgroundOf returns what is known of the prompts that should get no offer.
func BackgroundOf(b *search.Background) Background {
	return Background{b.Needless, b.Work, b.Missing}
}

// A Near is a skill that is not offered, but near.
type Near struct {
	ID          string   `json:"id"`
	Probability float64  `json:"probability"`
	Missing     []string `json:"missing"` // words of the prompt that are nowhere in the skill
	// BodyOnly are words of the prompt that its instructions have, but neither its name
	// nor its description.
	BodyOnly []string `json:"body_only"`
	Known    bool     `json:"known,omitempty"` // it fits, and is left out because the session was offered it before
	Advice   []string `json:"advice"`          // words that its description needs if it should be offered
}

// byServer is the Mode of what a server has answered.
const byServer = "by the server"

// A report is what a hook that is tried says about its answer.
type report struct {
	Result
	Quiet     string // why the prompt looks as if it needs no skill; "" means that it does not
	Reference string // how the prompt compares with others
	Due       bool   // an index would calibrate the catalog
}

// reportMark begins the line of standard error with a report.
const reportMark = "report: "

// explained ends the value of Var if the report should say what the answer follows from.
const explained = " explained"

// An Open opens the catalog of the working folder, as the hook has done.
type Open func(context.Context) (hook.Catalog, *repertoire.Agent, error)

// Report writes what a hook that is tried with a value of Var has told, and why, for the trial.
// deadline is the hook's own.
func Report(ctx context.Context, w io.Writer, told hook.Result, value string, deadline time.Duration, open Open) error {
	r := report{Result: Result{TookMS: figures.Milliseconds(told.Took), DeadlineMS: figures.Milliseconds(deadline), Outcome: NotBuilt, Skills: []Offer{}}}
	switch b := told.Block; {
	case b != nil:
		r.addBlock(b)
	case told.Server != nil:
		r.Outcome, r.Mode, r.Kind, r.Follows = Nothing, byServer, told.Server.Because, told.Server.Follows
		for _, s := range told.Server.Skills {
			r.Skills = append(r.Skills, Offer{ID: s.ID, Name: s.Name, Probability: figures.Rounded(s.Probability), Path: s.Location})
		}
	}
	var err error
	if told.Block != nil && strings.HasSuffix(value, explained) {
		err = r.explain(ctx, told.Prompt, open)
	}
	data, marshal := json.Marshal(r)
	_, write := fmt.Fprintf(w, "%s%s\n", reportMark, data)
	return errors.Join(err, marshal, write)
}

// addBlock adds what a block follows from.
func (r *report) addBlock(b *repertoire.Block) {
	r.Follows = b.Follows
	r.Outcome, r.Omitted, r.InScope, r.Part = Nothing, b.Omitted, b.Ranking.Skills, search.PartOf(b.Unread)
	r.Mode, r.Kind, r.Demand, r.Threshold = b.Mode, b.Kind, figures.Rounded(b.Demand.Probability), figures.Rounded(b.Threshold)
	background := BackgroundOf(&b.Background)
	r.Background = &background
	if b := b.Background; b.Disturb >= 0 {
		r.Disturb, r.Unfit = &b.Disturb, &b.Unfit
	}
	r.Reading = b.Readings
	r.Quiet, r.Reference, r.Due = b.Quiet(), b.Reference(), b.Background.Due
	if promise := b.Background.Promise(); r.Quiet != "" && promise != "" && r.Kind == "" {
		r.Quiet += ", so that " + promise
	}
	for _, h := range b.Skills {
		r.Skills = append(r.Skills, Offer{ID: h.ID, Name: h.Name, Probability: figures.Rounded(h.Probability), Path: h.Location, RequiredBy: h.RequiredBy})
	}
}

// asked is the part of *repertoire.Catalog that says why.
type asked interface {
	Search(ctx context.Context, q repertoire.Query) (repertoire.Answer, error)
	Why(ctx context.Context, id string, q repertoire.Query) (repertoire.Explanation, error)
}

// explain says which of the offered skills are pinned, or else which skills are nearest.
func (r *report) explain(ctx context.Context, prompt string, open Open) error {
	c, agent, err := open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if agent != nil {
		pinned, err := c.Pinned(ctx, agent)
		if err != nil {
			return err
		}
		for i := range r.Skills {
			r.Skills[i].Pinned = slices.ContainsFunc(pinned, func(e repertoire.Entry) bool { return e.ID == r.Skills[i].ID })
		}
	}
	a, ok := c.(asked)
	if !ok || r.Kind != "" || len(r.Skills) > 0 {
		return nil
	}
	q := repertoire.Query{Text: prompt, Limit: most, Agent: agent, Person: true}
	answer, err := a.Search(ctx, q)
	if err != nil {
		return fmt.Errorf("looking for the nearest skills: %w", err)
	}
	for _, h := range answer.Hits {
		why, err := a.Why(ctx, h.ID, q)
		if err != nil {
			return fmt.Errorf("asking about %s: %w", h.ID, err)
		}
		r.Nearest = append(r.Nearest, nearOf(prompt, why))
	}
	return nil
}

// nearOf takes over what is said of a skill.
func nearOf(prompt string, e repertoire.Explanation) Near {
	spelled := func(terms []string) []string { return append([]string{}, e.Ranking.Spelled(prompt, terms)...) }
	return Near{e.ID, figures.Rounded(e.Probability), spelled(e.Absent), spelled(e.BodyOnly()), e.Relevant, append([]string{}, e.Advice()...)}
}

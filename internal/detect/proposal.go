package detect

import (
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/setup"
)

// A Proposal is what came of a look for servers: what was found, the model that was timed, and
// what the configuration should say.
type Proposal struct {
	Servers []Server `json:"servers"`
	Chosen  *Chosen  `json:"chosen,omitempty"`
	File    string   `json:"file,omitempty"`
	Lines   string   `json:"lines,omitempty"`
	Diff    string   `json:"diff,omitempty"` // "" means that the file says so already
	Backup  string   `json:"backup,omitempty"`
	Written bool     `json:"written"`
	Refused string   `json:"-"` // why the file cannot be changed; "" means that it can

	env  *setup.Env
	plan *setup.Plan
}

// Chosen is the model that was timed and is proposed.
type Chosen struct {
	Address   string  `json:"address"`
	Model     string  `json:"model"`
	Dimension int     `json:"dimension"`
	InUse     bool    `json:"in_use"`
	FirstMS   float64 `json:"first_ms"`
	PromptMS  float64 `json:"prompt_ms"`
	BatchMS   float64 `json:"batch_ms"`
	Batch     int     `json:"batch"`
	Missing   int     `json:"missing"` // texts without a vector of it
	Seconds   float64 `json:"estimate_s"`
}

// Choose sets the model that is proposed.
func (p *Proposal) Choose(c Choice, t Timing, missing int) {
	p.Chosen = &Chosen{
		Address: c.Address, Model: c.Name, Dimension: t.Dim, InUse: c.InUse, Batch: t.Size, Missing: missing,
		FirstMS: figures.Milliseconds(t.First), PromptMS: figures.Milliseconds(t.Prompt), BatchMS: figures.Milliseconds(t.Batch),
		Seconds: figures.Rounded(t.Estimate(missing).Seconds()),
	}
}

// Plan sets how a configuration file will name a model. With given, somebody named the file.
func (p *Proposal) Plan(env *setup.Env, file string, given bool, c Choice) error {
	plan, err := setup.NewEmbedderPlan(env, file, given, c.Config())
	if err != nil {
		return err
	}
	change := plan.Changes[0]
	p.env, p.plan, p.File, p.Lines = env, plan, change.File, change.Snippet
	if change.Action == setup.Refused {
		p.Refused = change.Message
	} else if len(plan.Edits) > 0 {
		p.Diff = plan.Edits[0].Diff()
	}
	return nil
}

// Write writes the file, and keeps a backup if there was one.
func (p *Proposal) Write() error {
	if err := p.plan.Apply(p.env); err != nil {
		return err
	}
	p.Written = true
	if edit := p.plan.Edits[0]; edit.Existed {
		p.Backup = setup.BackupFile(p.env.State, edit.File)
	}
	return nil
}

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/internal/steps"
)

// A Trace is where the time of a hook goes, from the start of its process to the end.
type Trace struct {
	Prompt string      `json:"prompt"` // "short" or "long"
	Bytes  int         `json:"bytes"`  // of the prompt
	MS     float64     `json:"ms"`     // median
	Steps  []TraceStep `json:"steps"`
}

// A TraceStep is a part of that time.
type TraceStep struct {
	Name  string  `json:"name"`
	MS    float64 `json:"ms"`    // median
	Share float64 `json:"share"` // of the sum of all steps
}

// traces measures hooks for a short and a long prompt. It needs a program.
func (m *meter) traces(ctx context.Context) (out []Trace, err error) {
	for _, t := range []struct{ name, prompt string }{{"short", "merge these two PDFs"}, {"long", longPrompt(m.prompts)}} {
		took := make(map[string][]float64)
		var names []string
		var whole []float64
		for r := range 4*m.rounds + 1 {
			all, err := m.trace(ctx, fmt.Sprint(t.name, r), t.prompt)
			if err != nil {
				return nil, err
			}
			if r == 0 { // it brings the files into memory
				continue
			}
			for i, step := range all[1:] {
				if took[step.Name] == nil {
					names = append(names, step.Name)
				}
				took[step.Name] = append(took[step.Name], milliseconds(step.End.Sub(all[i].End)))
			}
			whole = append(whole, milliseconds(all[len(all)-1].End.Sub(all[0].End)))
		}
		trace, sum := Trace{Prompt: t.name, Bytes: len(t.prompt), MS: median(whole)}, 0.0
		for _, name := range names {
			step := TraceStep{Name: name, MS: median(took[name])}
			trace.Steps, sum = append(trace.Steps, step), sum+step.MS
		}
		for i := range trace.Steps {
			trace.Steps[i].Share = trace.Steps[i].MS / sum
		}
		out = append(out, trace)
	}
	return out, nil
}

// trace runs one hook and returns its steps, with the start of the process as the first one.
func (m *meter) trace(ctx context.Context, session, prompt string) ([]steps.Step, error) {
	event, err := json.Marshal(map[string]string{"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": prompt, "cwd": m.dir})
	if err != nil {
		return nil, err
	}
	flags, variable, err := m.asking(leg{Encoder: m.Encoder})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(m.dir, "steps.json")
	cmd := m.command(ctx, append(flags, "hook", "claude"), variable, steps.Var+"="+file, "REPERTOIRE_STATE="+filepath.Join(m.dir, "state"))
	cmd.Stdin = bytes.NewReader(event)
	start := steps.Step{Name: "exec", End: time.Now()}
	if _, err := output(cmd); err != nil {
		return nil, err
	}
	end := steps.Step{Name: "exit", End: time.Now()}
	all, err := steps.Read(file)
	if err != nil {
		return nil, err
	}
	return append(append([]steps.Step{start}, all...), end), nil
}

// longPrompt returns the first prompt that is long and that an encoder for English reads.
func longPrompt(prompts []string) string {
	for _, p := range prompts {
		if len(p) > 400 && strings.IndexFunc(p, func(r rune) bool { return r > 127 }) < 0 {
			return p
		}
	}
	return prompts[len(prompts)-1]
}

package web

import (
	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/usage"
)

// A findPage shows where files say something.
type findPage struct {
	contextprovider.Passages
	ID    string // of the skill; "" means those that fit the question best
	Query string
}

// getFind searches the files of a skill, or of several, as they are now. The question comes by
// POST, as prompts do.
func (hs *handlers) getFind(v *visit) (answer, error) {
	p := &findPage{ID: v.FormValue("id"), Query: v.PostFormValue("q")}
	if p.ID != "" {
		e, err := hs.catalog.Lookup(v.Context(), p.ID, v.seeing())
		if err != nil {
			return answer{}, err
		}
		p.ID = e.ID
	}
	if p.Query == "" {
		return answer{data: p}, nil
	}
	scope := v.scope
	if p.ID != "" {
		scope = v.seeing()
	}
	var err error
	if p.Passages, err = hs.catalog.FindText(v.Context(), contextprovider.TextQuery{Skill: p.ID, Text: p.Query, Person: true}, scope); err != nil {
		return answer{}, err
	}
	for i := range p.Skipped {
		if k := &p.Skipped[i]; k.Err != nil {
			k.Reason = v.message(k.Err)
		}
	}
	e := usage.Event{Kind: usage.Searched, Call: "/ui/find", Prompt: p.Query}
	shown := make(map[string]bool)
	for _, found := range p.Passages.Passages {
		if !shown[found.ID] {
			shown[found.ID] = true
			e.Skills = append(e.Skills, usage.Named(found.ID)...)
		}
	}
	hs.observe(v, e)
	return answer{data: p}, nil
}

package search

import (
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/store"
)

// A Lesson is what the use of a skill in one scope has taught, see Options.Learned.
type Lesson struct {
	ID       string
	Location string   // "" means unknown; a skill elsewhere is another one
	Examples [][]byte // vectors of prompts by the encoder, as store.PackVector packs them
	Sink     float64  // how certainly it is offered in vain, 0 to 1
}

// lessonsOf returns what was learned in the scope of an agent, where the encoder ranks. A trial does
// not depend on who has used what.
func (x *ranker) lessonsOf(r *retrieval, a *Agent) []Lesson {
	encoder := x.encoderOf(r.view.Set)
	if encoder == nil || x.opts.Learned == nil || r.trial {
		return nil
	}
	name := ""
	if a != nil {
		name = a.Name
	}
	return x.opts.Learned(name, encoder.Model())
}

// applyLessons finds the skills that have a learned example near to the prompt, which counts like one
// of the author's, and those that are offered in vain.
func (r *retrieval) applyLessons() {
	if len(r.lessons) == 0 {
		return
	}
	r.learned, r.sunk = make(map[int]bool), make(map[int]float64)
	prompt := store.PackVector(r.Vector)
	for _, l := range r.lessons {
		cosine := 0.0
		for _, e := range l.Examples {
			cosine = max(cosine, store.DotPacked(e, prompt))
		}
		if cosine <= rank.ExampleFloor && l.Sink == 0 {
			continue
		}
		i, ok := find(r.view, l.ID)
		if !ok || l.Location != "" && l.Location != r.view.Doc(i).Location {
			continue
		}
		if cosine > max(rank.ExampleFloor, r.examples[i]) {
			r.examples[i], r.learned[i] = cosine, true
		}
		r.sunk[i] = l.Sink
	}
}

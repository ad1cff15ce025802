package main

import (
	"math/rand/v2"
	"regexp"
)

// encodedSkill is a skill whose texts are rows of the weights.
type encodedSkill struct {
	group       int // the same number for copies of a skill
	name        []int32
	description []int32
	body        []int32
	sentences   [][]int32 // sentences of the description
	phrases     [][]int32 // texts that resemble prompts, see phrases
	prompts     [][]int32 // prompts that were written for it
}

var sentenceEnd = regexp.MustCompile(`[.;!?。；！？]\s*|\n`)

func encodeSkills(skills []rawSkill, v *vocabulary, buckets int) []encodedSkill {
	groups := groupsOf(skills)
	list := make([]encodedSkill, len(skills))
	parallel(len(skills), func(i int) {
		s := skills[i]
		e := encodedSkill{
			group: groups[i], name: v.encode(s.Name, buckets),
			description: v.encode(s.Description, buckets), body: v.encode(s.Body, buckets),
		}
		for _, text := range sentenceEnd.Split(s.Description, -1) {
			if rows := v.encode(text, buckets); len(rows) >= 4 {
				e.sentences = append(e.sentences, rows)
			}
		}
		for _, text := range phrases(s) {
			if rows := v.encode(text, buckets); len(rows) >= 2 {
				e.phrases = append(e.phrases, rows)
			}
		}
		for _, text := range s.prompts {
			e.prompts = append(e.prompts, v.encode(text, buckets))
		}
		list[i] = e
	})
	return list
}

// groupsOf gives all copies of a skill the same number. Copies have the same name or
// the same start of the description. Training must not treat a copy as a wrong answer.
func groupsOf(skills []rawSkill) []int {
	const start = 80
	seen := make(map[string]int)
	groups := make([]int, len(skills))
	for i, s := range skills {
		keys := []string{"n" + s.Name, "d" + s.Description[:min(start, len(s.Description))]}
		groups[i] = i
		for _, key := range keys {
			if g, ok := seen[key]; ok {
				groups[i] = g
				break
			}
		}
		for _, key := range keys {
			if _, ok := seen[key]; !ok {
				seen[key] = groups[i]
			}
		}
	}
	return groups
}

// A pair is two texts of one skill.
type pair struct {
	group int
	a, b  []int32
}

// sampler draws pairs. It draws every skill once before it draws any skill again.
type sampler struct {
	o        options
	rng      *rand.Rand
	skills   []encodedSkill
	parallel [][][]int32 // phrases in several languages
	order    []int
	next     int
}

func newSampler(o options, skills []encodedSkill, parallel [][][]int32) *sampler {
	s := &sampler{o: o, rng: rand.New(rand.NewPCG(o.Seed, 2)), parallel: parallel}
	for _, e := range skills {
		if len(e.description) >= 4 && len(e.body) >= 20 {
			s.skills = append(s.skills, e)
		}
	}
	s.order = s.rng.Perm(len(s.skills))
	return s
}

// usable returns how many skills have enough text.
func (s *sampler) usable() int { return len(s.skills) }

func (s *sampler) batch(n int) []pair {
	pairs := make([]pair, n)
	for i := range pairs {
		if len(s.parallel) > 0 && s.rng.Float64() < s.o.ParallelShare {
			pairs[i] = s.translation()
		} else {
			pairs[i] = s.pair()
		}
	}
	return pairs
}

// translation returns a phrase in two languages.
func (s *sampler) translation() pair {
	i := s.rng.IntN(len(s.parallel))
	phrase := s.parallel[i]
	a := s.rng.IntN(len(phrase))
	b := (a + 1 + s.rng.IntN(len(phrase)-1)) % len(phrase)
	return pair{group: -1 - i, a: phrase[a], b: phrase[b]} // no skill has such a group
}

// pair cuts two texts from the next skill. These kinds of pairs and their shares
// measured best, see embed/static/MODEL.md.
func (s *sampler) pair() pair {
	if s.next == len(s.order) {
		s.rng.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
		s.next = 0
	}
	e := &s.skills[s.order[s.next]]
	s.next++
	p := pair{group: e.group}
	if len(e.prompts) > 0 && s.rng.Float64() < s.o.PromptShare {
		p.a, p.b = s.dropped(e.prompts[s.rng.IntN(len(e.prompts))]), s.asked(e)
		return p
	}
	switch kind := s.rng.IntN(11); {
	case kind < 2: // description and a part of the body
		p.a = e.description
		if s.rng.IntN(2) == 0 {
			p.a = join(e.name, e.description)
		}
		p.b = s.span(e.body, 60, 160)
	case kind < 4: // a short part of the body and a whole skill
		p.a, p.b = s.span(e.body, 5, 25), s.whole(e)
	case kind < 6: // a part of name and description, and a part of the body
		p.a, p.b = s.span(join(e.name, e.description), 4, 20), s.span(e.body, 60, 160)
	case kind < 9: // words of a user, and a whole skill or its name and description
		p.a, p.b = s.phrase(e), s.asked(e)
	default: // one sentence of the description, and all other sentences
		p.a, p.b = s.sentence(e)
	}
	return p
}

func (s *sampler) whole(e *encodedSkill) []int32 {
	return join(e.name, e.description, s.span(e.body, 60, 160))
}

// asked returns what a prompt is compared with: a whole skill, or its name and description.
func (s *sampler) asked(e *encodedSkill) []int32 {
	if s.rng.IntN(2) == 0 {
		return join(e.name, s.span(e.description, 15, 60))
	}
	return s.whole(e)
}

// dropped returns a text without some of its words, at least one stays: so names and
// numbers that a prompt has invented are not learned by heart.
func (s *sampler) dropped(x []int32) []int32 {
	if s.o.Drop == 0 || len(x) < 4 {
		return x
	}
	out := make([]int32, 0, len(x))
	for _, row := range x {
		if s.rng.Float64() >= s.o.Drop {
			out = append(out, row)
		}
	}
	if len(out) == 0 {
		return x
	}
	return out
}

func (s *sampler) phrase(e *encodedSkill) []int32 {
	if len(e.phrases) == 0 {
		return s.span(e.description, 4, 12)
	}
	return e.phrases[s.rng.IntN(len(e.phrases))]
}

func (s *sampler) sentence(e *encodedSkill) (one, others []int32) {
	if len(e.sentences) < 2 {
		return s.span(e.description, 4, 12), s.whole(e)
	}
	chosen := s.rng.IntN(len(e.sentences))
	others = e.name
	for i, rows := range e.sentences {
		if i != chosen {
			others = join(others, rows)
		}
	}
	if s.rng.IntN(2) == 0 {
		others = join(others, s.span(e.body, 60, 160))
	}
	return e.sentences[chosen], others
}

// span returns a part of x with a random length and position.
func (s *sampler) span(x []int32, least, most int) []int32 {
	n := least + s.rng.IntN(most-least+1)
	if len(x) <= n {
		return x
	}
	at := s.rng.IntN(len(x) - n + 1)
	return x[at : at+n]
}

func join(parts ...[]int32) []int32 {
	var out []int32
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

package search

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

const (
	// maxTriggerTerms is how many terms of a prompt are compared with phrases: the first
	// half and the last half.
	maxTriggerTerms = 1024
	// maxPatternText is how many bytes of a prompt are compared with patterns.
	maxPatternText = 2 << 10
	// maxPatternSteps bounds the work of all patterns: instructions times bytes. The worst
	// patterns take about 10 ns for each, so they add some 10 ms at most.
	maxPatternSteps = 1 << 20
	// maxPatternsTried is how many patterns are tried, because each must be compiled once.
	maxPatternsTried = 128

	// manyPhrases is how many phrases a skill may claim without doubt. The claims of a
	// skill that has more count less: whoever claims everything says nothing.
	manyPhrases = 16
	// patternValue is the value of a pattern. Nobody knows how rare its matches are.
	patternValue = .5
	// verbShare is the share of its value that a verb has at the end of a prompt: without an
	// object, what is to be done fits many skills.
	verbShare = .5
	// trustedTrigger is how many times more a trigger of a skill of the user's own says, unless
	// prompts that need no skill have it: a verb with its object alone makes a skill likely.
	trustedTrigger = 8
	// mostCalm is how many of the prompts that need no skill may have a trigger that makes a
	// skill certain.
	mostCalm = 1
	// leastValue is the value from which a trigger makes a skill a candidate.
	leastValue = .1
	// certainValue is the least value of a trigger that makes a skill certain, see
	// Policy.Triggers.
	certainValue = .5
)

// A Trigger is what a skill claims that prompts for it contain, and a prompt does contain.
type Trigger struct {
	Kind  string  `json:"kind"`  // "keyword", "verb" or "pattern"
	Text  string  `json:"text"`  // as its author wrote it
	Value float64 `json:"value"` // how much it says, 0 to 1: little if it is common
}

// String returns the kind and the text.
func (t *Trigger) String() string { return fmt.Sprintf("%s %q", t.Kind, t.Text) }

// A trigger is the best match of a skill's triggers.
type trigger struct {
	list    int // in skill.Triggers.Lists
	index   int // in the list
	value   float64
	phrase  []string // its terms; nil for a pattern
	pattern *pattern // nil for a phrase
}

// triggers holds what the triggers of skills say about one prompt.
type triggers struct {
	best    map[int]trigger // by skill; only skills of the scope
	untried []snapshot.Pattern
}

// matchTriggers compares the prompt with the triggers of the skills in the scope that are not off. The value
// of a phrase depends on the whole catalog, as BM25 does.
func (r *retrieval) matchTriggers(off snapshot.Skills) {
	r.matchPatterns(off)
	r.matchPhrases(r.prompt, off)
	if r.prompt.asTyped != nil {
		r.matchPhrases(r.prompt.asTyped, off)
	}
}

// matchPhrases compares a prompt with the phrases of the skills in the scope that are not off.
func (r *retrieval) matchPhrases(p *prompt, off snapshot.Skills) {
	claims := r.view.Retriever().Claims(ends(p.sequence, maxTriggerTerms))
	if len(claims) == 0 {
		return
	}
	owners := make(map[[2]int]int) // of a phrase, by its place in the prompt
	for _, c := range claims {
		owners[[2]int{c.Start, c.Terms}]++
	}
	for _, c := range claims {
		if !r.view.Scope.In.Has(c.Doc) || off.Has(c.Doc) {
			continue
		}
		terms := ends(p.sequence, maxTriggerTerms)
		t := trigger{index: c.Index, value: p.phraseValue(&c, owners[[2]int{c.Start, c.Terms}]), phrase: terms[c.Start : c.Start+c.Terms]}
		if c.Verb {
			t.list = 1
			if c.Start+c.Terms == len(terms) { // nothing follows it
				t.value *= verbShare
			}
		}
		r.triggers.note(c.Doc, t)
	}
}

// note keeps the best trigger of a skill; of several that are as good, the first.
func (t *triggers) note(i int, found trigger) {
	if t.best == nil {
		t.best = make(map[int]trigger)
	}
	old, ok := t.best[i]
	if !ok || cmp.Or(cmp.Compare(old.value, found.value), cmp.Compare(found.list, old.list), cmp.Compare(found.index, old.index)) < 0 {
		t.best[i] = found
	}
}

// certain reports whether the trigger of a skill can make it certain: it is no verb, and common
// neither in the catalog nor in prompts that need no skill.
func (t *triggers) certain(i int) bool {
	found, ok := t.best[i]
	return ok && found.value >= certainValue && found.list != 1 && !found.calm()
}

// calm reports whether several of the prompts that need no skill have the trigger.
func (t *trigger) calm() bool {
	if t.pattern != nil {
		return t.pattern.calm()
	}
	n := 0
	for _, prompt := range calmTerms() {
		if contains(prompt, t.phrase) {
			if n++; n > mostCalm {
				return true
			}
		}
	}
	return false
}

// calmTerms returns the terms of the prompts that need no skill.
var calmTerms = sync.OnceValue(func() [][]string {
	prompts, err := backgroundPrompts()
	if err != nil {
		return nil // TestBackground reads them all
	}
	list := make([][]string, len(prompts))
	for i, p := range prompts {
		list[i] = words.Terms(p)
	}
	return list
})

// contains reports whether the terms of a phrase follow each other in a list.
func contains(list, phrase []string) bool {
	for i := 0; i+len(phrase) <= len(list); i++ {
		if slices.Equal(list[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}

// strongest returns the n skills with the most valuable triggers, without those that say
// hardly anything.
func (t *triggers) strongest(n int) []int {
	var list []int
	for i, found := range t.best { // in no order; sorted below
		if found.value >= leastValue {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(i, j int) int { return cmp.Or(cmp.Compare(t.best[j].value, t.best[i].value), cmp.Compare(i, j)) })
	return list[:min(n, len(list))]
}

// ends returns the first and the last terms of a list, at most n.
func ends(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return slices.Concat(list[:n/2], list[len(list)-n/2:])
}

// phraseValue returns how much it says that the prompt has a phrase which so many skills
// claim, 0 to 1: nothing, if its words are common in the catalog or many skills claim it. Of
// a skill with many phrases, each says less.
func (p *prompt) phraseValue(c *snapshot.Claim, owners int) float64 {
	terms := ends(p.sequence, maxTriggerTerms)[c.Start : c.Start+c.Terms]
	rarity := 0.0
	for _, t := range terms {
		rarity += p.weight(t)
	}
	breadth := min(1, manyPhrases/float64(max(1, c.Phrases)))
	return min(1, rarity/p.rarest) * p.exclusive(owners) * breadth
}

// exclusive returns how much a trigger says that so many skills have: 1 if it is one, and 0
// from half of the catalog on.
func (p *prompt) exclusive(owners int) float64 {
	return min(1, snapshot.InverseFrequency(owners, max(p.skills, fewSkills))/p.rarest)
}

// weight returns the weight of a term of the prompt; 0 for one that was not weighed.
func (p *prompt) weight(t string) float64 {
	i := slices.Index(p.unique, t)
	if i < 0 || i >= len(p.docs) {
		return 0
	}
	return snapshot.InverseFrequency(max(p.docs[i], 1), max(p.skills, fewSkills))
}

// A pattern is a trigger pattern of one or more skills.
type pattern struct {
	cost    int
	compile func() *regexp.Regexp // when it is first tried; returns nil for a malformed pattern
	calm    func() bool           // whether several of the prompts that need no skill match
	owners  []snapshot.Pattern
}

// patternsOf returns the patterns of a catalog: the first of each skill, then the second, and
// so on, and of these the cheapest first. So no skill takes the time of the others by having
// many.
func patternsOf(v *snapshot.View) []*pattern {
	type key struct{}
	list, _ := remember(v.Set, 1, key{}, func() ([]*pattern, error) { // after an error the view is of no use
		var list []*pattern
		for _, p := range v.Retriever().Patterns() {
			if n := len(list); n > 0 && list[n-1].owners[0].Text == p.Text {
				list[n-1].owners = append(list[n-1].owners, p)
				continue
			}
			compile := sync.OnceValue(func() *regexp.Regexp {
				re, _ := skill.CompilePattern(p.Text)
				return re
			})
			list = append(list, &pattern{p.Cost, compile, sync.OnceValue(func() bool { return matchesCalm(compile(), p.Cost) }), []snapshot.Pattern{p}})
		}
		turn := func(p *pattern) int {
			return slices.MinFunc(p.owners, func(a, b snapshot.Pattern) int { return cmp.Compare(a.Index, b.Index) }).Index
		}
		slices.SortStableFunc(list, func(a, b *pattern) int { return cmp.Compare(turn(a), turn(b)) })
		return list, v.Err()
	})
	return list
}

// matchesCalm reports whether several of the prompts that need no skill match a pattern, or
// may: to find out takes too long.
func matchesCalm(re *regexp.Regexp, cost int) bool {
	prompts, err := backgroundPrompts()
	if err != nil || re == nil || cost*len(background) > 4*maxPatternSteps {
		return true
	}
	n := 0
	for _, p := range prompts {
		if re.MatchString(p) {
			n++
		}
	}
	return n > mostCalm
}

// matchPatterns tries the patterns of the skills in the scope that have room in the time for
// all.
func (r *retrieval) matchPatterns(off snapshot.Skills) {
	list := patternsOf(r.view)
	if len(list) == 0 {
		return
	}
	text := tidy.CutMiddle(r.prompt.text, maxPatternText)
	english := "" // if it is another text
	if r.prompt.english != r.prompt.text {
		english = tidy.CutMiddle(r.prompt.english, maxPatternText)
	}
	tried, steps := 0, 0
	for _, p := range list {
		owners := slices.DeleteFunc(slices.Clone(p.owners), func(o snapshot.Pattern) bool { return !r.view.Scope.In.Has(o.Doc) || off.Has(o.Doc) })
		if len(owners) == 0 {
			continue
		}
		if tried == maxPatternsTried || steps+p.cost*(len(text)+len(english)) > maxPatternSteps {
			r.triggers.untried = append(r.triggers.untried, owners...)
			continue
		}
		tried, steps = tried+1, steps+p.cost*(len(text)+len(english))
		if re := p.compile(); re != nil && (re.MatchString(text) || english != "" && re.MatchString(english)) {
			for _, o := range owners {
				r.triggers.note(o.Doc, trigger{list: 2, index: o.Index, value: patternValue * r.prompt.exclusive(len(p.owners)), pattern: p})
			}
		}
	}
}

// triggerOf returns the best trigger of a skill as its author wrote it; nil for none.
func (r *retrieval) triggerOf(i int, all *skill.Triggers) *Trigger {
	t, ok := r.triggers.best[i]
	lists := all.Lists()
	if !ok || t.index >= len(*lists[t.list]) {
		return nil
	}
	return &Trigger{Kind: [...]string{"keyword", "verb", "pattern"}[t.list], Text: (*lists[t.list])[t.index], Value: t.value}
}

// ignoredPatterns says which patterns of skill i were not tried, and why.
func (r *retrieval) ignoredPatterns(i int) (list []string) {
	for _, p := range r.triggers.untried {
		if p.Doc == i {
			list = append(list, fmt.Sprintf("trigger pattern %q was not tried: other patterns of the catalog took the time that one prompt may take", p.Text))
		}
	}
	return list
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// depth is how many hits of a search a sample keeps. The fit of the spread compares
// the wanted hits with the others among them.
const depth = 20

// A group holds the samples of one catalog.
type group struct {
	name    string
	samples []sample
}

// A sample is the result of the search for one prompt.
type sample struct {
	class string
	text  string
	// usable is false if a gate judges the prompt without weights: it names a
	// skill, is of a kind that wants no skill, or finds nothing.
	usable bool
	x      features
	hits   []hit // best first
}

// The classes of samples.
const (
	isThere    = "there"    // needs a skill of the catalog
	isAbsent   = "absent"   // needs one that is not there
	isNeedless = "needless" // needs none
)

type hit struct {
	score         float64
	wanted, named bool
}

// right reports whether the best hit is wanted.
func (s *sample) right() bool { return len(s.hits) > 0 && s.hits[0].wanted }

// input is the contents of the files that the options name.
type input struct {
	sets     []*bench.Dataset
	corpus   []*skill.Skill
	skills   []*skill.Skill // of the corpus, without those that have prompts
	gate     []owned
	frequent map[string]int // in how many descriptions of skills a word is, see knows
	check    []owned
	calm     []string // prompts that need no skill and are fitted to
	measured []string // those that measure
	prompts  []string // that ask for a task
	near     []string // near misses of these
	embedder *static.Embedder
	encoder  *memory // nil means none
}

// owned are the prompts of a skill.
type owned struct {
	skill   *skill.Skill
	prompts []string
}

func readInput(o options) (*input, error) {
	in := new(input)
	var err error
	if len(o.datasets) > 0 {
		if in.sets, err = bench.ReadAll(o.datasets, ""); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(in.readPrompts(o), in.readSkills(o)); err != nil {
		return nil, err
	}
	none, err := bench.ReadNone(o.none)
	if err != nil {
		return nil, err
	}
	for _, q := range none {
		in.measured = append(in.measured, q.Text)
	}
	if o.encoder != "" {
		if in.encoder, err = newMemory(o.encoder, o.vectors); err != nil {
			return nil, err
		}
	}
	in.embedder, err = static.Default()
	return in, err
}

// readSkills reads the corpus and the prompts of its skills.
func (in *input) readSkills(o options) error {
	type place struct{ Repo, Path string }
	all := make(map[place]*skill.Skill)
	var order []place
	err := bench.ReadLines(o.corpus, func(l struct {
		place
		Name, Description, Body string
	}) {
		all[l.place], order = &skill.Skill{Meta: skill.Meta{Name: l.Name, Description: l.Description}, Body: l.Body}, append(order, l.place)
	})
	if err != nil {
		return fmt.Errorf("reading corpus: %w", err)
	}
	taken := make(map[place]bool)
	for _, of := range []struct {
		file string
		list *[]owned
	}{{o.gate, &in.gate}, {o.check, &in.check}} {
		if of.file == "" {
			continue
		}
		err := bench.ReadLines(of.file, func(l struct {
			place
			Prompts []string
		}) {
			if s := all[l.place]; s != nil && len(l.Prompts) > 0 {
				taken[l.place], *of.list = true, append(*of.list, owned{s, l.Prompts})
			}
		})
		if err != nil {
			return fmt.Errorf("reading prompts: %w", err)
		}
		if len(*of.list) < 3 {
			return fmt.Errorf("%s has prompts for %d skills of the corpus; it needs at least 3", of.file, len(*of.list))
		}
	}
	for _, p := range order {
		in.corpus = append(in.corpus, all[p])
		if !taken[p] {
			in.skills = append(in.skills, all[p])
		}
	}
	if most := slices.Max(o.sizes); most > len(in.skills) {
		return fmt.Errorf("%s has %d skills without prompts, not the %d that --sizes asks for", o.corpus, len(in.skills), most)
	}
	return nil
}

// mostWork is how many prompts for work set thresholds in a catalog.
const mostWork = 400

// work are the skills of --gate whose prompts set thresholds, with one prompt each in
// English: prompts in other languages reach less, and would lower the thresholds. Each name occurs once.
func (in *input) work() (list []owned) {
	random := rand.New(rand.NewPCG(1, 1))
	seen := make(map[string]bool)
	for _, i := range random.Perm(len(in.gate)) {
		own := in.gate[i]
		var read []string
		for _, text := range own.prompts {
			if in.knows(text) {
				read = append(read, text)
			}
		}
		if len(list) < mostWork && len(read) > 0 && !seen[own.skill.Name] {
			seen[own.skill.Name], list = true, append(list, owned{own.skill, read[len(list)%len(read):][:1]})
		}
	}
	return list
}

// knows reports whether a text is in English: its letters are, and a half of its words are in one of a
// thousand descriptions. A larger share would leave out those who name things in short.
func (in *input) knows(text string) bool {
	if in.frequent == nil {
		in.frequent = make(map[string]int)
		for _, s := range in.corpus {
			for _, w := range slices.Compact(slices.Sorted(slices.Values(plainWords(s.Description)))) {
				in.frequent[w]++
			}
		}
	}
	all, known := plainWords(text), 0
	for _, w := range all {
		if 1000*in.frequent[w] > len(in.corpus) {
			known++
		}
	}
	foreign := func(r rune) bool { return unicode.IsLetter(r) && r > unicode.MaxASCII }
	return 2*known >= len(all) && !strings.ContainsFunc(text, foreign)
}

// plainWords returns the words of a text that are of letters alone, in lower case.
func plainWords(text string) []string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.DeleteFunc(list, func(w string) bool { return len(w) < 2 })
}

// readPrompts reads --prompts and --calm.
func (in *input) readPrompts(o options) error {
	err := bench.ReadLines(o.prompts, func(line struct {
		Prompts  []string
		NearMiss string `json:"near_miss"`
	}) {
		in.prompts = append(in.prompts, line.Prompts...)
		in.near = append(in.near, line.NearMiss)
	})
	if err != nil {
		return fmt.Errorf("reading prompts: %w", err)
	}
	number := make(map[string]int) // of prompts by category
	err = bench.ReadLines(o.calm, func(line struct{ Prompt, Category string }) {
		if number[line.Category]%2 == 0 {
			in.calm = append(in.calm, line.Prompt)
		}
		number[line.Category]++
	})
	if err != nil {
		return fmt.Errorf("reading prompts: %w", err)
	}
	return nil
}

// classes returns the prompts to which the weights of words are fitted. Sets with near misses are left
// out: their prompts were written by the authors of --prompts, and must measure what was never seen.
func (in *input) classes() []class {
	list := []class{{weight: 1, task: true, texts: in.prompts}, {weight: .5, texts: in.near}}
	own := class{weight: .5} // prompts of the sets that need no skill
	list = append(list, class{weight: 1, texts: in.calm})
	for _, d := range in.sets {
		if slices.ContainsFunc(d.Queries, func(q bench.Query) bool { return q.Kind == nearMiss }) {
			continue
		}
		c := class{weight: .5, task: true}
		for _, q := range d.Queries {
			switch {
			case len(q.Wanted) > 0:
				c.texts = append(c.texts, q.Text)
			case q.NeedsNone() && !slices.Contains(in.measured, q.Text):
				own.texts = append(own.texts, q.Text)
			}
		}
		list = append(list, c)
	}
	if len(own.texts) > 0 {
		list = append(list, own)
	}
	return list
}

// nearMiss is the kind of a prompt for which one skill would be noise.
const nearMiss = "near_miss"

// A catalog is made of skills, and asked prompts.
type catalog struct {
	name    string
	skills  []*skill.Skill
	prompts []prompt
}

type prompt struct {
	text, class string
	wants       *skill.Skill // of the catalog; nil means none
}

// catalogs makes one catalog for each size. A half of its skills, and at most --limit, are some that
// have prompts. Of twice as many others the prompts are asked too, unless a skill of the catalog has the
// name of theirs, and of prompts that need no skill as many as of one of these kinds.
func (in *input) catalogs(list []owned, needless []string, o options) (made []catalog) {
	if len(list) == 0 {
		return nil
	}
	for n, size := range o.sizes {
		random := rand.New(rand.NewPCG(o.seed, uint64(n)))
		pick := func(i int) []int { return random.Perm(i) }
		order := pick(len(list))
		there := min(size/2, o.limit, len(list)/3)
		c := catalog{name: fmt.Sprintf("%d skills (%d)", size, n+1)}
		names := make(map[string]bool)
		for _, i := range order[:there] {
			own := list[i]
			c.skills, names[own.skill.Name] = append(c.skills, own.skill), true
			for _, text := range own.prompts {
				c.prompts = append(c.prompts, prompt{text, isThere, own.skill})
			}
		}
		for _, i := range pick(len(in.skills))[:size-there] {
			c.skills, names[in.skills[i].Name] = append(c.skills, in.skills[i]), true
		}
		for k, i := range order[there:min(3*there, len(list))] {
			for j, text := range list[i].prompts {
				if (k+j)%2 == 0 && !names[list[i].skill.Name] {
					c.prompts = append(c.prompts, prompt{text, isAbsent, nil})
				}
			}
		}
		for _, i := range pick(len(needless))[:min(len(needless), 4*there)] {
			c.prompts = append(c.prompts, prompt{needless[i], isNeedless, nil})
		}
		made = append(made, c)
	}
	return made
}

// search indexes a catalog and searches for its prompts.
func (in *input) search(ctx context.Context, k kind, of catalog) (_ group, err error) {
	g := group{name: of.name}
	if k.encoder != nil {
		var texts []string
		for _, q := range of.prompts {
			texts = append(texts, q.text)
		}
		if err := in.encoder.learn(ctx, texts); err != nil {
			return g, err
		}
	}
	number := make(map[*skill.Skill]string)
	d := &bench.Dataset{Name: of.name, Corpus: func(yield func(bench.Document, error) bool) {
		for i, s := range of.skills {
			own := *s // indexing renames a skill whose name is taken
			number[s] = fmt.Sprint(i)
			if !yield(bench.Document{ID: number[s], Skill: &own}, nil) {
				return
			}
		}
	}}
	c, err := bench.NewCatalog(ctx, d, &bench.Setup{Mode: k.mode, Embedder: in.embedder, Contextual: k.encoder, Deadline: time.Minute}) // a missing vector would change the fit
	if err != nil {
		return g, fmt.Errorf("indexing %s: %w", g.name, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, q := range of.prompts {
		if k.encoder != nil && !in.encoder.Reads(q.text) {
			continue // it is ranked and judged without the encoder
		}
		answer, ids, err := c.Search(ctx, search.Query{Text: q.text, Limit: depth})
		if err != nil {
			return g, err
		}
		g.samples = append(g.samples, newSample(q, answer, ids, number[q.wants]))
	}
	return g, nil
}

// newSample takes the features from the answer, so that the weights are fitted to the
// same values that a gate sees. wanted is the ID of the skill that the prompt wants; "" means none.
func newSample(q prompt, answer search.Answer, ids []string, wanted string) sample {
	s := sample{class: q.class, text: q.text, x: make(features, len(rank.Figures)), usable: len(answer.Demand.Terms) > 0}
	for _, t := range answer.Demand.Terms {
		s.x[figure(t.Name)] = t.Value
	}
	for i, h := range answer.Hits {
		named := slices.ContainsFunc(h.Terms, func(t rank.Term) bool { return t.Name == "exact name" })
		s.hits = append(s.hits, hit{h.Score, wanted != "" && ids[i] == wanted, named})
		s.usable = s.usable && !named
	}
	return s
}

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

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
	set     string
	others  int // skills of the corpus in it
	samples []sample
}

// usable returns the samples to fit weights to, see sample.
func (g *group) usable() []*sample {
	var list []*sample
	for i := range g.samples {
		if s := &g.samples[i]; s.usable {
			list = append(list, s)
		}
	}
	return list
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
	isWanting = "wanting" // needs a skill
	isNear    = "near"    // one skill would be noise; another may fit
	isNone    = "none"    // needs no skill
)

type hit struct {
	score         float64
	wanted, named bool
}

// rank returns the rank of the first wanted hit, from 1; 0 means there is none.
func (s *sample) rank() int {
	return 1 + slices.IndexFunc(s.hits, func(h hit) bool { return h.wanted })
}

// named reports whether the prompt surely names a skill.
func (s *sample) named() bool {
	return slices.ContainsFunc(s.hits, func(h hit) bool { return h.named })
}

// wants reports whether a wanted skill is near the top: what the demand predicts.
func (s *sample) wants() bool { return s.rank() >= 1 && s.rank() <= rank.GateDepth }

// input is the contents of the files that the options name.
type input struct {
	sets      []*bench.Dataset
	corpus    *bench.Dataset  // a set without skills of its own
	none      []bench.Query   // all prompts that need no skill
	prompts   []string        // that ask for a task
	near      []string        // near misses of these
	noneTexts map[string]bool // the same by text
	fitted    map[string]bool // prompts that need no skill and are fitted to; the others measure
	skills    []*skill.Skill  // from the corpus, shuffled, only as many as are used
	embedder  *static.Embedder
	encoder   *memory // nil means none
}

func readInput(o options) (*input, error) {
	in := &input{corpus: &bench.Dataset{Name: "the corpus", Corpus: func(func(bench.Document, error) bool) {}}}
	var err error
	if in.sets, err = bench.ReadAll(o.datasets, ""); err != nil {
		return nil, err
	}
	if err := in.readPrompts(o); err != nil {
		return nil, err
	}
	for _, dir := range o.none {
		file := filepath.Join(dir, "queries.jsonl")
		queries, err := bench.ReadQueries(file)
		if err != nil {
			return nil, fmt.Errorf("reading prompts: %w", err)
		}
		before := len(in.none)
		for _, q := range queries {
			if q.NeedsNone() {
				in.none = append(in.none, q)
			}
		}
		if len(in.none) == before {
			return nil, fmt.Errorf("%s: no prompt is of a kind that needs no skill", file)
		}
	}
	in.noneTexts = make(map[string]bool)
	for _, q := range in.none {
		in.noneTexts[q.Text] = true
	}
	if in.skills, err = readSkills(o); err != nil {
		return nil, err
	}
	if o.encoder != "" {
		if in.encoder, err = newMemory(o.encoder, o.vectors); err != nil {
			return nil, err
		}
	}
	in.embedder, err = static.Default()
	return in, err
}

// readPrompts reads --prompts and --calm.
func (in *input) readPrompts(o options) error {
	in.fitted = make(map[string]bool)
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
			in.fitted[line.Prompt] = true
		}
		number[line.Category]++
		in.none = append(in.none, bench.Query{ID: fmt.Sprintf("calm/%d", len(in.none)), Text: line.Prompt, Kind: "none"})
	})
	if err != nil {
		return fmt.Errorf("reading prompts: %w", err)
	}
	return nil
}

// classes returns the prompts to which the weights of words are fitted. Of the prompts that
// need no skill they are those in fitted. Sets with near misses are left out: their prompts
// were written by the authors of --prompts, and must measure what was never seen.
func (in *input) classes(fitted map[string]bool) []class {
	list := []class{{weight: 1, task: true, texts: in.prompts}, {weight: .5, texts: in.near}}
	var calm []string
	for _, q := range in.none {
		if fitted[q.Text] {
			calm = append(calm, q.Text)
		}
	}
	own := class{weight: .5} // prompts of the sets that need no skill
	list = append(list, class{weight: 1, texts: calm})
	for _, d := range in.sets {
		if slices.ContainsFunc(d.Queries, func(q bench.Query) bool { return q.Kind == nearMiss }) {
			continue
		}
		c := class{weight: .5, task: true}
		for _, q := range d.Queries {
			switch {
			case len(q.Wanted) > 0:
				c.texts = append(c.texts, q.Text)
			case q.NeedsNone() && !in.noneTexts[q.Text]:
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

// readSkills draws a random sample of the corpus, as large as the largest catalog needs.
func readSkills(o options) ([]*skill.Skill, error) {
	var list []*skill.Skill
	for d, err := range bench.ReadCorpus(o.corpus) {
		if err != nil {
			return nil, fmt.Errorf("reading corpus: %w", err)
		}
		list = append(list, d.Skill)
	}
	most := slices.Max(slices.Concat(o.distractors, o.grow))
	if most > len(list) {
		return nil, fmt.Errorf("%s has %d skills, not the %d that --distractors or --grow ask for", o.corpus, len(list), most)
	}
	random := rand.New(rand.NewPCG(o.seed, 0))
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return slices.Clone(list[:most]), nil // a copy, so that the others can be freed
}

// A catalog is a set mixed with other skills, and the prompts to ask in it.
type catalog struct {
	set     *bench.Dataset
	others  int
	prompts []bench.Query
}

// catalogs returns every set with every number of distractors. Each is asked a sample
// of the set's prompts and all prompts that need no skill. Then follow the catalogs
// made of the corpus alone, which are asked only the latter.
func (in *input) catalogs(o options) []catalog {
	var list []catalog
	for _, d := range in.sets {
		prompts := d.Sample(o.limit, o.seed)
		own := make(map[string]bool) // a set may also be given as --none
		for _, q := range prompts {
			own[q.Text] = true
		}
		for _, q := range d.Queries {
			if q.Kind == nearMiss {
				prompts = append(prompts, q)
			}
		}
		for _, q := range in.none {
			if !own[q.Text] {
				prompts = append(prompts, q)
			}
		}
		for _, n := range o.distractors {
			list = append(list, catalog{d, n, prompts})
		}
	}
	for _, n := range o.grow {
		list = append(list, catalog{in.corpus, n, in.none})
	}
	return list
}

// search indexes a catalog and searches for its prompts.
func (in *input) search(ctx context.Context, k kind, of catalog) (_ group, err error) {
	g := group{set: of.set.Name, others: of.others}
	if k.encoder != nil {
		var texts []string
		for _, q := range of.prompts {
			texts = append(texts, q.Text)
		}
		if err := in.encoder.learn(ctx, texts); err != nil {
			return g, err
		}
	}
	mixed := *of.set
	mixed.Corpus = in.mix(of)
	c, err := bench.NewCatalog(ctx, &mixed, &bench.Setup{Mode: k.mode, Embedder: in.embedder, Contextual: k.encoder, Deadline: time.Minute}) // a missing vector would change the fit
	if err != nil {
		return g, fmt.Errorf("indexing %s: %w", g.set, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for _, q := range of.prompts {
		if k.encoder != nil && !in.encoder.Reads(q.Text) {
			continue // it is ranked and judged without the encoder
		}
		answer, ids, err := c.Search(ctx, search.Query{Text: q.Text, Limit: depth})
		if err != nil {
			return g, err
		}
		g.samples = append(g.samples, newSample(q, answer, ids))
	}
	return g, nil
}

// mix returns the skills of a catalog: the set's own, then distractors. Distractors
// are copies, because indexing renames a skill whose name is taken.
func (in *input) mix(of catalog) iter.Seq2[bench.Document, error] {
	return func(yield func(bench.Document, error) bool) {
		for d, err := range of.set.Corpus {
			if !yield(d, err) || err != nil {
				return
			}
		}
		for i, sk := range in.skills[:of.others] {
			c := *sk
			if !yield(bench.Document{ID: fmt.Sprintf("distractor %d", i), Skill: &c}, nil) {
				return
			}
		}
	}
}

// newSample takes the features from the answer, so that the weights are fitted to the
// same values that a gate sees.
func newSample(q bench.Query, answer search.Answer, ids []string) sample {
	s := sample{class: isWanting, text: q.Text, usable: len(answer.Demand.Terms) > 0}
	if q.Kind == nearMiss {
		s.class = isNear
	} else if q.NeedsNone() {
		s.class = isNone
	}
	for _, t := range answer.Demand.Terms {
		s.x.set(t)
	}
	for i, h := range answer.Hits {
		named := slices.ContainsFunc(h.Terms, func(t rank.Term) bool { return t.Name == "exact name" })
		s.hits = append(s.hits, hit{h.Score, slices.Contains(q.Wanted, ids[i]), named})
		s.usable = s.usable && !named
	}
	return s
}

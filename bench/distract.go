package bench

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// Distraction says how well the first hit fits when the skills of another corpus, the
// distractors, are in the catalog too.
type Distraction struct {
	Distractors int      `json:"distractors"`
	LeftOut     int      `json:"left_out"`  // skills of the other corpus that look like a wanted skill
	Prompts     int      `json:"prompts"`   // number of prompts that need a skill
	Hit1        Estimate `json:"hit1"`      // as the set is ranked
	Hit1Text    Estimate `json:"hit1_text"` // by text alone
}

// DistractedRanks is the rank of the first wanted skill among distractors; 0 means that none is
// among the first 50 hits.
type DistractedRanks struct {
	Rank     int `json:"rank"`
	TextRank int `json:"text_rank"` // by text alone
}

// A Mixture is a set with distractors. Skills that have the name of a wanted skill, or
// whose description starts like the description of one, are no distractors: they may be
// copies of it.
type Mixture struct {
	Dataset
	used, leftOut int // when the corpus was last read
}

// NewMixture mixes the skills of a corpus into a set, see ReadCorpus.
func NewMixture(d *Dataset, others iter.Seq2[Document, error]) *Mixture {
	m := &Mixture{Dataset: *d}
	m.Corpus = func(yield func(Document, error) bool) {
		m.used, m.leftOut = 0, 0
		alike := make(map[string]bool)
		wanted := wantedOf(d)
		for doc, err := range d.Corpus {
			if err == nil && wanted[doc.ID] {
				for _, l := range likenessKeys(doc) {
					alike[l] = true
				}
			}
			if !yield(doc, err) || err != nil {
				return
			}
		}
		for doc, err := range others {
			if err == nil && slices.ContainsFunc(likenessKeys(doc), func(l string) bool { return alike[l] }) {
				m.leftOut++
				continue
			}
			m.used++
			doc.ID = "distractor " + doc.ID
			if !yield(doc, err) || err != nil {
				return
			}
		}
	}
	return m
}

func wantedOf(d *Dataset) map[string]bool {
	wanted := make(map[string]bool)
	for _, l := range d.labels {
		wanted[l.skill] = true
	}
	for i := range d.Queries { // a set that was not read from a folder has no labels
		for _, id := range d.Queries[i].Wanted {
			wanted[id] = true
		}
	}
	return wanted
}

// likenessKeys returns by what a copy of a skill is recognised.
func likenessKeys(d Document) []string {
	const start = 80 // characters of a description
	list := []string{"name " + words.NameKey(d.Skill.Name)}
	if text := strings.ToLower(tidy.Line(d.Skill.Description)); text != "" {
		list = append(list, "description "+tidy.First(text, start))
	}
	return list
}

// Distract asks the prompts of s, the result of Run for the set, in the catalog of its
// mixture, and adds the result to s.
func Distract(ctx context.Context, c *Catalog, m *Mixture, s *Set, opts *Options) error {
	opts = cmp.Or(opts, new(Options))
	text := search.New(c.index, c.store, nil, nil)
	answered := make(map[string]*PromptResult, len(s.Queries))
	for i := range s.Queries {
		answered[s.Queries[i].ID] = &s.Queries[i]
	}
	queries := m.Sample(opts.Limit, opts.Seed)
	var hit1, hit1Text []float64
	for i, q := range queries {
		if a := answered[q.ID]; a != nil && a.Wanted > 0 {
			var err error
			a.Distracted = &DistractedRanks{}
			if a.Distracted.Rank, err = c.first(ctx, c.search, &q); err != nil {
				return err
			}
			if a.Distracted.TextRank, err = c.first(ctx, text, &q); err != nil {
				return err
			}
			v := a.values()
			hit1, hit1Text = append(hit1, v[distracted]), append(hit1Text, v[distractedText])
		}
		if opts.Step != nil {
			opts.Step(i+1, len(queries))
		}
	}
	s.Distracted = &Distraction{m.used, m.leftOut, len(hit1), bootstrap(opts.Seed, hit1), bootstrap(opts.Seed, hit1Text)}
	return nil
}

// first returns the rank of the first wanted skill.
func (c *Catalog) first(ctx context.Context, s contextprovider.Catalog, q *Query) (int, error) {
	answer, err := s.Search(ctx, search.Query{Text: q.Text, Limit: depth})
	if ranks := ranksOf(c.idsOf(answer.Hits, q.Wanted...), q.Wanted); len(ranks) > 0 {
		return ranks[0], err
	}
	return 0, err
}

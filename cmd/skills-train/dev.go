package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/static"
)

// devSet is a labelled set: prompts and the skills that they want.
type devSet struct {
	name    string
	ids     []string
	texts   [][]string // texts of each skill, the description first
	prompts []string
	wanted  [][]string // IDs of skills, by prompt
}

type devSets []devSet

// maxPrompts is how many prompts of a set are used for measurements during training.
const maxPrompts = 2000

func readDevSets(folders []string) (devSets, error) {
	list, err := bench.ReadAll(folders, "")
	if err != nil {
		return nil, err
	}
	sets := make(devSets, len(list))
	for i, d := range list {
		if sets[i], err = newDevSet(d); err != nil {
			return nil, fmt.Errorf("reading labelled set: %w", err)
		}
	}
	return sets, nil
}

func newDevSet(d *bench.Dataset) (devSet, error) {
	s := devSet{name: d.Name}
	for doc, err := range d.Corpus {
		if err != nil {
			return s, err
		}
		s.ids = append(s.ids, doc.ID)
		s.texts = append(s.texts, append([]string{doc.Skill.Name + ": " + doc.Skill.Description}, chunks(doc.Skill.Body)...))
	}
	for _, q := range d.Queries {
		if len(q.Wanted) > 0 && len(s.prompts) < maxPrompts {
			s.prompts, s.wanted = append(s.prompts, q.Text), append(s.wanted, q.Wanted)
		}
	}
	return s, nil
}

// chunks cuts a body as the catalog does, into up to 8 chunks of 160 words.
func chunks(body string) []string {
	var list []string
	for words := range slices.Chunk(strings.Fields(body), 160) {
		if len(list) == 8 {
			break
		}
		list = append(list, strings.Join(words, " "))
	}
	return list
}

// devResults is the relevance of a ranking by vectors alone, by set.
type devResults map[string]bench.Metrics

func (r devResults) String() string {
	var b strings.Builder
	mean := 0.0
	for _, name := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(&b, ", %s Hit@1 %.3f nDCG@10 %.3f", name, r[name].Hit1, r[name].NDCG10)
		mean += r[name].Hit1 / float64(len(r))
	}
	if len(r) > 1 {
		fmt.Fprintf(&b, ", mean Hit@1 %.4f", mean)
	}
	return strings.TrimPrefix(b.String(), ", ")
}

// measure ranks by two cosines: with a skill's description and with the mean of all
// its texts. It uses the quantised model, which is the one that is shipped.
func (sets devSets) measure(w static.Weights) (devResults, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	data, err := static.Encode(w)
	if err != nil {
		return nil, err
	}
	e, err := static.New(string(data))
	if err != nil {
		return nil, err
	}
	results := make(devResults)
	for _, s := range sets {
		results[s.name] = bench.Measure(s.rank(e), s.wanted)
	}
	return results, nil
}

// rank returns the ten nearest skills for every prompt.
func (s devSet) rank(e *static.Embedder) [][]string {
	description, full := make([]embed.Vector, len(s.ids)), make([]embed.Vector, len(s.ids))
	parallel(len(s.ids), func(i int) {
		vectors := embedAll(e, s.texts[i])
		description[i], full[i] = vectors[0], make(embed.Vector, e.Dim())
		for _, v := range vectors {
			for j, x := range v {
				full[i][j] += x
			}
		}
		if embed.Unit(full[i]) != nil {
			full[i] = vectors[0]
		}
	})
	rankings := make([][]string, len(s.prompts))
	parallel(len(s.prompts), func(p int) {
		v := embedAll(e, s.prompts[p:p+1])[0]
		scores, order := make([]float64, len(s.ids)), make([]int, len(s.ids))
		for i := range s.ids {
			scores[i], order[i] = embed.Dot(v, description[i])+embed.Dot(v, full[i]), i
		}
		slices.SortFunc(order, func(i, j int) int {
			return cmp.Or(cmp.Compare(scores[j], scores[i]), cmp.Compare(s.ids[i], s.ids[j]))
		})
		for _, i := range order[:min(10, len(order))] {
			rankings[p] = append(rankings[p], s.ids[i])
		}
	})
	return rankings
}

// embedAll embeds texts. The embedder fails only when its context ends, and this
// context never ends.
func embedAll(e *static.Embedder, texts []string) []embed.Vector {
	vectors, err := e.Embed(context.Background(), embed.Document, texts)
	if err != nil {
		panic(err)
	}
	return vectors
}

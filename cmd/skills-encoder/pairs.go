package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// others is about how many skills a catalog has in which a prompt's own skill is missing.
const others = 400

// labels are the files with prompts to train on. A skill that gate.jsonl names is left out, and so is
// any other of the same name: the gate is fitted to it.
var labels = []string{"train.jsonl", "train-siblings.jsonl", "train-more.jsonl"}

// A published skill is a line of the corpus.
type published struct{ Repo, Path, Name, Description, Body string }

// labelled is a skill with its prompts, a line of the files in labels and of what writePairs writes.
type labelled struct {
	Repo     string   `json:"repo"`
	Path     string   `json:"path"`
	Name     string   `json:"name"`
	Text     string   `json:"text"` // what the encoder reads of the skill
	Prompts  []string `json:"prompts,omitempty"`
	NearMiss string   `json:"near_miss,omitempty"`
	Wrong    []string `json:"wrong,omitempty"` // for each prompt, first hits of a catalog without the skill, as "repo:path"
	skill    *skill.Skill
}

func (l *labelled) id() string { return l.Repo + ":" + l.Path }

// writePairs writes what the encoder reads of each skill of the corpus, and, for those with prompts,
// what the program finds wrongly for these with the encoder that it has.
func writePairs(ctx context.Context, folder, out string) error {
	all := make(map[string]*labelled)
	var order []*labelled
	err := bench.ReadLines(filepath.Join(folder, "corpus", "skills.jsonl.gz"), func(p published) {
		s := &skill.Skill{Meta: skill.Meta{Name: p.Name, Description: p.Description}, Body: p.Body}
		l := &labelled{Repo: p.Repo, Path: p.Path, Name: p.Name, Text: s.Purpose(), skill: s}
		all[l.id()], order = l, append(order, l)
	})
	if err != nil {
		return err
	}
	kept := make(map[string]bool)
	err = bench.ReadLines(filepath.Join(folder, "prompts", "gate.jsonl"), func(l labelled) {
		if own := all[l.id()]; own != nil {
			kept[own.Name] = true
		}
	})
	if err != nil {
		return err
	}
	var trained []*labelled
	for _, name := range labels {
		err := bench.ReadLines(filepath.Join(folder, "prompts", name), func(l labelled) {
			if own := all[l.id()]; own != nil && !kept[own.Name] {
				if own.Prompts == nil {
					trained = append(trained, own)
				}
				own.Prompts, own.NearMiss = append(own.Prompts, l.Prompts...), l.NearMiss
			}
		})
		if err != nil {
			return err
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	r.Shuffle(len(trained), func(i, j int) { trained[i], trained[j] = trained[j], trained[i] })
	n := max(2, len(trained)/others)
	part := func(i int) []*labelled {
		i %= n
		return trained[i*len(trained)/n : (i+1)*len(trained)/n]
	}
	for i := range n {
		if err := findWrong(ctx, part(i), part(i+1)); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "asked the prompts of %d of %d catalogs\n", i+1, n)
	}
	return writeLines(out, order)
}

// findWrong asks the prompts of skills in a catalog of others.
func findWrong(ctx context.Context, asked, catalog []*labelled) error {
	e, err := static.Default()
	if err != nil {
		return err
	}
	encoder, err := contextual.Default()
	if err != nil {
		return err
	}
	d := &bench.Dataset{Name: "others", Corpus: func(yield func(bench.Document, error) bool) {
		for _, l := range catalog {
			if !yield(bench.Document{ID: l.id(), Skill: l.skill}, nil) {
				return
			}
		}
	}}
	c, err := bench.NewCatalog(ctx, d, &bench.Setup{Mode: bench.Hybrid, Embedder: e, Contextual: encoder, Deadline: time.Minute})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, l := range asked {
		for _, prompt := range l.Prompts {
			_, ids, err := c.Search(ctx, search.Query{Text: prompt, Limit: 2})
			if err != nil {
				return err
			}
			l.Wrong = append(l.Wrong, ids...)
		}
	}
	return nil
}

func writeLines(name string, list []*labelled) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, l := range list {
		if err := e.Encode(l); err != nil {
			return err
		}
	}
	return os.WriteFile(name, b.Bytes(), 0o644)
}

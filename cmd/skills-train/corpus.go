package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"

	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/embed/static"
)

// rawSkill is one line of a corpus.
type rawSkill struct {
	place
	Name        string `json:"name"`
	Description string `json:"description"`
	Body        string `json:"body"`
	License     string `json:"license"`

	prompts []string // what people might ask who need it; see readPrompts
}

// corpus is the contents of a corpus file.
type corpus struct {
	skills []rawSkill
	sha256 string // of the file
}

// readCorpus reads a file of JSON lines.
func readCorpus(name string) (*corpus, error) {
	c := new(corpus)
	if err := bench.ReadLines(name, func(s rawSkill) { c.skills = append(c.skills, s) }); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(name)
	c.sha256 = fmt.Sprintf("%x", sha256.Sum256(data))
	return c, err
}

// vocabulary is the words that get a vector of their own.
type vocabulary struct {
	words  []string
	rows   map[uint64]int // by hash of the word
	share  []float64      // of each word among all words of the corpus
	rarest int            // number of skills that have the rarest word
}

// countWords returns n words: those that occur in two or more of the asked texts, which
// people write, and then those that occur in most skills. It ignores words that occur in
// fewer than 3 skills.
func countWords(skills []rawSkill, asked []string, n int) *vocabulary {
	type count struct {
		word          string
		skills, times int
		last          int // the last text that it was counted for
		asked         int // number of asked texts
	}
	counts := make(map[string]*count)
	total := 0
	add := func(i int, text string, in func(*count) *int) {
		static.Tokens(text, func(token []byte) {
			total++
			c := counts[string(token)]
			if c == nil {
				c = &count{word: string(token), last: -1}
				counts[c.word] = c
			}
			c.times++
			if c.last != i {
				c.last = i
				*in(c)++
			}
		})
	}
	for i, s := range skills {
		for _, text := range []string{s.Name, s.Description, s.Body} {
			add(i, text, func(c *count) *int { return &c.skills })
		}
	}
	for i, text := range asked {
		add(len(skills)+i, text, func(c *count) *int { return &c.asked })
	}
	var list []*count
	for _, c := range counts {
		if c.skills >= 3 || c.asked >= 2 {
			list = append(list, c)
		}
	}
	often := func(c *count) int { return min(c.asked, 2) / 2 } // 1 if it is in two of the asked texts
	slices.SortFunc(list, func(a, b *count) int {
		return cmp.Or(cmp.Compare(often(b), often(a)), cmp.Compare(b.skills, a.skills), cmp.Compare(a.word, b.word))
	})
	v := &vocabulary{rows: make(map[uint64]int)}
	seen := make(map[uint64]bool) // the model distinguishes words by 48 bits of the hash
	for _, c := range list[:min(n, len(list))] {
		hash := static.Hash([]byte(c.word))
		if seen[hash>>16] {
			continue
		}
		seen[hash>>16] = true
		v.rows[hash] = len(v.words)
		v.words = append(v.words, c.word)
		v.share = append(v.share, float64(c.times)/float64(total))
		v.rarest = c.skills
	}
	return v
}

// encode returns the rows of the weights whose sum is the vector of a text. The rows
// of buckets follow the rows of words.
func (v *vocabulary) encode(text string, buckets int) []int32 {
	var rows []int32
	lookup := func(hash uint64) (row int, ok bool) { row, ok = v.rows[hash]; return }
	static.Rows(text, lookup, buckets, func(row int) {
		if row < 0 {
			row = len(v.words) - 1 - row
		}
		rows = append(rows, int32(row))
	})
	return rows
}

// corpusSummary describes a corpus in a manifest.
type corpusSummary struct {
	SHA256   string         `json:"sha256"`
	Skills   int            `json:"skills"`
	Licenses map[string]int `json:"licenses"` // number of skills by licence
}

func (c *corpus) summary() corpusSummary {
	s := corpusSummary{SHA256: c.sha256, Skills: len(c.skills), Licenses: make(map[string]int)}
	for _, sk := range c.skills {
		s.Licenses[sk.License]++
	}
	return s
}

package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed/static"
)

// rawSkill is one line of a corpus.
type rawSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Body        string `json:"body"`
	License     string `json:"license"`
}

// corpus is what training reads.
type corpus struct {
	skills []rawSkill
	sha256 string // of the file
}

// readCorpus reads a file of JSON lines; a malformed one is an error that
// names it.
func readCorpus(name string) (*corpus, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hash := sha256.New()
	file := io.TeeReader(f, hash)
	r := file
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(bufio.NewReader(file)); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
	c := new(corpus)
	lines := json.NewDecoder(r)
	for {
		var s rawSkill
		err := lines.Decode(&s)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: skill %d: %w", name, len(c.skills)+1, err)
		}
		c.skills = append(c.skills, s)
	}
	if _, err := io.Copy(io.Discard, file); err != nil { // what the decoder left
		return nil, err
	}
	c.sha256 = hex.EncodeToString(hash.Sum(nil))
	return c, nil
}

// vocabulary are the words that get a vector of their own.
type vocabulary struct {
	words  []string
	rows   map[uint64]int // by hash
	share  []float64      // of all words of the corpus
	rarest int            // number of skills that the rarest word is in
}

// countWords returns the words that most skills have, at most n of them and
// none that fewer than 3 have.
func countWords(skills []rawSkill, n int) *vocabulary {
	type count struct {
		word          string
		skills, times int
		last          int // skill that it was counted for
	}
	counts := make(map[string]*count)
	total := 0
	for i, s := range skills {
		for _, text := range []string{s.Name, s.Description, s.Body} {
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
					c.skills++
				}
			})
		}
	}
	var list []*count
	for _, c := range counts {
		if c.skills >= 3 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *count) int {
		return cmp.Or(cmp.Compare(b.skills, a.skills), cmp.Compare(a.word, b.word))
	})
	v := &vocabulary{rows: make(map[uint64]int)}
	seen := make(map[uint64]bool) // the model tells words apart by 48 bits
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

func (v *vocabulary) lookup(hash uint64) (int, bool) {
	row, ok := v.rows[hash]
	return row, ok
}

// encode returns the rows of the weights that a text is the sum of; buckets
// come after the words.
func (v *vocabulary) encode(text string, buckets int) []int32 {
	var rows []int32
	static.Rows(text, v.lookup, buckets, func(row int) {
		if row < 0 {
			row = len(v.words) - 1 - row
		}
		rows = append(rows, int32(row))
	})
	return rows
}

// corpusSummary is what a manifest says of a corpus.
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

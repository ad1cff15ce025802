package main

import (
	"maps"
	"slices"

	"github.com/repertoire-skills/repertoire/bench"
)

// place is where a skill of the corpus was published.
type place struct {
	Repo string `json:"repo"`
	Path string `json:"path"`
}

// readPrompts reads a file of JSON lines with repo and path of a skill and the prompts
// that were written for it.
func readPrompts(name string) (map[place][]string, error) {
	prompts := make(map[place][]string)
	err := readLines(name, func(line struct {
		place
		Prompts []string `json:"prompts"`
	}) {
		prompts[line.place] = append(prompts[line.place], line.Prompts...)
	})
	return prompts, err
}

// readParallel reads a file of JSON lines, each a phrase in several languages by language.
func readParallel(name string) ([][]string, error) {
	var phrases [][]string
	err := readLines(name, func(line map[string]string) {
		if len(line) > 1 {
			phrases = append(phrases, slices.Collect(maps.Values(line)))
			slices.Sort(phrases[len(phrases)-1]) // the same training each time
		}
	})
	return phrases, err
}

// readLines calls f for each line of a file of JSON lines; without a name there are none.
func readLines[T any](name string, f func(T)) error {
	if name == "" {
		return nil
	}
	return bench.ReadLines(name, f)
}

// addPrompts reads the prompts and the phrases of the options, and gives the skills of the
// corpus their prompts. asked are the texts of both.
func (c *corpus) addPrompts(o options) (asked []string, phrases [][]string, err error) {
	prompts, err := readPrompts(o.Prompts)
	if err != nil {
		return nil, nil, err
	}
	if phrases, err = readParallel(o.Parallel); err != nil {
		return nil, nil, err
	}
	for i := range c.skills {
		s := &c.skills[i]
		s.prompts = prompts[s.place]
		asked = append(asked, s.prompts...)
	}
	return append(asked, slices.Concat(phrases...)...), phrases, nil
}

// encodePhrases returns the rows of phrases.
func encodePhrases(phrases [][]string, v *vocabulary, buckets int) [][][]int32 {
	list := make([][][]int32, len(phrases))
	for i, languages := range phrases {
		for _, text := range languages {
			list[i] = append(list[i], v.encode(text, buckets))
		}
	}
	return list
}

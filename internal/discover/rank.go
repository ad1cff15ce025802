package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/source"
)

// The labels of the two sources of the catalog in which candidates are ranked.
const (
	labelHere  = "here"
	labelThere = "there"
)

// A placed is a candidate that fits.
type placed struct {
	index       int
	probability float64
	relevant    bool
}

// ranked ranks candidates by their names and texts, as a catalog of its own that exists only for
// this question: the built-in word vectors need no server and little time.
func ranked(ctx context.Context, list []candidate, q repertoire.Query) (order []placed, unfit int, err error) {
	if len(list) == 0 {
		return nil, 0, nil
	}
	files := map[string]map[string]string{labelHere: {}, labelThere: {}}
	names := make(map[string]bool)
	for i, c := range list {
		label := labelThere
		if c.Here != "" {
			label = labelHere
		}
		text, err := skillText(unique(c.Name, names), c.text)
		if err != nil {
			return nil, 0, err
		}
		files[label][fmt.Sprintf("%d/SKILL.md", i)] = text
	}
	var sources []source.Source
	for _, label := range []string{labelHere, labelThere} {
		s, err := source.Files(files[label], &source.Options{Label: label})
		if err != nil {
			return nil, 0, err
		}
		sources = append(sources, s)
	}
	c, err := repertoire.Open(ctx, repertoire.Config{
		Sources: sources, Contextual: embed.None{}, Schedule: repertoire.Never, IgnoreNeeds: true,
		Policy: &repertoire.Policy{Lower: []string{labelThere}},
	})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if _, err := c.Owner().Rescan(ctx, nil); err != nil {
		return nil, 0, err
	}
	q.Agent, q.Source, q.Tag = nil, "", "" // they have chosen what is here
	a, err := c.Search(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	for _, h := range a.Hits {
		for _, e := range append([]repertoire.Entry{h.Entry}, h.Copies...) {
			if i, err := strconv.Atoi(e.Dir()); err == nil && len(order) < q.Limit {
				order = append(order, placed{i, h.Probability, h.Relevant})
			}
		}
	}
	return order, a.Unfit, nil
}

// unique returns a name that no candidate before has: in a catalog, one of two skills of a name
// hides the other.
func unique(name string, taken map[string]bool) string {
	one := name
	for n := 2; taken[words.NameKey(one)]; n++ {
		one = fmt.Sprintf("%s-%d", name, n)
	}
	taken[words.NameKey(one)] = true
	return one
}

// skillText returns a SKILL.md. Texts of JSON are texts of YAML too.
func skillText(name, description string) (string, error) {
	fields := make([]string, 2)
	for i, field := range []string{name, description} {
		data, err := json.Marshal(field)
		if err != nil {
			return "", err
		}
		fields[i] = string(data)
	}
	return "---\nname: " + fields[0] + "\ndescription: " + strings.ReplaceAll(fields[1], "\x7f", " ") + "\n---\n", nil
}

package cli

import (
	"context"
	"errors"
	"iter"
	"path"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/bench"
	"github.com/repertoire-skills/repertoire/skill"
)

// unusable is a file of evals that could not be used.
type unusable struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// evals makes a data set of the catalog and of the evals beside its skills. The
// catalog must stay open while the set's corpus is read.
func (c *catalog) evals(ctx context.Context) (*bench.Dataset, []unusable, error) {
	entries, err := c.List(ctx, c.agent, false)
	if err != nil {
		return nil, nil, err
	}
	d := &bench.Dataset{Name: "from-evals", Corpus: c.documents(ctx, entries)}
	var bad []unusable
	for _, e := range entries {
		files, err := c.Files(ctx, e)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			if ok, _ := path.Match("evals/*.json", f.Path); !ok { // the pattern is sound
				continue
			}
			queries, err := c.evalsOf(ctx, e, f.Path)
			if err != nil {
				at := strings.TrimSuffix(e.Location, e.File()) + f.Path
				bad = append(bad, unusable{at, err.Error()})
				c.app.note("%s: not used: %s", at, messageOf(err))
			}
			d.Queries = append(d.Queries, queries...)
		}
	}
	if len(d.Queries) == 0 {
		return nil, nil, errors.New("no skill of the catalog has prompts in an evals/*.json file")
	}
	return d, bad, ctx.Err()
}

func (c *catalog) evalsOf(ctx context.Context, e repertoire.Entry, name string) ([]bench.Query, error) {
	file, err := c.File(ctx, e.ID, name, c.agent)
	if err != nil {
		return nil, err
	}
	evals, err := bench.ParseEvals([]byte(file.Text))
	if err != nil {
		return nil, err
	}
	return bench.Queries(e.ID+"/"+name, e.ID, evals), nil
}

// documents reads the skills of the catalog as they are now. One that cannot be
// read any more is told and left out.
func (c *catalog) documents(ctx context.Context, entries []repertoire.Entry) iter.Seq2[bench.Document, error] {
	return func(yield func(bench.Document, error) bool) {
		for _, e := range entries {
			body, err := c.Body(ctx, e.ID, c.agent)
			var s *skill.Skill
			if err == nil {
				s, err = skill.Parse(strings.NewReader(body.Text), e.Location)
			}
			if err != nil {
				c.app.note("%s: left out: %s", e.ID, messageOf(err))
				continue
			}
			s.Name, s.Description, s.Digest = e.Name, e.Description, e.Digest
			if !yield(bench.Document{ID: e.ID, At: e.Location, Skill: s}, nil) {
				return
			}
		}
	}
}

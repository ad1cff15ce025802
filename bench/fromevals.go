package bench

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/skill"
)

// An Unusable is a file of evals that could not be used.
type Unusable struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// An evalCatalog is a catalog that is measured by the evals beside its skills.
type evalCatalog struct {
	catalog *repertoire.Catalog
	agent   *repertoire.Agent
	warn    func(error)
}

// FromEvals makes a set from the skills that an agent sees and the prompts in the
// evals/*.json files beside them. A nil agent sees all skills. The catalog must stay
// open while the corpus of the set is read. warn is called for each file of evals and
// each skill that is left out because it cannot be used.
func FromEvals(ctx context.Context, c *repertoire.Catalog, a *repertoire.Agent, warn func(error)) (*Dataset, []Unusable, error) {
	entries, err := c.List(ctx, a, nil)
	if err != nil {
		return nil, nil, err
	}
	o := &evalCatalog{c, a, warn}
	d := &Dataset{Name: "from-evals", Corpus: o.documents(ctx, entries)}
	var bad []Unusable
	for _, e := range entries {
		in, err := c.Listing(ctx, e.ID, a, false)
		if err != nil {
			warn(fmt.Errorf("%s: not used: %w", e.Location, err))
			continue
		}
		for _, f := range in.Files {
			if ok, _ := path.Match("evals/*.json", f.Path); !ok { // no error: the pattern is valid
				continue
			}
			queries, err := o.queries(ctx, e, f.Path)
			if err != nil {
				at := strings.TrimSuffix(e.Location, e.File()) + f.Path
				bad = append(bad, Unusable{at, err.Error()})
				warn(fmt.Errorf("%s: not used: %w", at, err))
			}
			d.Queries = append(d.Queries, queries...)
		}
	}
	if len(d.Queries) == 0 {
		return nil, nil, errors.New("no skill of the catalog has prompts in an evals/*.json file")
	}
	return d, bad, ctx.Err()
}

// queries reads one file of evals.
func (o *evalCatalog) queries(ctx context.Context, e repertoire.Entry, name string) ([]Query, error) {
	file, err := o.catalog.File(ctx, e.ID, name, o.agent)
	if err != nil {
		return nil, err
	}
	evals, err := ParseEvals([]byte(file.Text))
	if err != nil {
		return nil, err
	}
	return Queries(e.ID+"/"+name, e.ID, evals), nil
}

// documents reads the skills as they are now.
func (o *evalCatalog) documents(ctx context.Context, entries []repertoire.Entry) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		for _, e := range entries {
			body, err := o.catalog.Body(ctx, e.ID, o.agent)
			var s *skill.Skill
			if err == nil {
				s, err = skill.Parse(strings.NewReader(body.Text), e.Location)
			}
			if err != nil {
				o.warn(fmt.Errorf("%s: left out: %w", e.ID, err))
				continue
			}
			s.Name, s.Description, s.Digest = e.Name, e.Description, e.Digest
			if !yield(Document{ID: e.ID, At: e.Location, Skill: s}, nil) {
				return
			}
		}
	}
}

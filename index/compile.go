package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

// Compile writes the files that Publish writes, but for skills that are not in the
// store, which must be empty. It exists to measure ranking at sizes that would take
// SQLite too long. The publisher ranks from the files until somebody changes the
// catalog. What needs more than ranking does (bodies, files, query syntax) does not
// find the skills. The skills must come sorted by name (see NameKey), each name
// once; Compile keeps no skill longer than its batch, and uses all processors.
func (p *Publisher) Compile(ctx context.Context, src store.Source, skills iter.Seq2[*skill.Skill, error]) error {
	if err := p.compileAll(ctx, src, skills); err != nil {
		return fmt.Errorf("compiling skills: %w", err)
	}
	return nil
}

func (p *Publisher) compileAll(ctx context.Context, src store.Source, skills iter.Seq2[*skill.Skill, error]) error {
	a, err := p.begin(ctx, p.store)
	if err != nil {
		return err
	}
	if a.Found > 0 {
		return fmt.Errorf("%s holds %d skills of its own; choose an empty catalog", p.opts.Path, a.Found)
	}
	a.Sources = []store.Source{{Label: src.Label, Root: src.Root, Priority: src.Priority, Walked: 1}}
	if a.ranks = p.embedder; a.ranks != nil {
		probe, err := embedTexts(ctx, a.ranks, []text{newText("skill")})
		if err != nil {
			return err
		}
		*a.model() = snapshot.Model{Name: a.ranks.Model(), Dim: len(probe[0])}
		a.Mode = hybrid
	}
	meta, err := a.meta(a.Info)
	if err != nil {
		return err
	}
	name := p.dir.BasePath(a.Catalog, a.Generation)
	if err := snapshot.Write(p.dir.Disk, name, meta, ahead(a.prepared(ctx, src.Label, skills))); err != nil {
		return err
	}
	return p.store.Update(ctx, func(tx store.Tx) error {
		now, err := tx.State()
		if err == nil && now.Generation != a.Generation {
			err = errOutrun
		}
		if err != nil {
			return err
		}
		return p.dir.Publish(a.Generation, snapshot.Files{Base: filepath.Base(name)})
	})
}

// prepared turns skills into documents, in the same order.
func (a *assembler) prepared(ctx context.Context, label string, skills iter.Seq2[*skill.Skill, error]) iter.Seq2[*snapshot.Document, error] {
	return func(yield func(*snapshot.Document, error) bool) {
		row, last := int64(0), ""
		for part, err := range batches(skills) {
			var docs []*snapshot.Document
			if err == nil {
				docs, err = a.prepareAll(ctx, label, row, part)
			}
			for _, d := range docs {
				if row > 0 && d.Key <= last {
					yield(nil, fmt.Errorf("skill %q does not come after %q; sort them by name", d.Key, last))
					return
				}
				if row, last = row+1, d.Key; !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// batches groups skills into batches. It stops at the first error.
func batches(skills iter.Seq2[*skill.Skill, error]) iter.Seq2[[]*skill.Skill, error] {
	return func(yield func([]*skill.Skill, error) bool) {
		var list []*skill.Skill
		for s, err := range skills {
			if err != nil {
				yield(nil, err)
				return
			}
			if list = append(list, s); len(list) == batch {
				if !yield(list, nil) {
					return
				}
				list = list[:0]
			}
		}
		yield(list, nil)
	}
}

// prepareAll prepares skills on all processors. Their rows follow last, which is the row of
// the skill before them.
func (a *assembler) prepareAll(ctx context.Context, label string, last int64, skills []*skill.Skill) ([]*snapshot.Document, error) {
	docs, errs := make([]*snapshot.Document, len(skills)), make([]error, len(skills))
	parallel(len(skills), func(i int, own *words.Analyzer) {
		docs[i], errs[i] = a.prepare(ctx, label, last+1+int64(i), skills[i], own)
	})
	if err := cmp.Or(ctx.Err(), errors.Join(errs...)); err != nil {
		return nil, err
	}
	return docs, nil
}

// prepare turns one skill into a document: it does what indexing and compiling do.
func (a *assembler) prepare(ctx context.Context, label string, row int64, s *skill.Skill, analyzer *words.Analyzer) (*snapshot.Document, error) {
	r := store.Record{Skill: s}
	fill(&r, analyzer)
	meta := s.Meta
	meta.ID, meta.Source = s.Name, label
	d := newDocument(&store.Entry{Meta: meta, Row: row, NameKey: r.NameKey})
	d.Terms, d.Sketch = r.Terms, r.Sketch
	if a.ranks == nil {
		return d, nil
	}
	values, err := embedTexts(ctx, a.ranks, texts(s))
	if err != nil {
		return nil, fmt.Errorf("embedding %s: %w", s.Name, err)
	}
	list := make([]store.Vector, len(values))
	for i := range values {
		list[i] = store.Vector{Ordinal: i, Values: values[i]}
	}
	d.Vectors = vectorsOf(list, a.model().Dim)
	return d, nil
}

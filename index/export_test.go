package index

import (
	"context"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
	"github.com/repertoire-skills/repertoire/store"
)

const (
	Batch      = batch
	EmbedBatch = embedBatch
	ChunkWords = chunkWords
	Few        = few
)

// Directory returns where x publishes.
func (x *Index) Directory() *snapshot.Directory { return x.Publisher.dir }

// Assemble makes the set of the present generation as if none had been made.
func (x *Index) Assemble(ctx context.Context) (*snapshot.Set, error) { return x.assemble(ctx, nil) }

// Chunks returns the parts of the texts of a skill that are embedded one by one.
func Chunks(s *skill.Skill) (list [][]string) {
	for _, t := range texts(s) {
		list = append(list, t.chunks)
	}
	return list
}

// FindsBase reports whether there is a compiled base for vectors of the present models, as
// change changes them.
func (x *Index) FindsBase(ctx context.Context, change func(*[snapshot.Spaces]snapshot.Model)) (found bool, err error) {
	err = x.store.View(ctx, func(r store.Reader) error {
		a, err := x.Publisher.begin(ctx, r)
		if err != nil {
			return err
		}
		change(&a.models)
		base, _, err := a.openBase(ctx, nil)
		if found = base != nil; found {
			snapshot.CloseNew(nil, base)
		}
		return err
	})
	return found, err
}

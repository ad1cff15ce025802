package index

import (
	"context"

	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
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

// Package store is the truth of a catalog: its skills, their terms and vectors,
// and what has changed since when. It declares the Store that the write side
// fills and the read side asks; store/sqlite is the engine of every catalog file,
// store/memory one for tests. Whatever is in a store can be made again from the
// sources.
//
// The one rule: only an Update changes anything, and each that a reader can see
// grows the generation by one. What is published of a generation, and where, is
// no business of a store.
package store

import (
	"context"
	"errors"

	"github.com/repertoire-skills/repertoire/skill"
)

var (
	// ErrReadOnly says that the catalog cannot be written where it is.
	ErrReadOnly = errors.New("catalog is read-only")
	// ErrDamaged says that what an engine keeps is not what it wrote: the catalog
	// is to be made again.
	ErrDamaged = errors.New("catalog is damaged")
)

// A Store is one catalog in one engine. It may be used from several goroutines,
// and several processes may use the same catalog. Package storetest checks an
// engine.
type Store interface {
	Reader // of the present state; two calls may see different ones

	// Ready opens what was not needed before, and returns why it cannot be.
	Ready(ctx context.Context) error
	// ReadOnly reports whether Update fails with ErrReadOnly, because the catalog
	// cannot be written where it is.
	ReadOnly() bool
	// View calls f with a Reader that sees the catalog as it is at its first read,
	// whoever writes meanwhile. The Reader ends with f.
	View(ctx context.Context, f func(Reader) error) error
	// Update calls f in a transaction, of which only one runs at a time, in
	// whatever process. It commits when f returns nil; otherwise nothing happened.
	// If f changed anything that a reader can see, the generation has grown by one.
	Update(ctx context.Context, f func(Tx) error) error
	Close() error
}

// A Reader reads a catalog.
type Reader interface {
	State(ctx context.Context) (State, error)
	// Sources returns all sources, by label.
	Sources(ctx context.Context) ([]Source, error)
	// Known returns what is known of the skills of a source by their paths: of
	// these paths, or of all if paths is nil.
	Known(ctx context.Context, source int64, paths []string) (map[string]Known, error)
	// Entries returns the rows of these skills, or of all if rows is nil, by name
	// and of each name the offered one first. Rows that are gone are left out.
	Entries(ctx context.Context, rows []int64) ([]Entry, error)
	// Skill returns a skill as it was indexed, with its files; ok is false when
	// there is none.
	Skill(ctx context.Context, row int64) (s *skill.Skill, ok bool, err error)
	// Files returns the files of a skill as they were indexed, by path.
	Files(ctx context.Context, row int64) ([]skill.File, error)
	// Problems returns the problems of all skills, by priority of their sources,
	// label and path.
	Problems(ctx context.Context) ([]Reported, error)
	// Ranked returns what ranking by text reads of a skill; ok is false when that is
	// not there, as for a refused one.
	Ranked(ctx context.Context, row int64) (r Ranked, ok bool, err error)
	// Vectors returns the vectors of a model of one skill, by ordinal. Each value
	// is what was put to within 1/254 of the vector's largest.
	Vectors(ctx context.Context, model string, row int64) ([]Vector, error)
	// Changes returns the rows of the skills that changed after a generation, in
	// rising order: what a search sees of them, their vectors of the model, or that
	// they are there at all. ok is false when that cannot be told: the generation is
	// none of this catalog, or too long ago.
	Changes(ctx context.Context, since Generation, model string) (rows []int64, ok bool, err error)
	// Unembedded returns the texts without a vector of the model of the first skills
	// that have any, up to limit skills whose rows are greater than after, by row and
	// ordinal.
	Unembedded(ctx context.Context, model string, after int64, limit int) ([]Text, error)
	// Coverage returns how many texts these skills have, or all if rows is nil, and
	// how many of the texts have a vector of the model.
	Coverage(ctx context.Context, model string, rows []int64) (texts, embedded int, err error)
	// Models returns the models that vectors are from, by name.
	Models(ctx context.Context) ([]Model, error)
}

// A Tx is the transaction of one Update; it must not be used after it. It sees
// what it has changed.
type Tx interface {
	// State returns the state before the transaction.
	State() (State, error)
	// PutSource adds the source of that label, or updates it, and returns its row.
	// Walked is left as it is.
	PutSource(s Source) (int64, error)
	// DeleteSource removes a source with its skills.
	DeleteSource(source int64) error
	// Walked notes that the source was walked completely at that time, in Unix
	// nanoseconds. Only the first time is a change that readers see.
	Walked(source int64, at int64) error
	// PutSkill adds or replaces the skill at r.Path of the source and returns its
	// row. Which skill of a name is offered is settled when the transaction ends.
	PutSkill(source int64, r *Record) (int64, error)
	// PutStamp notes that a skill was looked at and had not changed: no change that
	// readers see.
	PutStamp(row int64, stamp string) error
	// ForgetStamps empties the stamps and digests of the skills of a source, so that
	// all of them are read again.
	ForgetStamps(source int64) error
	// DeleteSkill removes a skill and all that belongs to it.
	DeleteSkill(row int64) error
	// PutVectors stores the vectors of texts, given by their hashes.
	PutVectors(model string, hashes [][]byte, vectors [][]float32) error
	// PruneVectors removes the vectors of texts that no skill has any more.
	PruneVectors() error
	// DropModels removes the vectors of all models but one.
	DropModels(keep string) error
	// Forget lets Changes forget what changed up to a generation, because no reader
	// starts from an older one any more: no change that readers see.
	Forget(until Generation) error
}

// A TextSearcher is an engine that ranks by text itself and knows a query
// language. Engines without it answer from what is compiled.
type TextSearcher interface {
	// Match returns the best skills for a query, best first and ties by name: of the
	// offered ones those whose rows are in allowed, or all if allowed is nil.
	Match(ctx context.Context, query string, w skill.Weights, allowed []int64, limit int) ([]Match, error)
	// Frequencies returns in how many skills each of the terms occurs, and how many
	// skills there are. A term that occurs nowhere is not in the map.
	Frequencies(ctx context.Context, terms []string) (map[string]int, int, error)
}

// An Optimizer is a Tx of an engine that can make searching faster, at a cost that
// grows with the whole catalog: worth it after a large change.
type Optimizer interface{ Optimize() }

// Package store declares what a catalog keeps of its skills: their text, terms,
// vectors, and what has changed since when. The write side fills a Store and the
// read side asks it. store/sqlite is the engine of every catalog file,
// store/memory is one for tests. Everything in a store can be made again from the
// sources.
//
// The one rule: only an Update changes anything, and each Update that changes what
// readers see makes the number of the generation grow by one. A store does not
// know what is published of a generation, or where.
package store

import (
	"context"
	"errors"

	"github.com/repertoire-skills/repertoire/skill"
)

var (
	// ErrReadOnly says that the catalog cannot be written.
	ErrReadOnly = errors.New("catalog is read-only")
	// ErrDamaged says that an engine found what it never wrote: the catalog must be
	// made again.
	ErrDamaged = errors.New("catalog is damaged")
)

// A Store is one catalog in one engine. Several goroutines may use it, and several
// processes may use the same catalog. Package storetest checks an engine.
type Store interface {
	Reader // of the present state; two calls may see different states

	// Ready opens what was not needed before; its error says why that failed.
	Ready(ctx context.Context) error
	// ReadOnly reports whether the catalog cannot be written where it is: then
	// Update fails with ErrReadOnly.
	ReadOnly() bool
	// View calls f with a Reader that sees one state of the catalog all the time,
	// whoever writes meanwhile. f must not keep the Reader.
	View(ctx context.Context, f func(Reader) error) error
	// Update calls f in a transaction. One transaction runs at a time, in all
	// processes, so f must not call Update. When f returns nil, the transaction is
	// committed; when f fails or panics, nothing has happened.
	Update(ctx context.Context, f func(Tx) error) error
	Close() error
}

// A Reader reads a catalog. A call whose context has ended fails with the error of
// the context. Callers must not change what a Reader returns.
type Reader interface {
	State(ctx context.Context) (State, error)
	// Sources returns all sources, ordered by label.
	Sources(ctx context.Context) ([]Source, error)
	// Known returns what the catalog knows of the skills of a source, by path. It
	// looks at these paths only; nil means all.
	Known(ctx context.Context, source int64, paths []string) (map[string]Known, error)
	// Entries returns the entries of these rows; nil means all. They are ordered by
	// NameKey, then by precedence: the highest priority first, then by label and path.
	// Rows that do not exist are left out.
	Entries(ctx context.Context, rows []int64) ([]Entry, error)
	// Skill returns what the catalog keeps of a skill: its Meta without the ID, its
	// Frontmatter, Body, Files and Problems. ok is false when there is no such row.
	Skill(ctx context.Context, row int64) (s *skill.Skill, ok bool, err error)
	// Files returns the files of a skill, ordered by path.
	Files(ctx context.Context, row int64) ([]skill.File, error)
	// Problems returns the problems of all skills: those of the highest priority
	// first, then by label and path.
	Problems(ctx context.Context) ([]Reported, error)
	// Ranked returns what ranking by text reads of a skill. ok is false when the skill
	// is refused, or when there is no such row.
	Ranked(ctx context.Context, row int64) (r Ranked, ok bool, err error)
	// Vectors returns the vectors of a skill by a model, ordered by ordinal. Engines
	// round: a value may differ by 1/254 of the largest value of its vector.
	Vectors(ctx context.Context, model string, row int64) ([]Vector, error)
	// Changes returns the rows of the skills that changed after a generation, in
	// rising order: skills that were put or deleted or whose Entry is another one, and
	// skills with new vectors of the model. ok is false when the catalog cannot tell:
	// it never had this generation, or it has forgotten what followed.
	Changes(ctx context.Context, since Generation, model string) (rows []int64, ok bool, err error)
	// Unembedded returns the texts that have no vector of the model, ordered by row
	// and ordinal: all such texts of the first limit skills that have any and whose
	// rows are greater than after.
	Unembedded(ctx context.Context, model string, after int64, limit int) ([]Text, error)
	// Coverage counts the texts of these rows, and how many of the texts have a vector
	// of the model; nil means all rows.
	Coverage(ctx context.Context, model string, rows []int64) (texts, embedded int, err error)
	// Models returns the models that made vectors of the catalog, ordered by name.
	Models(ctx context.Context) ([]Model, error)
}

// A Tx is the transaction of one Update. It must not be used after the Update, or
// from several goroutines. Each method says when it changes nothing that readers
// see; all others count as a change, even if they put what was there.
type Tx interface {
	// State returns the state so far. Its Generation is the one before the
	// transaction, because a commit makes the next one.
	State() (State, error)
	// PutSource adds or replaces the source with the label of s and returns its row.
	// It ignores s.Row and s.Walked, and keeps the time of the last walk.
	PutSource(s Source) (int64, error)
	// DeleteSource removes a source and its skills. Without such a source it changes
	// nothing.
	DeleteSource(source int64) error
	// Walked notes when the source was walked completely, in Unix nanoseconds. Only
	// the first walk of a source is a change that readers see.
	Walked(source int64, at int64) error
	// PutSkill adds or replaces the skill at r.Path of the source and returns its row.
	// A skill keeps its row, and a row is never given to another skill. Which skill of
	// each name is offered is settled when the transaction ends.
	PutSkill(source int64, r *Record) (int64, error)
	// PutStamp notes the new stamp of a skill whose digest is the same. Readers see no
	// change.
	PutStamp(row int64, stamp string) error
	// ForgetStamps empties the stamps and digests of the skills of a source, so that
	// all of them are read again. Without skills it changes nothing.
	ForgetStamps(source int64) error
	// DeleteSkill removes a skill and all that belongs to it, but for the vectors of
	// its texts. Without such a row it changes nothing.
	DeleteSkill(row int64) error
	// PutVectors stores vectors[i] as the vector of the text with hashes[i]. Without
	// hashes it changes nothing.
	PutVectors(model string, hashes [][]byte, vectors [][]float32) error
	// PruneVectors removes the vectors of texts that no skill has. Readers see no
	// change.
	PruneVectors() error
	// DropModels removes all models but one, with their vectors. Changes then knows no
	// generation before this transaction. Without other models it changes nothing.
	DropModels(keep string) error
	// Forget lets the catalog forget what changed before a generation, because no
	// reader asks Changes for an older one any more. Readers see no change.
	Forget(before Generation) error
}

// A TextSearcher is an engine that ranks by text itself and knows a query
// language.
type TextSearcher interface {
	// Match returns the best skills for a query, best first, then by name. It ranks
	// the offered skills whose rows are in allowed; nil means all.
	Match(ctx context.Context, query string, w skill.Weights, allowed []int64, limit int) ([]Match, error)
	// Frequencies returns in how many skills each of the terms occurs, and the number
	// of skills that are not refused. A term that occurs nowhere is not in the map.
	Frequencies(ctx context.Context, terms []string) (map[string]int, int, error)
}

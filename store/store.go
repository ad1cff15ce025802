// Package store declares what a catalog keeps about its skills: text, terms, vectors, and
// the history of changes. The write side fills a Store; the read side queries it.
// store/sqlite is the engine of every catalog file, store/postgres that of catalogs that
// several machines share, and store/memorytest is for tests. All content of a store can be made
// again from the sources, except for the files of skills that Files reads.
//
// Its one rule: only Update changes anything, and each Update that changes what readers
// see increases the generation's number by 1. A store does not know which generation is
// published, or where.
package store

import (
	"context"
	"errors"
	"math"

	"github.com/repertoire-skills/repertoire/skill"
)

var (
	// ErrReadOnly means that the catalog cannot be written.
	ErrReadOnly = errors.New("catalog is read-only")
	// ErrClosed means that the catalog was used after it was closed.
	ErrClosed = errors.New("catalog is closed")
	// ErrDamaged means that an engine found data that it never wrote. The catalog must
	// be made again.
	ErrDamaged = errors.New("catalog is damaged")
	// ErrStale means that somebody has replaced or removed the files that an engine has
	// open. The catalog must be opened again.
	ErrStale = errors.New("catalog was replaced")
	// ErrUnreachable means that an engine on another machine cannot be asked now.
	ErrUnreachable = errors.New("the shared catalog cannot be reached")
)

// A Store is one catalog in one engine. Several goroutines may use it, and several
// processes may use the same catalog. Package storetest checks an engine.
type Store interface {
	Reader // reads the current state; two calls may see different states

	// Ready opens what was not needed before, and returns the error of opening. It fails
	// with ErrStale if what is open is no longer the catalog.
	Ready(ctx context.Context) error
	// Look returns a text that differs after anybody has written the catalog or has put
	// another one in its place, and mostly only then. It opens nothing. "" means that
	// there is no such text, or no catalog.
	Look() string
	// Settle does what Close would do to the catalog, and returns the State and what Look
	// then returns, also after Close. The look is "" if somebody changes the catalog
	// meanwhile, if it cannot be written, or if nothing has needed it so far.
	Settle(ctx context.Context) (State, string, error)
	// ReadOnly reports whether the catalog cannot be written; Update then fails with
	// ErrReadOnly.
	ReadOnly() bool
	// View calls f with a Reader that sees one state of the catalog, even if somebody
	// writes meanwhile. f must not keep the Reader.
	View(ctx context.Context, f func(Reader) error) error
	// Update calls f in a transaction. All processes together run one transaction at a
	// time, so f must not call Update. When f returns nil, the transaction is committed;
	// when f fails or panics, nothing changes.
	Update(ctx context.Context, f func(Tx) error) error
	Close() error
}

// An Announcer is an engine of files, beside which somebody keeps what must go before anybody
// can see that the catalog has changed.
type Announcer interface {
	// BeforeChange makes the engine call f, while nobody else can write, before it commits
	// what changes what readers see. An error of f cancels the commit. There is one f, the
	// last one.
	BeforeChange(f func() error)
}

// A Space is what one model makes: a vector of each text of a skill whose ordinal is at least From
// and below To, see Text; a To of 0 means no limit.
type Space struct {
	Model    string
	From, To int
}

// End returns To, or a number above all ordinals.
func (s Space) End() int {
	if s.To == 0 {
		return math.MaxInt32
	}
	return s.To
}

// A Reader reads a catalog. If the context has ended, a call returns the context's error.
// Callers must not change the results.
type Reader interface {
	State(ctx context.Context) (State, error)
	// Sources returns all sources, ordered by label.
	Sources(ctx context.Context) ([]Source, error)
	// Known returns what the catalog knows about the skills of a source, by path. It
	// returns only skills at these paths; nil means all.
	Known(ctx context.Context, source int64, paths []string) (map[string]Known, error)
	// Entries returns the entries of these rows; nil means all rows. They are ordered by
	// NameKey, then by precedence: sources that are not away first, then the highest
	// priority, then by label, then skill.ComparePlaces. It skips rows that do not exist.
	Entries(ctx context.Context, rows []int64) ([]Entry, error)
	// Skill returns a skill as the catalog keeps it: its Meta without the ID, and its
	// Frontmatter, Body and Problems. ok is false if there is no such row.
	Skill(ctx context.Context, row int64) (s *skill.Skill, ok bool, err error)
	// Problems returns the problems of all skills, ordered by the precedence of their
	// sources, then by path.
	Problems(ctx context.Context) ([]Reported, error)
	// Rankings returns what ranking needs about the skills in these rows, by row, with their
	// vectors by a model; "" means no vectors. It leaves out rows that do not exist and
	// refused skills. Engines may round each value of a vector by up to 1/254 of the largest
	// one in it. Callers ask about some hundred rows at a time, because an engine may be far
	// away.
	Rankings(ctx context.Context, model string, rows []int64) (map[int64]Ranking, error)
	// Changes returns the rows of the skills that changed after a generation, ascending:
	// skills that were put or deleted, skills whose Entry differs, and skills with new or
	// other vectors by the model. ok is false if the catalog does not know: it never had this
	// generation, or it has forgotten the changes since.
	Changes(ctx context.Context, since Generation, model string) (rows []int64, ok bool, err error)
	// Vectors returns the vectors of the skills in these rows by a model, by row. It leaves out
	// rows without any.
	Vectors(ctx context.Context, model string, rows []int64) (map[int64][]Vector, error)
	// Unembedded returns texts of the space without a vector, by descending row, so the
	// newest first, then by descending ordinal. It looks at rows below before, 0 means at
	// all, and returns all such texts of the first limit skills that have any.
	Unembedded(ctx context.Context, s Space, before int64, limit int) ([]Text, error)
	// Coverage counts the texts of the space in these rows, and how many of them have a
	// vector; nil means all rows.
	Coverage(ctx context.Context, s Space, rows []int64) (texts, embedded int, err error)
	// Models returns the models whose vectors the catalog has had, ordered by name.
	Models(ctx context.Context) ([]Model, error)
}

// A Tx is the transaction of one Update. It must not be used after the Update, or by
// several goroutines. Every method counts as a change that readers see, even if it writes
// the same values again, unless its comment says otherwise.
type Tx interface {
	// State returns the current state. Its Generation is the one before the transaction,
	// because the commit makes the next one.
	State() (State, error)
	// PutSource adds or replaces the source with the label of s and returns its row.
	// It ignores s.Row, s.Walked and s.Identity, and keeps what Walked recorded, but not the
	// identity if s.Root is another one. An empty s.Origin keeps the origin. A skill of a source
	// that is away shadows none of a source that is not.
	PutSource(s Source) (int64, error)
	// DeleteSource removes a source and its skills. If there is no such source, it changes
	// nothing.
	DeleteSource(source int64) error
	// Walked records the time of a complete walk of the source, in Unix nanoseconds, and
	// the identity of its folder. Only a source's first walk is a change that readers see.
	Walked(source int64, at int64, identity string) error
	// PutSkill adds or replaces the skill at r.Path of the source and returns its row. A
	// skill keeps its row, and no other skill ever gets it. The end of the transaction
	// decides which skill of each name is offered.
	PutSkill(source int64, r *Record) (int64, error)
	// PutStamp records the new stamp of a skill whose digest is the same. Readers see no
	// change.
	PutStamp(row int64, stamp string) error
	// ForgetStamps clears the stamps and digests of the skills of a source, so that they
	// are all read again. If there are no skills, it changes nothing.
	ForgetStamps(source int64) error
	// DeleteSkill removes a skill, but keeps the vectors of its texts. If there is no such
	// row, it changes nothing.
	DeleteSkill(row int64) error
	// PutVectors stores vectors[i], packed by PackVector, as the vector of the text with
	// hashes[i]. Without hashes it changes nothing. A vector that is the same again changes none of the skills with
	// this text: there may be very many.
	PutVectors(model string, hashes, vectors [][]byte) error
	// PruneVectors removes vectors of texts that no skill has. Readers see no change.
	PruneVectors() error
	// DropModel removes a model with its vectors. Changes then knows no generation before this
	// transaction. If there is no such model, it changes nothing.
	DropModel(name string) error
	// Forget removes the history before a generation, because no reader will ask Changes
	// about an older one. Readers see no change.
	Forget(before Generation) error
}

// A TextSearcher is an engine that ranks by text itself and has a query language.
type TextSearcher interface {
	// Match returns the best skills for a query: best first, ties by name. It ranks the
	// skills whose rows are in allowed, offered or not; nil means all offered skills.
	Match(ctx context.Context, query string, w skill.Weights, allowed []int64, limit int) ([]Match, error)
	// Frequencies returns the number of skills that have each term, and the number of
	// skills that are not refused. A term that no skill has is not in the map.
	Frequencies(ctx context.Context, terms []string) (map[string]int, int, error)
}

package store

import (
	"context"
	"io"
	"time"

	"github.com/repertoire-skills/repertoire/skill"
)

// The interfaces of this file are for engines that several machines share: a program
// pushes skills with their files into the engine, and nodes answer from it. An engine
// implements all of them or none, but for UsageLog. Package storetest checks them with TestShared. What needs
// to write fails with ErrReadOnly if the catalog cannot be written.

// A Joiner makes one transaction of many.
type Joiner interface {
	// Join calls f with a Store whose Updates all belong to one transaction. It commits
	// when f returns nil; when f fails or panics, or the process is killed, nothing has
	// changed. An Update that fails undoes only what it did itself. All Updates together
	// make one generation, and none if they changed nothing that readers see. Inside,
	// readers see what was changed so far, in a State with the generation before. All
	// processes together run one Join or Update of a catalog at a time. f must not keep the
	// Store.
	Join(ctx context.Context, f func(Store) error) error
}

// Files reads the files of skills. They are part of the catalog's truth: they cannot be
// made again from anything else that the engine has.
type Files interface {
	// SkillFiles returns the files of the skill in a folder of the source with this
	// label, sorted by path, with their digests. If there is no such skill, the error
	// wraps fs.ErrNotExist.
	SkillFiles(ctx context.Context, source, dir string) ([]skill.File, error)
	// Content returns the bytes with this digest, which is hexadecimal SHA-256. It checks
	// them: other bytes are ErrDamaged. If there are none, the error wraps fs.ErrNotExist.
	Content(ctx context.Context, sha256 string) ([]byte, error)
}

// A FileTx is a Tx that also writes files: every Tx of such an engine is one. Files of a
// skill that is deleted go with it, and content that no skill refers to goes at the end of
// the transaction.
type FileTx interface {
	Tx
	// PutFiles replaces the list of the files of a skill. Their content must be there at
	// the end of the transaction. If there is no such row, it fails.
	PutFiles(row int64, files []skill.File) error
	// Missing returns those of the digests whose content is not there, or is damaged, without
	// duplicates. It changes nothing.
	Missing(sha256 []string) ([]string, error)
	// PutContent stores bytes under their digest, and fails if that is not theirs. Bytes
	// that are there already are replaced. Readers see no change.
	PutContent(sha256 string, data []byte) error
}

// A Base is a compiled snapshot of all skills of a generation, see package snapshot.
type Base struct {
	Key        string // which embedder and weights it was compiled for
	Generation Generation
	Size       int64  // bytes
	SHA256     string // hexadecimal
}

// Bases passes on compiled bases, so that nodes download them instead of compiling. They
// can be made again from the rest of the catalog. A new base counts as no change of it.
type Bases interface {
	// Base returns the newest base of a key; ok is false if there is none.
	Base(ctx context.Context, key string) (b Base, ok bool, err error)
	// GetBase writes the bytes of a base to w, piece by piece. If the base has been
	// replaced meanwhile, the error wraps ErrStale; if the bytes do not have its checksum,
	// ErrDamaged.
	GetBase(ctx context.Context, b Base, w io.Writer) error
	// PutBase stores a base and removes older ones of its key. If one of this generation
	// or a newer one is there, it does nothing. If Changes does not know the generation, the
	// error wraps ErrStale; other bytes than b says are an error too. What an interrupted
	// call left is never seen.
	PutBase(ctx context.Context, b Base, r io.Reader) error
}

// A Watcher notices that another process has changed the catalog.
type Watcher interface {
	// Watch calls changed with the current State, and again after changes, once for those
	// that come close together, until ctx ends. It calls lost with an error when it cannot
	// know the state any more, then tries again with growing pauses, and calls changed when
	// it knows again. It calls both from one goroutine, and returns ctx.Err().
	Watch(ctx context.Context, changed func(State), lost func(error)) error
}

// A Token lets those who bear it see a part of the catalog.
type Token struct {
	Name    string    `json:"name"`             // names it for people; unique
	Hash    string    `json:"sha256"`           // hexadecimal SHA-256 of the secret, which nobody keeps
	Agent   string    `json:"agent,omitempty"`  // what it shows: the scope of this configured agent; "" means the whole catalog
	Created time.Time `json:"created"`          // UTC; engines may keep whole seconds
	Expires time.Time `json:"expires,omitzero"` // UTC; the zero time means never
}

// Tokens keeps the tokens of a catalog for all nodes. A changed token counts as no change
// of the catalog, but a Watcher calls changed for it.
type Tokens interface {
	// Tokens returns all tokens, ordered by name.
	Tokens(ctx context.Context) ([]Token, error)
	// HadToken reports whether the catalog has a token, or ever had one.
	HadToken(ctx context.Context) (bool, error)
	// AddToken adds a token. If its name is taken, the error wraps fs.ErrExist.
	AddToken(ctx context.Context, t Token) error
	// RevokeToken removes a token; ok is false if there is none of that name.
	RevokeToken(ctx context.Context, name string) (ok bool, err error)
}

// Bounds of a UsageLog, as of every log of usage.
const (
	UsageMonths     = 12       // that are kept, of those that have lines
	UsageMonthBytes = 32 << 20 // bytes of the lines of one month, which begins and ends as in UTC
)

// A UsageLine is a line of the log of usage, see package usage.
type UsageLine struct {
	Time time.Time // engines may keep whole microseconds
	Data []byte
}

// A UsageLog keeps the log of usage of all nodes of a catalog in one place. An engine need not
// have one. Its lines are no part of the catalog, and nobody who watches hears of them.
type UsageLog interface {
	// AddUsage adds lines, all or none. Then it removes the oldest ones that are too many for the
	// bounds above, and lines whose time is more than a day ahead. It does not add a line that is
	// there already, so it may be called again when its answer is lost. An engine may let nodes
	// add lines, who else may only read.
	AddUsage(ctx context.Context, lines []UsageLine) error
	// UsageSince calls f for each line since a time, ordered by time, until f fails.
	UsageSince(ctx context.Context, since time.Time, f func(UsageLine) error) error
	// ForgetUsage removes all lines.
	ForgetUsage(ctx context.Context) error
}

// A Proposal is a proposed change of a skill. What it says is the business of package proposal.
type Proposal struct {
	ID    string
	Waits bool   // for a decision
	Info  []byte // what is known of it
	Text  []byte // the rest, which does not change
}

// Proposals keeps proposed changes, and what was decided about them, for all machines. They are
// part of the catalog's truth, and no change of it. An engine need not keep any. As with a UsageLog, it may
// let nodes write them, who else may only read.
type Proposals interface {
	// Proposals returns all proposals without their Text, ordered by ID.
	Proposals(ctx context.Context) ([]Proposal, error)
	// Proposal returns a whole proposal. If there is none, the error wraps fs.ErrNotExist.
	Proposal(ctx context.Context, id string) (Proposal, error)
	// AddProposal adds a proposal. If there is one of its ID, the error wraps fs.ErrExist.
	AddProposal(ctx context.Context, p Proposal) error
	// SetProposal replaces Waits and Info of a proposal. If its Info is not was, because
	// somebody else was faster, or there is none of its ID, the error wraps ErrStale.
	SetProposal(ctx context.Context, p Proposal, was []byte) error
}

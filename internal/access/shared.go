package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/repertoire-skills/repertoire/store"
)

// Shared checks the secrets of the tokens of a shared catalog. It keeps the last known
// tokens in a file: they count while the engine cannot be reached, also after a restart.
type Shared struct {
	tokens store.Tokens
	kept   string // name of the file, which is there as soon as there was a token
	log    *slog.Logger
	known  atomic.Pointer[known] // nil means that the tokens were never read
	any    atomic.Bool           // there was a token, see Any

	mu     sync.Mutex    // serialises Reload
	last   []store.Token // that known was made of
	isKept bool          // the file has last
	warned bool          // the log has that it does not
}

// OpenShared returns a Checker of tokens, and reads the last known ones from the file kept. It
// asks the engine for none: see Reload and Follow. log gets messages about an engine that
// cannot be reached; nil means no messages. With kept "" a restart knows no tokens.
func OpenShared(tokens store.Tokens, kept string, log *slog.Logger) *Shared {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	s := &Shared{tokens: tokens, kept: kept, log: log}
	if kept == "" {
		return s
	}
	last, ok, err := readKept(kept)
	if err != nil {
		log.Warn("the last known tokens do not count: nobody is let in until the database is reached", "error", err)
	} else if ok {
		s.any.Store(true)
		s.set(last)
		s.isKept = true
	}
	return s
}

func (s *Shared) set(tokens []store.Token) {
	s.last = tokens
	if len(tokens) > 0 {
		s.any.Store(true)
	}
	k := knownOf(tokens)
	s.known.Store(&k)
}

// errStarting means that the tokens were never read.
var errStarting = errors.New("the tokens of the shared catalog are not known yet: its database was never reached")

// Check implements Checker. It asks no engine.
func (s *Shared) Check(_ context.Context, secret string) (Caller, error) {
	k := s.known.Load()
	if k == nil {
		return Caller{}, errStarting
	}
	return k.check(secret, time.Now())
}

// Any reports whether there has ever been a token, or there may be one. Who revokes the last
// token wants to let in nobody, not everybody.
func (s *Shared) Any() bool { return s.known.Load() == nil || s.any.Load() }

// Known reports whether the tokens were ever read. Before, nobody is let in.
func (s *Shared) Known() bool { return s.known.Load() != nil }

// Reload reads the tokens, and keeps them for a restart. If reading fails, the last known ones
// stay. If keeping fails, they count until a restart, which then knows none.
func (s *Shared) Reload(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	return errors.Join(s.read(ctx), s.keep())
}

func (s *Shared) read(ctx context.Context) error {
	tokens, err := s.tokens.Tokens(ctx)
	if err == nil && len(tokens) == 0 && !s.any.Load() {
		var had bool
		had, err = s.tokens.HadToken(ctx)
		s.any.Store(had)
	}
	if err != nil {
		return fmt.Errorf("reading tokens: %w", err)
	}
	s.isKept = s.isKept && slices.Equal(tokens, s.last)
	s.set(tokens)
	return nil
}

// keep writes the tokens to the file. If it cannot, it withdraws the file, which may have
// tokens that are revoked.
func (s *Shared) keep() error {
	if s.kept == "" || !s.Known() || !s.any.Load() || s.isKept {
		return nil
	}
	err := os.MkdirAll(filepath.Dir(s.kept), 0o700)
	if err == nil {
		err = writeTokens(s.kept, s.last)
	}
	if s.isKept = err == nil; s.isKept {
		s.warned = false
		return nil
	}
	old := withdraw(s.kept)
	switch {
	case s.warned: // tried again
	case old != nil:
		s.log.Error("an old list of tokens can neither be replaced nor removed: remove the file, or a token that is revoked may count after a restart", "error", errors.Join(err, old))
	default:
		s.log.Warn("tokens are not kept: a restart lets nobody in until the database is reached", "error", err)
	}
	s.warned = true
	return fmt.Errorf("keeping tokens for a restart: %w", errors.Join(err, old))
}

const (
	reloadTime = 10 * time.Second // that reading tokens may take
	firstRetry = time.Second      // pause after a failure; it grows to
	lastRetry  = 30 * time.Second
)

// Follow reads the tokens whenever there is a value in changed, until ctx ends.
func (s *Shared) Follow(ctx context.Context, changed <-chan struct{}) {
	pause := firstRetry
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			pause = firstRetry
		case <-again:
		}
		again = nil
		if err := s.Reload(ctx); err != nil && ctx.Err() == nil {
			s.log.Info("the tokens are read again soon", "error", err)
			again = time.After(pause/2 + rand.N(pause)) // not all servers at once
			pause = min(2*pause, lastRetry)
		}
	}
}

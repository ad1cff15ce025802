// Package access says who asks a server and what they may see: it checks the secret of a
// request and returns the caller.
//
// The one rule: when it is not certain that a secret is good, it is refused. No secret is
// kept, logged or part of an error.
package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Caller is who bears a secret.
type Caller struct {
	// Name names the caller in limits and in logs. "" means that whoever bears the secret is
	// not told apart from others who do.
	Name string
	// Agent is the configured agent whose scope the caller sees; "" means the whole catalog.
	Agent string
}

// ErrUnknown means that nobody bears the secret: it is wrong, revoked or expired.
var ErrUnknown = errors.New("the token is not known here, or has expired")

// ErrRefused means that the bearer of a secret is known, and may see nothing here.
var ErrRefused = errors.New("this token shows no skills here")

// NoAgent is the error for an agent that is none of those whose scopes callers may see.
func NoAgent(name string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("no agent %q: the configuration names none", name)
	}
	return fmt.Errorf("no agent %q%s", name, words.Suggest(name, names))
}

// A Checker checks secrets. It may be used by several goroutines.
type Checker interface {
	// Check returns the bearer of a secret. If there is none, the error wraps ErrUnknown; if
	// the bearer may see nothing, ErrRefused; another error means that nobody can tell now.
	Check(ctx context.Context, secret string) (Caller, error)
}

// A checkerFunc is a function that is a Checker.
type checkerFunc func(ctx context.Context, secret string) (Caller, error)

func (f checkerFunc) Check(ctx context.Context, secret string) (Caller, error) { return f(ctx, secret) }

// Any returns a Checker that knows what one of the checkers knows.
func Any(checkers ...Checker) Checker {
	return checkerFunc(func(ctx context.Context, secret string) (Caller, error) {
		var uncertain error
		for _, c := range checkers {
			caller, err := c.Check(ctx, secret)
			if err == nil {
				return caller, nil
			}
			if !errors.Is(err, ErrUnknown) {
				uncertain = errors.Join(uncertain, err)
			}
		}
		if uncertain != nil {
			return Caller{}, uncertain
		}
		return Caller{}, ErrUnknown
	})
}

// Single returns a Checker that knows one secret, which many may bear: they see the whole
// catalog and have no name. It compares digests, which takes the same time for all secrets.
func Single(secret string) Checker {
	known := sha256.Sum256([]byte(secret))
	return checkerFunc(func(_ context.Context, secret string) (Caller, error) {
		sum := sha256.Sum256([]byte(secret))
		if subtle.ConstantTimeCompare(sum[:], known[:]) != 1 {
			return Caller{}, ErrUnknown
		}
		return Caller{}, nil
	})
}

// OpenWhile returns a Checker that lets everybody see everything while open returns true, and
// then asks c.
func OpenWhile(open func() bool, c Checker) Checker {
	return checkerFunc(func(ctx context.Context, secret string) (Caller, error) {
		if open() {
			return Caller{}, nil
		}
		return c.Check(ctx, secret)
	})
}

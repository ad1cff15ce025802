package access

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/store"
)

// secretPrefix lets people, and programs that look for leaked secrets, recognise a secret.
const secretPrefix = "repertoire_"

// NewToken returns a token and its secret, which the token does not hold. The secret has 130
// random bits, so its plain hash tells nothing about it.
func NewToken(name, agent string, created, expires time.Time) (t store.Token, secret string, err error) {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, notInName) {
		return t, "", fmt.Errorf("%q cannot name a token: take at most %d letters, digits and . _ - @", name, maxName)
	}
	if !expires.IsZero() && !expires.After(created) {
		return t, "", fmt.Errorf("token %s would have expired at %s already", name, expires.Format(time.RFC3339))
	}
	secret = secretPrefix + rand.Text()
	sum := sha256.Sum256([]byte(secret))
	// Whole seconds are what people read, and what every engine keeps.
	return store.Token{Name: name, Hash: hex.EncodeToString(sum[:]), Agent: agent,
		Created: created.UTC().Truncate(time.Second), Expires: expires.UTC().Truncate(time.Second)}, secret, nil
}

const maxName = 64

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-@", r)
}

// Expiry returns the end of a time span from now, such as "90d", or a day; "" is the zero time.
func Expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	units := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}
	n, err := strconv.Atoi(text[:len(text)-1])
	unit := units[text[len(text)-1:]]
	if most := 100 * 365 * 24 * time.Hour; err != nil || unit == 0 || n <= 0 || n > int(most/unit) {
		return time.Time{}, fmt.Errorf("%s is not a time such as 12h, 90d, 8w or 2030-12-31", text)
	}
	return now.Add(time.Duration(n) * unit), nil
}

// Revoke revokes the token of a name, and returns it.
func Revoke(ctx context.Context, list store.Tokens, name string) (store.Token, error) {
	tokens, err := list.Tokens(ctx)
	if err != nil {
		return store.Token{}, err
	}
	var names []string
	for _, t := range tokens {
		if t.Name == name {
			if _, err := list.RevokeToken(ctx, name); err != nil { // if somebody else has revoked it just now, it is gone too
				return t, fmt.Errorf("revoking the token: %w", err)
			}
			return t, nil
		}
		names = append(names, t.Name)
	}
	return store.Token{}, fmt.Errorf("there is no token %q; there are: %s", name, cmp.Or(strings.Join(names, ", "), "none"))
}

// Expired reports whether a token counts no more.
func Expired(t store.Token, now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// known are tokens by the digest of their secret.
type known map[[sha256.Size]byte]store.Token

func knownOf(tokens []store.Token) known {
	k := make(known, len(tokens))
	for _, t := range tokens {
		// Skip a hash that no secret can have.
		if sum, err := hex.DecodeString(t.Hash); err == nil && len(sum) == sha256.Size {
			k[[sha256.Size]byte(sum)] = t
		}
	}
	return k
}

// check returns the bearer of a secret. A search in a map may take longer for one digest than
// for another, but nobody can choose secrets by the beginning of their digests.
func (k known) check(secret string, now time.Time) (Caller, error) {
	sum := sha256.Sum256([]byte(secret))
	t, ok := k[sum]
	hash := hex.EncodeToString(sum[:])
	if !ok || subtle.ConstantTimeCompare([]byte(hash), []byte(strings.ToLower(t.Hash))) != 1 || Expired(t, now) {
		return Caller{}, ErrUnknown
	}
	return Caller{Name: t.Name, Agent: t.Agent}, nil
}

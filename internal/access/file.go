package access

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/store"
)

// A File keeps tokens in a file, for the servers of one machine. It implements store.Tokens
// and Checker. Other processes may change the file at any time. A nil *File has no tokens, and
// takes none.
type File struct {
	name string

	mu    sync.Mutex
	info  fs.FileInfo // of the file when it was read; nil means that it was not there
	read  bool        // the file was read, or was not there
	known known
	err   error // of reading it
}

// Open returns the file "tokens.json" in a folder. It need not exist.
func Open(state string) *File { return &File{name: filepath.Join(state, "tokens.json")} }

// Exists reports whether a token was ever added. A file that cannot be looked at exists.
func (f *File) Exists() bool {
	if f == nil {
		return false
	}
	_, err := os.Stat(f.name)
	return !errors.Is(err, fs.ErrNotExist)
}

// Check implements Checker. While the file cannot be read nobody is known.
func (f *File) Check(_ context.Context, secret string) (Caller, error) {
	if f == nil {
		return Caller{}, ErrUnknown
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.name)
	if err != nil {
		info = nil
	}
	if !f.read || !same(info, f.info) {
		tokens, err := readTokens(f.name)
		f.info, f.read, f.known, f.err = info, true, knownOf(tokens), err
	}
	if f.err != nil {
		return Caller{}, f.err
	}
	return f.known.check(secret, time.Now())
}

func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Tokens implements store.Tokens.
func (f *File) Tokens(context.Context) ([]store.Token, error) { return readTokens(f.name) }

// HadToken implements store.Tokens.
func (f *File) HadToken(context.Context) (bool, error) { return f.Exists(), nil }

// AddToken implements store.Tokens.
func (f *File) AddToken(ctx context.Context, t store.Token) error {
	return f.change(ctx, func(tokens []store.Token) ([]store.Token, error) {
		if slices.ContainsFunc(tokens, func(old store.Token) bool { return old.Name == t.Name }) {
			return nil, fmt.Errorf("token %s: %w", t.Name, fs.ErrExist)
		}
		return append(tokens, t), nil
	})
}

// RevokeToken implements store.Tokens.
func (f *File) RevokeToken(ctx context.Context, name string) (ok bool, err error) {
	err = f.change(ctx, func(tokens []store.Token) ([]store.Token, error) {
		kept := slices.DeleteFunc(tokens, func(t store.Token) bool { return t.Name == name })
		if ok = len(kept) < len(tokens); !ok {
			return nil, errUnchanged
		}
		return kept, nil
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return ok, err
}

// errUnchanged ends a change that changes nothing.
var errUnchanged = errors.New("nothing has changed")

// change replaces the tokens, while no other process does.
func (f *File) change(ctx context.Context, change func([]store.Token) ([]store.Token, error)) error {
	if err := os.MkdirAll(filepath.Dir(f.name), 0o700); err != nil {
		return err
	}
	lock := flock.New(f.name+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return fmt.Errorf("locking %s: %w", lock.Path(), err)
	}
	defer lock.Unlock()
	tokens, err := readTokens(f.name)
	if err == nil {
		tokens, err = change(tokens)
	}
	if err != nil {
		return err
	}
	return writeTokens(f.name, tokens)
}

// tokensFile is the form of a file of tokens. The hash of a secret does not tell the secret.
type tokensFile struct {
	Tokens []store.Token `json:"tokens"`
}

// readTokens reads a file of tokens. A file that does not exist has none.
func readTokens(name string) ([]store.Token, error) {
	data, err := regular.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading tokens: %w", err)
	}
	tokens, err := parseTokens(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w (correct or remove the file)", name, err)
	}
	return tokens, nil
}

// parseTokens parses a file of tokens, whose names must differ. An unknown field is a
// mistake: it could be a limit of the token.
func parseTokens(data []byte) ([]store.Token, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	var file tokensFile
	if err := d.Decode(&file); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("there is more behind the tokens")
	}
	tokens := sorted(file.Tokens)
	for i, t := range tokens {
		if i > 0 && t.Name == tokens[i-1].Name {
			return nil, fmt.Errorf("two tokens are named %q", t.Name)
		}
	}
	return tokens, nil
}

// sorted returns tokens by name; never nil, so that JSON has a list.
func sorted(tokens []store.Token) []store.Token {
	list := append([]store.Token{}, tokens...)
	slices.SortFunc(list, func(a, b store.Token) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// writeTokens replaces a file of tokens.
func writeTokens(name string, tokens []store.Token) error {
	data, err := json.MarshalIndent(tokensFile{sorted(tokens)}, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(name, append(data, '\n'), 0o600, nil)
}

// readKept returns the tokens of a file that an earlier process kept; ok is false if there is
// none. A file that this process could not withdraw is an error, because the earlier process
// could not either: its tokens may be revoked.
func readKept(name string) (tokens []store.Token, ok bool, err error) {
	if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if tokens, err = readTokens(name); err != nil {
		return nil, false, err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, false, fmt.Errorf("the file must be writable: %w", err)
	}
	return tokens, true, f.Close()
}

// withdraw makes a file of tokens useless, so that no later process reads it. Removing works
// on a full disk, and emptying where only the folder cannot be written.
func withdraw(name string) error {
	err := os.Remove(name)
	if err != nil {
		if other := os.Truncate(name, 0); other == nil || errors.Is(other, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// Package static is the built-in embedder. The vector of a text is the sum of the vectors
// of its words, scaled to length 1. The vector of an unknown word is the sum of the
// vectors of its character 4-grams, which share a fixed number of vectors. Its one rule: weights are
// read in place and never written, so that a start costs nothing.
package static

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// An Embedder embeds with one model. Several goroutines may use it at once.
type Embedder struct{ m *model }

// New returns an embedder for a model that Encode made. It reads only the header; data
// must not change while the embedder is in use.
func New(data string) (*Embedder, error) {
	m, err := open(data)
	if err != nil {
		return nil, err
	}
	return &Embedder{m}, nil
}

// Model identifies the model by its name and a digest of its weights.
func (e *Embedder) Model() string { return e.m.name }

// Dim returns the dimension of the vectors.
func (e *Embedder) Dim() int { return e.m.dim }

// Calibrated implements embed.Calibrated. All models that cmd/skills-train makes in the
// same way have the same scale.
func (e *Embedder) Calibrated() bool { return true }

// Embed implements embed.Embedder. It treats queries and documents alike and uses all
// processors for many texts. A text without words gets a fixed vector that is near to
// nothing in particular.
func (e *Embedder) Embed(ctx context.Context, _ embed.Kind, texts []string) ([]embed.Vector, error) {
	const part = 16 // texts that a goroutine takes at a time
	vectors := make([]embed.Vector, len(texts))
	var taken atomic.Int64
	work := func() {
		for end := 0; end < len(texts); {
			end = int(taken.Add(part))
			for i := end - part; i < min(end, len(texts)) && ctx.Err() == nil; i++ {
				vectors[i] = e.m.embed(texts[i])
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(texts)+part-1)/part) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if n := slices.IndexFunc(vectors, func(v embed.Vector) bool { return v == nil }); n >= 0 {
		return vectors[:n], ctx.Err()
	}
	return vectors, nil
}

func (m *model) embed(text string) embed.Vector {
	s := sum{make([]uint64, m.dim/2), 0, make(embed.Vector, m.dim)}
	Rows(text, m.lookup, m.buckets, func(row int) { m.add(&s, row) })
	s.spill(0)
	if embed.Unit(s.total) != nil {
		clear(s.total)
		s.total[0] = 1
	}
	return s.total
}

// Tokens calls f for each token of a text: a word in lower case, cut to MaxToken bytes. f
// must not keep the slice.
func Tokens(text string, f func(token []byte)) {
	var buf [MaxToken + utf8.UTFMax]byte
	words.Split(text, func(word string, kind words.Kind) {
		if kind == words.Whole {
			return // its parts are more useful
		}
		token := buf[:0]
		for _, r := range word {
			n := len(token)
			switch {
			case r >= utf8.RuneSelf:
				token = utf8.AppendRune(token, unicode.ToLower(r))
			case 'A' <= r && r <= 'Z':
				token = append(token, byte(r-'A'+'a'))
			default:
				token = append(token, byte(r))
			}
			if len(token) > MaxToken {
				token = token[:n]
				break
			}
		}
		f(token)
	})
}

// MaxToken is how many bytes of a word count. Longer words are keys, hashes and encoded
// data.
const MaxToken = 32

// Rows calls f for every row of the weights whose sum is the vector of a text. If lookup
// knows a token, that is the row it returns; otherwise Rows calls f for each of the
// token's 4-grams with -1 minus its bucket, which is below buckets. Training and use both
// call Rows, so that they treat a text alike.
func Rows(text string, lookup func(hash uint64) (row int, ok bool), buckets int, f func(row int)) {
	Tokens(text, func(token []byte) {
		if row, ok := lookup(Hash(token)); ok {
			f(row)
			return
		}
		grams(token, func(hash uint64) { f(-1 - int(hash%uint64(buckets))) })
	})
}

// grams calls f with the hash of every run of 4 characters in a token, with a mark added
// at both ends. A shorter token has one hash.
func grams(token []byte, f func(hash uint64)) {
	const n = 4
	var buf [MaxToken + 2]byte
	s := append(append(append(buf[:0], '<'), token...), '>')
	var starts [MaxToken + 3]int // of characters
	count := 0
	for i := range s {
		if utf8.RuneStart(s[i]) {
			starts[count] = i
			count++
		}
	}
	starts[count] = len(s)
	if count <= n {
		f(Hash(s))
		return
	}
	for i := range count - n + 1 {
		f(Hash(s[starts[i]:starts[i+n]]))
	}
}

// Hash returns the hash of a token, by which a model finds its row.
func Hash(token []byte) uint64 {
	return mix(words.Hash(token))
}

// mix spreads the bits of a hash, because the high bits of FNV-1a are weak.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}

// Package static is an embedder that needs nothing but its weights: the vector
// of a text is the sum of the vectors of its words, scaled to length 1. A word
// that the model does not know is the sum of its character 4-grams, which share
// a fixed number of vectors. Weights are read in place: there is nothing to do
// at the start, and nothing is written after it.
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

// An Embedder embeds with one model. It may be used from several goroutines.
type Embedder struct{ m *model }

// New returns an embedder for a model in the form that Encode makes. It reads
// the header only; data must not change while the embedder is in use.
func New(data string) (*Embedder, error) {
	m, err := open(data)
	if err != nil {
		return nil, err
	}
	return &Embedder{m}, nil
}

// Model names the model and its weights.
func (e *Embedder) Model() string { return e.m.name }

// Dim returns the dimension of the vectors.
func (e *Embedder) Dim() int { return e.m.dim }

// Calibrated implements embed.Calibrated: models that cmd/skills-train makes in
// the same way have the same scale.
func (e *Embedder) Calibrated() bool { return true }

// Embed implements embed.Embedder. Queries and documents are embedded alike,
// many texts on all processors. A text without any word gets a fixed vector,
// which is near to nothing in particular.
func (e *Embedder) Embed(ctx context.Context, _ embed.Kind, texts []string) ([]embed.Vector, error) {
	const part = 16 // texts that one goroutine takes at a time
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
	v := make(embed.Vector, m.dim)
	Rows(text, m.lookup, m.buckets, func(row int) { m.add(v, row) })
	if embed.Unit(v) != nil {
		clear(v)
		v[0] = 1
	}
	return v
}

// Tokens calls f with every token of a text: its words in lower case, cut to
// MaxToken bytes. The bytes are f's only until it returns.
func Tokens(text string, f func(token []byte)) {
	var buf [MaxToken + utf8.UTFMax]byte
	words.Split(text, func(word string, kind words.Kind) {
		if kind == words.Whole {
			return // its parts say more
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

// MaxToken is how many bytes of a word are looked at: longer ones are keys,
// hashes and encoded data.
const MaxToken = 32

// Rows calls f for every row of a model's weights that a text is the sum of:
// for a token that lookup knows the row that it returns, for another the rows
// of its 4-grams, which are -1 minus one of the given number of buckets.
// Training and use both go through it, so that they see the same text.
func Rows(text string, lookup func(hash uint64) (row int, ok bool), buckets int, f func(row int)) {
	Tokens(text, func(token []byte) {
		if row, ok := lookup(Hash(token)); ok {
			f(row)
			return
		}
		grams(token, func(hash uint64) { f(-1 - int(hash%uint64(buckets))) })
	})
}

// grams calls f with the hash of every run of 4 characters of a token between
// marks for its ends, or of all of a shorter one.
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

// Hash returns the hash under which a model knows a token.
func Hash(token []byte) uint64 {
	h := offset
	for _, c := range token {
		h = (h ^ uint64(c)) * prime
	}
	return mix(h)
}

// FNV-1a, whose weak high bits mix makes good.
const (
	offset uint64 = 14695981039346656037
	prime  uint64 = 1099511628211
)

func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}

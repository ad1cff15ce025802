package index

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

const (
	chunkWords = 160 // words of a body that are embedded together
	maxChunks  = 8   // chunks of a body; what a skill is about stands at its start
)

// A text is a part of a skill that gets one vector: the sum of the vectors of its
// chunks.
type text struct {
	hash   []byte // of the chunks
	chunks []string
}

// texts returns the texts of a skill that get a vector each: what it is for, then the start of the
// body, if there is one.
func texts(s *skill.Skill) []text {
	list := []text{newText(s.Purpose())}
	if body := chunks(s.Body); len(body) > 0 {
		list = append(list, newText(body...))
	}
	return list
}

// examples returns the examples of a skill, which get a vector each by the contextual encoder.
func examples(s *skill.Skill) (list []text) {
	for _, e := range s.Examples {
		list = append(list, newText(e))
	}
	return list
}

// hashesOf returns the hash of each text.
func hashesOf(list []text) (all [][]byte) {
	for _, t := range list {
		all = append(all, t.hash)
	}
	return all
}

// chunks cuts the start of a body into the parts that are embedded one by one.
func chunks(body string) []string {
	var list []string
	words := make([]string, 0, chunkWords)
	for word := range strings.FieldsSeq(body) {
		if words = append(words, word); len(words) < chunkWords {
			continue
		}
		list, words = append(list, strings.Join(words, " ")), words[:0]
		if len(list) == maxChunks {
			return list
		}
	}
	if len(words) > 0 {
		list = append(list, strings.Join(words, " "))
	}
	return list
}

// hashSize is how many bytes of a hash tell texts apart.
const hashSize = 16

func newText(chunks ...string) text {
	h := sha256.New()
	h.Write([]byte{byte(len(chunks))}) // so that a line break in a description does not look like two chunks
	for _, c := range chunks {
		io.WriteString(h, c)
		h.Write([]byte{'\n'}) // the chunks of a body have none
	}
	return text{h.Sum(nil)[:hashSize], chunks}
}

// packTexts is embedTexts for a store: it returns packed vectors, and the hash of the text of
// each.
func packTexts(ctx context.Context, e embed.Embedder, texts []text) (hashes, vectors [][]byte, err error) {
	values, err := embedTexts(ctx, e, texts)
	for i, v := range values {
		hashes, vectors = append(hashes, texts[i].hash), append(vectors, store.PackVector(v))
	}
	return hashes, vectors, err
}

// embedTexts returns one vector for each text. When the embedder fails midway it
// returns the error and the vectors of the texts whose chunks are all embedded,
// which are the first ones.
func embedTexts(ctx context.Context, e embed.Embedder, texts []text) ([][]float32, error) {
	var all []string
	for _, t := range texts {
		all = append(all, t.chunks...)
	}
	parts, err := e.Embed(ctx, embed.Document, all)
	if len(parts) > len(all) || err == nil && len(parts) < len(all) {
		return nil, fmt.Errorf("embedder returned %d vectors for %d texts", len(parts), len(all))
	}
	var vectors [][]float32
	for _, t := range texts {
		n := len(t.chunks)
		if n > len(parts) {
			break
		}
		sum := slices.Clone(parts[0])
		for _, part := range parts[1:n] {
			if len(part) != len(sum) {
				return vectors, fmt.Errorf("embedder returned vectors of %d and of %d dimensions", len(sum), len(part))
			}
			for i, x := range part {
				sum[i] += x
			}
		}
		vectors, parts = append(vectors, sum), parts[n:]
	}
	return vectors, err
}

package searchtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"path"
	"slices"
	"sync"
	"testing"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/store"
)

// A Tree is a source for tests: skills by folder.
type Tree map[string]*skill.Skill

// TreeOf returns a tree of skills in folders of their names.
func TreeOf(skills ...*skill.Skill) Tree {
	t := make(Tree)
	for _, s := range skills {
		t[s.Name] = s
	}
	return t
}

// Skill returns a skill for a Tree.
func Skill(name, description, body string, tags ...string) *skill.Skill {
	s := NewSkill(name, name, description, body, tags...)
	s.Path, s.Location = "", "" // the Tree sets them
	return s
}

// Three returns a small source.
func Three() Tree {
	return TreeOf(Skill("pdf", "Fill PDF forms", "open the form"),
		Skill("csv", "Read tables", "count the rows"),
		Skill("git", "Find commits", "bisect the history"))
}

// Many returns n skills with one text each.
func Many(n int) Tree {
	t := make(Tree)
	for i := range n {
		name := fmt.Sprintf("skill-%02d", i)
		t[name] = Skill(name, fmt.Sprintf("handles topic%d and fruit", i), "")
	}
	return t
}

// Refs walks the tree; the stamps are the digests.
func (t Tree) Refs() iter.Seq2[*skill.Ref, error] {
	return func(yield func(*skill.Ref, error) bool) {
		for _, dir := range slices.Sorted(maps.Keys(t)) {
			s := t[dir]
			ref := &skill.Ref{Path: path.Join(dir, "SKILL.md"), Stamp: s.Digest, Load: func() (*skill.Skill, error) { return s, nil }}
			if !yield(ref, nil) {
				return
			}
		}
	}
}

// Sync brings the source with a label in step. Its root is named after the label.
func Sync(t testing.TB, c *Catalog, label string, refs iter.Seq2[*skill.Ref, error]) index.Report {
	t.Helper()
	return SyncSource(t, c, store.Source{Label: label, Root: "/" + label}, refs)
}

// SyncSource brings a source in step, and ends the test on an error.
func SyncSource(t testing.TB, c *Catalog, src store.Source, refs iter.Seq2[*skill.Ref, error]) index.Report {
	t.Helper()
	r, err := c.Sync(t.Context(), src, refs)
	must.Do(t, err)
	return r
}

// Embed embeds what has no vector, and ends the test on an error.
func Embed(t testing.TB, c *Catalog) {
	t.Helper()
	must.Do(t, c.Embed(t.Context(), nil))
}

// Publish publishes what the catalog holds.
func Publish(t testing.TB, c *Catalog, merge bool) {
	t.Helper()
	must.Do(t, c.Publish(t.Context(), merge))
}

// Ask returns the answer to a query that must not fail.
func Ask(t testing.TB, c *Catalog, q search.Query) search.Answer {
	t.Helper()
	a, err := c.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("searching %.80q: %v", q.Text, err)
	}
	return a
}

// Found returns the IDs of the hits for a prompt.
func Found(t testing.TB, c *Catalog, text string) []string {
	t.Helper()
	return IDs(Ask(t, c, search.Query{Text: text}).Hits)
}

// IDs returns the IDs of hits.
func IDs(hits []search.Hit) []string {
	list := []string{}
	for _, h := range hits {
		list = append(list, h.ID)
	}
	return list
}

// ErrEmbed is the error of an Embedder after FailAfter.
var ErrEmbed = errors.New("no more vectors")

// An Embedder makes vectors from the words of a text, and fails on request. Its
// settings may be changed while an embedding is still running.
type Embedder struct {
	Name  string        // of the model; "" means "fake"
	Block chan struct{} // queries wait until it is closed; nil means that they do not wait

	mu       sync.Mutex // guards what follows
	dim      int        // 0 means 16
	fail     int        // fail after so many documents; 0 means never
	count    int        // documents so far
	embedded []string   // documents since Embedded was called
	answer   func(text string) ([]embed.Vector, error)
}

// SetDim sets the dimension of vectors from now on; 0 means 16.
func (e *Embedder) SetDim(n int) *Embedder { return e.set(func() { e.dim = n }) }

// FailAfter fails once n documents have been embedded; 0 means never.
func (e *Embedder) FailAfter(n int) *Embedder { return e.set(func() { e.fail = n }) }

// Answer makes f answer queries; nil means the vector of their words.
func (e *Embedder) Answer(f func(text string) ([]embed.Vector, error)) {
	e.set(func() { e.answer = f })
}

func (e *Embedder) set(change func()) *Embedder {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	return e
}

// Embedded returns the documents that were embedded since the last call.
func (e *Embedder) Embedded() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.embedded
	e.embedded = nil
	return list
}

// Model implements embed.Embedder.
func (e *Embedder) Model() string { return cmp.Or(e.Name, "fake") }

// Embed implements embed.Embedder.
func (e *Embedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([]embed.Vector, error) {
	if kind == embed.Query {
		if e.Block != nil {
			<-e.Block
		}
		e.mu.Lock()
		answer := e.answer
		e.mu.Unlock()
		if answer != nil {
			return answer(texts[0])
		}
	}
	var list []embed.Vector
	for _, text := range texts {
		if kind == embed.Document && !e.take(text) {
			return list, ErrEmbed
		}
		list = append(list, e.Vector(text))
	}
	return list, ctx.Err()
}

// take notes a document. It returns false if FailAfter allows no more.
func (e *Embedder) take(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fail > 0 && e.count >= e.fail {
		return false
	}
	e.count++
	e.embedded = append(e.embedded, text)
	return true
}

// Vector returns the vector of a text: one direction for every word, added up.
func (e *Embedder) Vector(text string) embed.Vector {
	e.mu.Lock()
	dim := cmp.Or(e.dim, 16)
	e.mu.Unlock()
	v := make(embed.Vector, dim)
	v[0] = .01 // a text without words has a direction too
	for _, w := range words.Terms(text) {
		h := fnv.New32a()
		h.Write([]byte(w))
		v[int(h.Sum32())%dim]++
	}
	if err := embed.Unit(v); err != nil {
		panic(err)
	}
	return v
}

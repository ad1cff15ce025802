package snapshot

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/disjoint"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// TestFamilies compares the families of random catalogs, as they were published and after changes,
// with the plain definition: who is kin is of one family, directly or through others that are there.
func TestFamilies(t *testing.T) {
	published, changed, lost := 0, 0, 0
	for seed := range uint64(testsize.Rounds(60, 600)) {
		c := copier{rand.New(rand.NewPCG(seed, 1))}
		old := make(catalog)
		for row := range int64(1 + c.IntN(70)) {
			old[row] = c.sample(row, old)
		}
		base := old.snapshot(t, Meta{}, Info{})
		published += compare(t, fmt.Sprintf("seed %d, published", seed), old, base)

		now, changes, info := maps.Clone(old), make(catalog), Info{}
		for row := range int64(len(old) + c.IntN(8)) {
			switch n := c.IntN(8); {
			case n > 1 && row < int64(len(old)):
				continue
			case n == 0:
				delete(now, row)
				lost++
			default:
				now[row] = c.sample(row, old)
				changes[row] = now[row]
			}
			info.Replaced = append(info.Replaced, row)
		}
		delta := changes.snapshot(t, Meta{Beside: base, Replaced: info.Replaced}, info)
		changed += compare(t, fmt.Sprintf("seed %d, after %d changes", seed, len(info.Replaced)), now, base, delta)
	}
	if published == 0 || changed == 0 || lost == 0 {
		t.Errorf("%d skills have copies, %d after changes, %d are gone; the test needs some", published, changed, lost)
	}
}

// A sample is a skill with its body.
type sample struct {
	Document
	body []string
}

// A catalog has skills by row.
type catalog map[int64]*sample

// A copier makes skills, many of which are copies of others, or copies of copies.
type copier struct{ *rand.Rand }

func (c copier) words(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("word%d", c.IntN(5000))
	}
	return list
}

// sample returns a skill that may be made from one of others.
func (c copier) sample(row int64, others catalog) *sample {
	name, about, body, digest := c.words(1+c.IntN(3)), c.words(3+c.IntN(9)), c.words([]int{3, 40, 150, 300}[c.IntN(4)]), fmt.Sprint(row, c.Uint32())
	if of := others[c.Int64N(row+1)]; of != nil && c.IntN(5) > 0 {
		switch c.IntN(6) {
		case 0:
			body = append(slices.Clone(of.body), c.words(c.IntN(60))...)
		case 1:
			body = of.body[:1+c.IntN(len(of.body))]
		case 2:
			body = slices.Clone(of.body)
			for range c.IntN(2 + len(body)/12) {
				body[c.IntN(len(body))] = "edited"
			}
		case 3, 4:
			body = of.body
		}
		if c.IntN(3) > 0 {
			name = append(strings.Split(of.Name, "-"), c.words(c.IntN(2))...)
		}
		switch c.IntN(4) {
		case 0:
			about = append(strings.Fields(of.Description), c.words(1)...)
		case 1, 2:
			about = strings.Fields(of.Description)
		}
		if c.IntN(12) == 0 {
			digest = of.Digest
		}
	}
	w := &sample{body: body}
	w.Meta = skill.Meta{Name: strings.Join(name, "-"), Description: strings.Join(about, " "), Source: "a", Path: fmt.Sprintf("%d/SKILL.md", row), Digest: digest, Tokens: len(body)}
	w.Row, w.Key, w.Sketch = row, fmt.Sprintf("%s %06d", w.Name, row), words.NewSketch(strings.Join(body, " "))
	return w
}

// snapshot returns a snapshot of the catalog.
func (c catalog) snapshot(t *testing.T, m Meta, info Info) *Snapshot {
	t.Helper()
	var err error
	m.Extra, err = json.Marshal(info)
	must.Do(t, err)
	list := slices.SortedFunc(maps.Values(c), func(a, b *sample) int { return strings.Compare(a.Key, b.Key) })
	data, err := Encode(m, func(yield func(*Document, error) bool) {
		for _, w := range list {
			d := w.Document
			d.Terms = (&skill.Fields{}).Pack()
			if !yield(&d, nil) {
				return
			}
		}
	})
	must.Do(t, err)
	s, err := New(data)
	must.Do(t, err)
	return s
}

// compare compares the families of a set with those of its catalog by the plain definition. It
// returns how many skills have copies.
func compare(t *testing.T, what string, c catalog, snaps ...*Snapshot) (copies int) {
	t.Helper()
	var got, want disjoint.Sets[int64]
	list := make([]*kin, 0, len(c))
	for _, w := range c {
		list = append(list, newKin(&w.Document, factsOf(&w.Document), new(words.Analyzer)))
	}
	for i, a := range list {
		for _, b := range list[:i] {
			if mayBeKin(a, b) && a.isKin(b) {
				want.Join(a.Row, b.Row)
			}
		}
	}
	s, err := NewSet(snaps...)
	must.Do(t, err)
	must.Do(t, s.Read(func(v *View) error {
		last := -1
		for i, family := range v.Families() {
			if i <= last || family > i {
				t.Errorf("%s: skill %d of family %d comes after %d", what, i, family, last)
			}
			got.Join(v.Facts(i).Row, v.Facts(family).Row)
			last = i
			copies++
		}
		return nil
	}))
	for row := range c {
		if got.Root(row) != want.Root(row) {
			t.Errorf("%s: the first of the family of %d is %d, want %d", what, row, got.Root(row), want.Root(row))
		}
	}
	return copies
}

// mayBeKin reports whether two skills have something in common of what finders look for.
func mayBeKin(a, b *kin) bool {
	x, y := shortKeys(&a.Facts, a.sketch), shortKeys(&b.Facts, b.sketch)
	found := x[0] == y[0] || x[1] == y[1]
	for band := range words.SketchBands {
		one, ok := a.sketch.Band(band)
		other, also := b.sketch.Band(band)
		found = found || ok && also && one == other && !a.sketch.TooFew() && !b.sketch.TooFew()
	}
	return found
}

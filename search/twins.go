package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/disjoint"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// Twins are skills that a model, or a ranker, can hardly tell apart: each has nearly the same
// description or nearly the same instructions as another one of them.
type Twins struct {
	Skills     []Entry   // by ID
	Nearest    [2]string // IDs of two that are most alike; empty if they are only copies
	Similarity float64   // of the descriptions of the nearest: shared words of all words of both (Jaccard), 0 to 1
	Body       float64   // of their instructions: shared runs of five words, estimated, 0 to 1; 0 if they are short
	Copies     bool      // all are copies of one skill: a search lists one for all
}

// alike is the similarity from which descriptions, or instructions, are twins.
const alike = .8

// Twins returns the offered skills with nearly the same description or nearly the same
// instructions, those first that are most alike.
func (x *reviewer) Twins(ctx context.Context) (twins []Twins, err error) {
	err = x.scopes.read(ctx, nil, func(v *snapshot.View) error {
		twins = twinsOf(v)
		return ctx.Err()
	})
	return twins, err
}

// Basis identifies all that Twins and the Position of a skill for its own description follow from: as long as it is
// the same they are, too.
func (x *reviewer) Basis(ctx context.Context) (basis string, err error) {
	err = x.scopes.read(ctx, nil, func(v *snapshot.View) error {
		t, err := x.scopes.trustIn(v)
		if err != nil {
			return err
		}
		certain, off, err := x.scopes.triggersIn(v)
		if err != nil {
			return err
		}
		data, err := json.Marshal([]any{v.Set.Info, v.Set.BaseGeneration(), v.Set.Models(), v.Set.Compiled, v.Set.Calibration, x.outdated(v.Set), x.embedderOf(v.Set) != nil,
			x.opts.Params, v.Scope.In, v.Scope.Offered, t.lower, t.foreign, certain, off})
		basis = fmt.Sprintf("%x", sha256.Sum256(data))
		return cmp.Or(err, v.Err())
	})
	return basis, err
}

func twinsOf(v *snapshot.View) (twins []Twins) {
	list := v.Names().Sorted(v.Scope.Offered)
	f := twinFinder{v: v, list: list, words: descriptions(list), nearest: make([]nearness, len(list)), seen: make([]int, len(list))}
	f.likeDescriptions()
	f.likeBodies()
	families := f.copies()
	for _, members := range f.joined.Joined() {
		slices.Sort(members)
		var best nearness
		t := Twins{Copies: true}
		for _, i := range members {
			t.Skills = append(t.Skills, entryOfDoc(v, list[i].I, list[i].Document))
			t.Copies = t.Copies && families.Same(i, members[0])
			if n := f.nearest[i]; n.moreThan(&best) {
				best = n
				t.Nearest, t.Similarity, t.Body = [2]string{v.ID(list[n.other].I), v.ID(list[i].I)}, n.similarity, n.body
			}
		}
		slices.SortFunc(t.Skills, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
		twins = append(twins, t)
	}
	slices.SortFunc(twins, func(a, b Twins) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(b.Body, a.Body), cmp.Compare(a.Skills[0].ID, b.Skills[0].ID))
	})
	return twins
}

// A twinFinder joins twins. Of many that are alike it does not compare all pairs, see look.
type twinFinder struct {
	v       *snapshot.View
	list    []snapshot.Listed // sorted by name; all else has indexes in it
	words   [][]int32         // see descriptions
	joined  disjoint.Sets[int]
	nearest []nearness // of each skill: the one before it that is most alike
	seen    []int      // by skill: the last one that it was compared with
}

// A nearness says how much alike a skill and another one are; the zero value, that there is none.
type nearness struct {
	other            int
	similarity, body float64 // see Twins
}

func (n *nearness) moreThan(o *nearness) bool {
	return cmp.Or(cmp.Compare(n.similarity, o.similarity), cmp.Compare(n.body, o.body)) > 0
}

// A shelf has skills with something in common, in groups; those of a group are joined.
type shelf [][]int

// mostCompared is up to how many skills of a group another one is compared with each, so that those
// that are most alike are found. Of more it is compared until it is joined with them.
const mostCompared = 64

// look compares skill i with those of a shelf, joins it with those that are alike, and puts it there.
func (f *twinFinder) look(s shelf, i int, like func(j int) bool) shelf {
	others, own := s[:0], []int(nil)
	for _, group := range s {
		many := len(group) > mostCompared
		for _, j := range group {
			if many && f.joined.Same(i, j) {
				break
			}
			if f.seen[j] != i && like(j) {
				f.join(i, j)
			}
			f.seen[j] = i
		}
		switch {
		case !f.joined.Same(i, group[0]):
			others = append(others, group)
		case len(group) > len(own):
			own = append(group, own...)
		default:
			own = append(own, group...)
		}
	}
	return append(others, append(own, i))
}

// join joins skill i with one before it.
func (f *twinFinder) join(i, j int) {
	f.joined.Join(i, j)
	n := nearness{other: j, similarity: jaccard(f.words[i], f.words[j])}
	if body, few := f.v.Similarity(f.list[i].I, f.list[j].I); !few {
		n.body = body
	}
	if n.moreThan(&f.nearest[i]) {
		f.nearest[i] = n
	}
}

// likeDescriptions joins skills with nearly the same description. Two descriptions that share four
// fifths of their words must share a word of the rarest fifth, so it compares only skills that do.
func (f *twinFinder) likeDescriptions() {
	byRare := make(map[int32]shelf) // by rare word
	for i, words := range f.words {
		for _, w := range words[:prefix(len(words))] {
			byRare[w] = f.look(byRare[w], i, func(j int) bool { return jaccard(words, f.words[j]) >= alike })
		}
	}
}

// likeBodies joins skills with nearly the same instructions. It compares only skills whose sketches
// have a whole band of bins in common, as all long bodies have that are so much alike.
func (f *twinFinder) likeBodies() {
	clear(f.seen)
	byBand := make(map[[2]uint32]shelf) // by the number and the bins of a band
	for i := range f.list {
		sketch := f.v.Sketch(f.list[i].I)
		if sketch.TooFew() {
			continue
		}
		for n := range words.SketchBands {
			if bins, used := sketch.Band(n); used {
				band := [2]uint32{uint32(n), bins}
				byBand[band] = f.look(byBand[band], i, func(j int) bool { return sketch.Likeness(f.v.Sketch(f.list[j].I)) >= alike })
			}
		}
	}
}

// copies joins the skills of each family, and returns the families.
func (f *twinFinder) copies() (families disjoint.Sets[int]) {
	at := make(map[int]int, len(f.list)) // in the list, by number
	for i := range f.list {
		at[f.list[i].I] = i
	}
	first := make(map[int]int) // in the list, by family
	for number, family := range f.v.Families() {
		i, ok := at[number]
		if !ok {
			continue
		}
		if _, ok := first[family]; !ok {
			first[family] = i
		}
		families.Join(i, first[family])
		f.joined.Join(i, first[family])
	}
	return families
}

// prefix returns how many of n words, rarest first, must be compared: two twins share
// at least one of them.
func prefix(n int) int {
	if n == 0 {
		return 0
	}
	return min(n, n-int(alike*float64(n))+1)
}

// descriptions returns the different words of the description of each skill as numbers,
// the rarest word first: the rarer a word, the lower its number.
func descriptions(list []snapshot.Listed) [][]int32 {
	terms := make([][]string, len(list))
	count := make(map[string]int)
	a := new(words.Analyzer)
	for i := range list {
		words := a.Terms(list[i].Description)
		slices.Sort(words)
		terms[i] = slices.Compact(words)
		for _, w := range terms[i] {
			count[w]++
		}
	}
	number := make(map[string]int32, len(count))
	for n, w := range slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[a], count[b]), cmp.Compare(a, b))
	}) {
		number[w] = int32(n)
	}
	sets := make([][]int32, len(list))
	for i, words := range terms {
		for _, w := range words {
			sets[i] = append(sets[i], number[w])
		}
		slices.Sort(sets[i])
	}
	return sets
}

// jaccard returns the share of common numbers among all numbers of two ascending lists.
func jaccard(a, b []int32) float64 {
	all, both := len(a)+len(b), 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both++
			a, b = a[1:], b[1:]
		}
	}
	return float64(both) / float64(max(1, all-both))
}

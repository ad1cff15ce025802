package index

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// A reading is one use of a view, by one goroutine. What cannot be read yields
// nothing, and is the error of all.
type reading struct {
	*view
	readers []*snapshot.Reader // of the segments
	err     error              // the first
	ids     []uint32           // scratch
}

// note keeps the first error.
func (in *reading) note(err error) {
	if in.err == nil {
		in.err = err
	}
}

// at returns the segment of skill i, its reader, and the document in it.
func (in *reading) at(i int) (n int, r *snapshot.Reader, doc int) {
	for n = len(in.segments) - 1; n > 0 && i < in.segments[n].first; n-- {
	}
	return n, in.readers[n], i - in.segments[n].first
}

// each calls f with every skill that counts, by segment.
func (in *reading) each(f func(i int)) {
	for n := range in.segments {
		p := &in.segments[n]
		for doc := range p.Len() {
			if p.live.Has(doc) {
				f(p.first + doc)
			}
		}
	}
}

// offered reports whether skill i is found under its name.
func (in *reading) offered(i int) bool {
	n, _, doc := in.at(i)
	return in.segments[n].offered.Has(doc)
}

// document returns what is kept of skill i.
func (in *reading) document(i int) snapshot.Document {
	_, r, doc := in.at(i)
	d, err := r.Doc(doc)
	in.note(err)
	return d
}

// ref returns the ID of skill i.
func (in *reading) ref(i int) string {
	_, r, doc := in.at(i)
	ref, err := r.AppendRef(nil, doc)
	in.note(err)
	return string(ref)
}

// refs sets the IDs of candidates. They share one allocation.
func (in *reading) refs(candidates []rank.Candidate) {
	all := make([]byte, 0, 32*len(candidates))
	ends := make([]int, len(candidates))
	for n := range candidates {
		_, r, doc := in.at(candidates[n].Key)
		var err error
		all, err = r.AppendRef(all, doc)
		in.note(err)
		ends[n] = len(all)
	}
	text, start := string(all), 0
	for n, end := range ends {
		candidates[n].ID = text[start:end]
		start = end
	}
}

// facts returns what is quickly read of skill i.
func (in *reading) facts(i int) snapshot.Facts {
	_, r, doc := in.at(i)
	f, err := r.Facts(doc)
	in.note(err)
	return f
}

// entry returns skill i as the outside sees it.
func (in *reading) entry(i int) Entry { return in.entryOf(in.document(i), in.offered(i)) }

func (in *reading) entryOf(d snapshot.Document, offered bool) Entry {
	e := Entry{Meta: d.Meta}
	if !offered {
		if winner, ok := in.find(d.Key); ok {
			e.ShadowedBy = in.ref(winner)
		}
	}
	return e
}

// find returns the skill that is offered under the name of that key.
func (in *reading) find(key string) (i int, ok bool) {
	found := in.prefixed(key, func(i int, k string) bool { return k == key })
	if len(found) == 0 {
		return 0, false
	}
	return found[0], true
}

// prefixed returns the offered skills whose keys begin with prefix, up to the
// first of each segment that more does not want.
func (in *reading) prefixed(prefix string, more func(i int, key string) bool) []int {
	var list []int
	for n, r := range in.readers {
		p := &in.segments[n]
		first, last, err := r.Prefixed(prefix)
		in.note(err)
		for doc := first; doc < last; doc++ {
			key, err := r.Key(doc)
			in.note(err)
			if err != nil || !more(p.first+doc, key) {
				break
			}
			if p.offered.Has(doc) {
				list = append(list, p.first+doc)
			}
		}
	}
	return list
}

// lookup finds a skill by its name, by "source/name" or by "source/folder",
// among those that allowed lets through.
func (in *reading) lookup(id string, allowed func(i int) bool) (int, error) {
	if i, ok := in.find(words.NameKey(id)); ok && allowed(i) {
		return i, nil
	}
	found, folder := -1, false
	var first snapshot.Document // the one that was found
	for _, src := range in.Sources {
		rest, ok := strings.CutPrefix(id, src.Label+"/")
		if !ok {
			continue
		}
		in.each(func(i int) {
			// A folder names one skill only, and is the ID of shadowed copies.
			if folder || !allowed(i) {
				return
			}
			d := in.document(i)
			if d.Source != src.Label {
				return
			}
			// Of two of one name in one source the first by path is meant, whatever
			// segment it is in.
			folder = rest == path.Dir(d.Path)
			if folder || rest == d.Name && (found < 0 || first.Source == d.Source && d.Path < first.Path) {
				found, first = i, d
			}
		})
	}
	if found < 0 {
		return 0, in.notFound(id, allowed)
	}
	return found, nil
}

func (in *reading) notFound(id string, allowed func(i int) bool) error {
	var known []string
	in.each(func(i int) {
		if in.offered(i) && allowed(i) {
			known = append(known, in.document(i).Name)
		}
	})
	return &NotFoundError{ID: id, Similar: words.Similar(id, known), Known: len(known)}
}

// A NotFoundError says that there is no skill of that ID in the scope.
type NotFoundError struct {
	ID      string
	Similar []string // names it may be a misspelling of
	Known   int      // how many skills there are in the scope
}

func (e *NotFoundError) Error() string {
	msg := fmt.Sprintf("no skill %q among %d", e.ID, e.Known)
	if len(e.Similar) > 0 {
		msg += "; " + words.DidYouMean(e.Similar)
	}
	return msg
}

// Unwrap makes errors.Is(err, skill.ErrNotFound) hold.
func (e *NotFoundError) Unwrap() error { return skill.ErrNotFound }

// listed is a skill that is listed.
type listed struct {
	snapshot.Document
	i int
}

// sorted returns the skills of a scope, by name, those that are offered first.
func (in *reading) sorted(allowed func(i int) bool) []listed {
	var list []listed
	in.each(func(i int) {
		if allowed(i) {
			list = append(list, listed{in.document(i), i})
		}
	})
	if len(in.segments) > 1 {
		slices.SortStableFunc(list, func(a, b listed) int {
			return cmp.Or(strings.Compare(a.Key, b.Key),
				cmp.Compare(in.priority(b.Source), in.priority(a.Source)),
				strings.Compare(a.Source, b.Source), strings.Compare(a.Path, b.Path))
		})
	}
	return list
}

// vector is the vector of a prompt, prepared for each segment.
type vector []*snapshot.Prompt

// prepare returns the vector of a prompt, nil for none.
func (in *reading) prepare(prompt embed.Vector) vector {
	if prompt == nil {
		return nil
	}
	v := make(vector, len(in.readers))
	for n, r := range in.readers {
		if in.segments[n].Meta().Dim == 0 {
			continue // none of its skills has a vector
		}
		var err error
		v[n], err = r.Prompt(prompt)
		in.note(err)
	}
	return v
}

// dim returns the dimension of the vectors, 0 when there are none.
func (v *view) dim() int {
	dim := 0
	for n := range v.segments {
		dim = max(dim, v.segments[n].Meta().Dim)
	}
	return dim
}

// cosines returns the similarities of a prompt to skill i; ok is false when that
// has no vectors.
func (in *reading) cosines(v vector, i int) (description, full float64, ok bool) {
	n, r, doc := in.at(i)
	if v == nil || v[n] == nil {
		return 0, 0, false
	}
	description, full, ok, err := r.Cosines(v[n], doc)
	in.note(err)
	return description, full, ok
}

// nearest returns the k skills of the scope that are nearest to a prompt.
func (in *reading) nearest(v vector, sc *scope, k int) []snapshot.Hit {
	return in.best(k, func(n int, r *snapshot.Reader) ([]snapshot.Hit, error) {
		if v == nil || v[n] == nil {
			return nil, nil
		}
		return r.Nearest(v[n], sc.searched[n], k)
	})
}

// best merges what f finds in each segment.
func (in *reading) best(k int, f func(n int, r *snapshot.Reader) ([]snapshot.Hit, error)) []snapshot.Hit {
	var all []snapshot.Hit
	for n, r := range in.readers {
		hits, err := f(n, r)
		in.note(err)
		for i := range hits {
			hits[i].Doc += in.segments[n].first
		}
		if all = append(all, hits...); len(in.readers) > 1 {
			slices.SortFunc(all, func(a, b snapshot.Hit) int {
				return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Doc, b.Doc))
			})
		}
	}
	return all[:min(k, len(all))]
}

package snapshot

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/disjoint"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A family is a skill and its copies: the same text under another name, a fork with edits, a
// version with more or less in it. One of them stands for all, so a ranker must know families
// before a prompt comes: the copy that is made to fit a prompt may be found where its original
// is not. Write joins relatives, and familySection has the family of each skill, so that nobody
// else compares pairs, of which a family of a thousand has half a million.

// What relatives have in common. In 16,000 skills of a public corpus, skills with different tasks
// that were made from one template share up to .85 of their runs of words, but not the words of
// their names, nor all words of the shorter description.
const (
	sharedBody  = .9 // of the runs of words of the shorter body, those that the longer one has
	sharedTexts = .8 // the same, if names agree and descriptions are the same
	surely      = .3 // likeness of bodies below which that share is a guess
	sharedWords = .8 // of the words of the shorter description, if the names agree
	edited      = .5 // likeness of bodies, if names agree and descriptions are the same
	fewWords    = 4  // a description with fewer says nothing of another one that has them
)

// maxKin is the largest number of skills among which families are looked for: there the kin take
// 60 MB while a snapshot is written.
const maxKin = 1 << 17

// A kin is what tells whether a skill is of the family of another one.
type kin struct {
	Facts
	number      int      // in the set
	name, words []uint64 // hashes of the terms of the name and of the description, sorted, each once
	mask        uint64   // a bit for each of words
	sketch      words.Sketch
}

// newKin returns the kin of a document with these facts.
func newKin(d *Document, facts Facts, a *words.Analyzer) *kin {
	k := &kin{Facts: facts, sketch: appendSketch(nil, d.Sketch), name: hashesOf(a.Terms(d.Name)), words: hashesOf(a.Terms(d.Description))}
	for _, h := range k.words {
		k.mask |= 1 << (h % 64)
	}
	return k
}

func hashesOf(terms []string) []uint64 {
	list := make([]uint64, len(terms))
	for i, t := range terms {
		list[i] = words.Hash(t)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// isKin reports whether two skills are of one family.
func (k *kin) isKin(o *kin) bool {
	if k.Digest == o.Digest {
		return true
	}
	same := k.Description == o.Description
	names := share(k.name, o.name) == 1
	if !same && !names && k.mask&o.mask != k.mask && k.mask&o.mask != o.mask {
		return false // which is so for most pairs that were made from one template
	}
	if k.sketch.TooFew() || o.sketch.TooFew() {
		return same && names && k.sketch.Same(o.sketch)
	}
	likeness := k.sketch.Likeness(o.sketch)
	shorter := float64(max(1, min(k.Tokens, o.Tokens)))
	held := likeness / (1 + likeness) * float64(k.Tokens+o.Tokens) / shorter // of the shorter body
	switch described := share(k.words, o.words); {
	case likeness < surely:
		return false
	case same && names:
		return likeness >= edited || held >= sharedTexts
	case held < sharedBody:
		return false
	default:
		return names && described >= sharedWords || same || described == 1 && min(len(k.words), len(o.words)) >= fewWords
	}
}

// share returns how much of the shorter list the longer one has, 0 if it is empty.
func share(a, b []uint64) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	shared := 0
	for _, h := range a {
		if _, ok := slices.BinarySearch(b, h); ok {
			shared++
		}
	}
	return float64(shared) / float64(max(1, len(a)))
}

// A kinFinder finds those of some skills that another one may be kin of: they have a band of their
// sketches in common, or the same file, or few words that are the same.
type kinFinder struct {
	size   uint32             // of a table, a power of two
	used   []uint64           // of the tables of all bands, a bit for each place
	chains []int32            // at each place, the skill added last, from 1
	next   []int32            // for each skill and band, the one added before at its place
	short  map[uint64][]int32 // by the keys of shortKeys
	seen   []int32            // for each skill, who asked last
	found  []int32
}

// mostInChain bounds how many skills of one band are compared: thousands may be made from one
// template.
const mostInChain = 512

func newKinFinder(skills int) *kinFinder {
	size := 1 << max(10, bits.Len(uint(skills)))
	places := words.SketchBands * size
	return &kinFinder{size: uint32(size), used: make([]uint64, places/64), chains: make([]int32, places), short: make(map[uint64][]int32)}
}

// place returns the place of a band of a sketch; ok is false if the band says too little.
func (f *kinFinder) place(s words.Sketch, band int) (at uint32, ok bool) {
	bins, ok := s.Band(band)
	return uint32(band)*f.size + bins*0x9e3779b1>>8&(f.size-1), ok
}

// add adds a skill. Skills are numbered from 0 in the order in which they are added.
func (f *kinFinder) add(k *Facts, s words.Sketch) {
	i := int32(len(f.seen))
	f.seen = append(f.seen, 0)
	f.next = append(f.next, make([]int32, words.SketchBands)...)
	for _, key := range shortKeys(k, s) {
		f.short[key] = append(f.short[key], i)
	}
	if s.TooFew() {
		return
	}
	for band := range words.SketchBands {
		if at, ok := f.place(s, band); ok {
			f.used[at/64] |= 1 << (at % 64)
			f.next[int(i)*words.SketchBands+band], f.chains[at] = f.chains[at], i+1
		}
	}
}

// shortKeys are what skills with the same file have in common, and skills with few words that say
// the same.
func shortKeys(k *Facts, s words.Sketch) [2]uint64 {
	return [2]uint64{k.Digest, k.Description ^ bits.RotateLeft64(binary.LittleEndian.Uint64(s), 1)}
}

// find returns each skill once that a skill may be kin of, until the next call. who is a number of
// the asking skill, not 0.
func (f *kinFinder) find(k *Facts, s words.Sketch, who int32) []int32 {
	f.found = f.found[:0]
	add := func(i int32) {
		if f.seen[i] != who {
			f.seen[i], f.found = who, append(f.found, i)
		}
	}
	for _, key := range shortKeys(k, s) {
		list := f.short[key]
		for _, i := range list[max(0, len(list)-mostInChain):] {
			add(i)
		}
	}
	if s.TooFew() {
		return f.found
	}
	for band := range words.SketchBands {
		at, ok := f.place(s, band)
		if !ok || f.used[at/64]>>(at%64)&1 == 0 {
			continue
		}
		i := f.chains[at]
		for n := 0; i > 0 && n < mostInChain; n++ {
			add(i - 1)
			i = f.next[int(i-1)*words.SketchBands+band]
		}
	}
	return f.found
}

// A linker joins the skills that are added to it with their relatives among those before.
type linker struct {
	finder *kinFinder
	kin    []*kin // as they were added
	sets   disjoint.Sets[int]
}

func (l *linker) add(k *kin) {
	l.join(k, l.finder.find(&k.Facts, k.sketch, int32(len(l.kin)+1)))
	l.finder.add(&k.Facts, k.sketch)
	l.kin = append(l.kin, k)
}

// join joins a skill with its relatives in a list of kin. It compares nothing within a family: so
// a thousand copies take a thousand comparisons.
func (l *linker) join(k *kin, list []int32) {
	for _, j := range list {
		if o := l.kin[j]; !l.sets.Same(k.number, o.number) && k.isKin(o) {
			l.sets.Join(k.number, o.number)
		}
	}
}

// addFamilies fills the section of families: of the set that the documents make, alone or with the
// snapshot beside.
func (w *writer) addFamilies() error {
	if w.h.docs > maxKin {
		return nil
	}
	l := &linker{finder: newKinFinder(len(w.kin))}
	link := func(first int) {
		for i, k := range w.kin {
			k.number = first + i
			l.add(k)
		}
	}
	switch base := w.h.meta.Beside; {
	case base == nil:
		link(0)
	case base.Len() > maxKin:
		link(base.next())
	default:
		err := base.Read(func(r *Reader) error {
			done, err := w.keepFamilies(r, l)
			if err != nil {
				return err
			}
			link(base.next())
			if len(w.kin) == 0 {
				return nil
			}
			return w.linkBeside(r, l, done)
		})
		if err != nil {
			return err
		}
	}
	var entries [][2]int
	for family, members := range l.sets.Joined() {
		for _, number := range members {
			entries = append(entries, [2]int{number, family})
		}
	}
	slices.SortFunc(entries, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	out := &w.parts[familySection]
	for _, e := range entries {
		out.buf = binary.LittleEndian.AppendUint32(out.buf, uint32(e[0]))
		out.buf = binary.LittleEndian.AppendUint32(out.buf, uint32(e[1]))
	}
	return nil
}

// keepFamilies takes over the families of the snapshot beside. A family that has lost a skill may
// be several now, so keepFamilies links those that are left of it anew. done are the documents that
// are gone, and those that it has linked.
func (w *writer) keepFamilies(r *Reader, l *linker) (done Skills, err error) {
	if done, err = r.ordinals(w.h.meta.Replaced); err != nil {
		return nil, err
	}
	families, err := r.families()
	if err != nil {
		return nil, err
	}
	broken := make(map[int]bool)
	for doc, family := range families {
		if done.Has(doc) {
			broken[family] = true
		}
	}
	for doc, family := range families {
		switch {
		case done.Has(doc):
		case broken[family]:
			k, err := w.kinOf(r, doc)
			if err != nil {
				return nil, err
			}
			l.add(k)
			done.Add(doc)
		default:
			l.sets.Join(doc, family)
		}
	}
	return done, nil
}

// linkBeside joins the documents with their relatives in the snapshot beside, but for those of
// which the linker knows already.
func (w *writer) linkBeside(r *Reader, l *linker, done Skills) error {
	sketches, err := r.s.bytes(sketchSection, 0, r.s.header.sizes[sketchSection])
	for doc := 0; doc < r.s.Len() && err == nil; doc++ {
		if done.Has(doc) {
			continue
		}
		sketch := words.Sketch(sketches[doc*words.SketchSize:][:words.SketchSize])
		var facts Facts
		if facts, err = r.Facts(doc); err != nil {
			break
		}
		list := slices.DeleteFunc(l.finder.find(&facts, sketch, int32(-1-doc)), func(j int32) bool {
			o := l.kin[j]
			return o.number < r.s.next() || !sketch.TooFew() && facts.Digest != o.Digest && sketch.Likeness(o.sketch) < surely
		})
		if len(list) == 0 {
			continue // as nearly all, so nothing else is read of it
		}
		var k *kin
		if k, err = w.kinOf(r, doc); err == nil {
			l.join(k, list)
		}
	}
	return err
}

// kinOf returns the kin of a document of the snapshot beside.
func (w *writer) kinOf(r *Reader, doc int) (*kin, error) {
	d, err := r.Doc(doc)
	if err != nil {
		return nil, err
	}
	facts, err := r.Facts(doc)
	if err != nil {
		return nil, err
	}
	d.Sketch, err = r.Sketch(doc)
	k := newKin(&d, facts, &w.analyzer)
	k.number = doc
	return k, err
}

// The section holds the numbers of the skills that have copies, in ascending order, 4 bytes each,
// and after each the number of its family, which is the number of the first skill of it. In a delta
// these are all families of the set, so readers of a set read its last snapshot alone.
const familyEntrySize = 8

// families yields what the section holds.
func (r *Reader) families() (iter.Seq2[int, int], error) {
	data, err := r.s.bytes(familySection, 0, r.s.header.sizes[familySection])
	return func(yield func(number, family int) bool) {
		for at := 0; at < len(data); at += familyEntrySize {
			if !yield(int(binary.LittleEndian.Uint32(data[at:])), int(binary.LittleEndian.Uint32(data[at+4:]))) {
				return
			}
		}
	}, err
}

// Families yields the skills that have copies, in the order of their numbers, and the number of the
// family of each, whatever the scope.
func (v *View) Families() iter.Seq2[int, int] {
	families, err := v.readers[len(v.readers)-1].families()
	v.note(err)
	return func(yield func(i, family int) bool) {
		for i, family := range families {
			if v.Set.all.In.Has(i) && !yield(i, family) {
				return
			}
		}
	}
}

package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "cmp"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/snapshot"
)

func TestRoundTrip(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	for _, n := range []int{0, 1, 2, 11, 63, 64, 300, testsize.Rounds(1000, 5000)} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			docs := newGenerator(uint64(n)).documents(n, 60, dim)
			meta := snapshot.Meta{Generation: generation, Models: model("test", dim), Weights: weights, Extra: bytes.Repeat([]byte("extra"), 7*n)}
			path := write(t, meta, docs)
			s := open(t, path)
			checkRoundTrip(t, s, meta, docs)
			if s.Path() != path {
				t.Errorf("path %s, want %s", s.Path(), path)
			}
			data, err := snapshot.Encode(meta, each(docs))
			must.Do(t, err)
			if file, err := os.ReadFile(path); err != nil || !bytes.Equal(data, file) {
				t.Errorf("Encode made other bytes than Write, %v", err)
			}
			m, err := snapshot.New(data)
			must.Do(t, err)
			checkRoundTrip(t, m, meta, docs)
			if err := m.Close(); err != nil || m.Path() != "" {
				t.Errorf("path %q, %v", m.Path(), err)
			}
		})
	}
}

func checkRoundTrip(t *testing.T, s *snapshot.Snapshot, meta snapshot.Meta, docs []document) {
	t.Helper()
	total := 0
	for _, d := range docs {
		total += len(d.Fields.Name) + len(d.Fields.Description) + len(d.Fields.Tags) + len(d.Fields.Body)
	}
	meta.MeanLength = float64(total) / float64(max(len(docs), 1))
	if diff := cmp.Diff(meta, s.Meta(), cmpopts.EquateEmpty()); diff != "" || s.Len() != len(docs) {
		t.Errorf("%d documents, want %d; %s", s.Len(), len(docs), diff)
	}
	read(t, s, func(r *snapshot.Reader) {
		for i, want := range docs {
			got, err := r.Doc(i)
			checkSketch(t, r, i, want.Sketch)
			want.Terms, want.Sketch, want.Vectors = nil, nil, snapshot.Vectors{}
			if err != nil || !reflect.DeepEqual(got, want.Document) {
				t.Fatalf("document %d: %+v, %v; want %+v", i, got, err, want.Document)
			}
			doc, ok, err := r.Ordinal(want.Row)
			if doc != i || !ok || err != nil {
				t.Fatalf("row %d is document %d, %v, %v; want %d", want.Row, doc, ok, err, i)
			}
			if doc, ok, err := r.Ordinal(want.Row + 1); ok || err != nil {
				t.Fatalf("row %d is document %d, %v", want.Row+1, doc, err)
			}
		}
		for _, i := range []int{-1, len(docs)} {
			_, err1 := r.Doc(i)
			_, err2 := r.Facts(i)
			_, _, err3 := r.HeadTerms(nil, i, 3)
			if err1 == nil || err2 == nil || err3 == nil {
				t.Errorf("there is a document %d: %v, %v, %v", i, err1, err2, err3)
			}
		}
	})
	checkTerms(t, s, docs)
}

// TestTexts: texts of any form come back as they were.
func TestTexts(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("0123456789abcdef", 4)
	var docs []document
	for _, m := range []skill.Meta{
		{}, {Name: "k", ID: "k"}, {Name: "other", ID: "k"}, {ID: digits}, {Path: "SKILL.md"}, {Path: "/SKILL.md"}, {Path: "a//SKILL.md"}, {Path: "a/b/"},
		{Source: "s", Path: "k/SKILL.md", Location: "/s/k/SKILL.md"}, {Source: "s", Path: "z/SKILL.md", Location: "/s/z/SKILL.md"},
		{Source: "s", Path: "k/skill.md", Location: "s:k/skill.md"}, {Path: "a/k/SKILL.md", Location: "a/k/SKILL.md"}, {Path: "a/k/SKILL.md", Location: "elsewhere"},
		{Digest: digits, TextDigest: "sha256:" + digits}, {Digest: "sha256:" + digits, TextDigest: digits}, {Digest: "sha256:", TextDigest: "\x00"},
		{Digest: "sha256:" + strings.ToUpper(digits), TextDigest: strings.ToUpper(digits)}, {Digest: "sha256:" + digits[1:], TextDigest: digits + "00"},
	} {
		docs = append(docs, documents(snapshot.Document{Meta: m, Key: "k", Row: int64(2 * len(docs))})...)
	}
	checkRoundTrip(t, build(t, docs, 0), snapshot.Meta{Generation: generation, Models: model("test", 0), Weights: weights}, docs)
}

// checkSketch compares the sketch of a document with the one that was written. A body with
// too few words has no sketch.
func checkSketch(t *testing.T, r *snapshot.Reader, doc int, want words.Sketch) {
	t.Helper()
	got, err := r.Sketch(doc)
	if err != nil || got.TooFew() != want.TooFew() || !want.TooFew() && got.Likeness(want) != 1 {
		t.Fatalf("document %d: sketch %x, %v; want %x", doc, got, err, want)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	docs := newGenerator(8).documents(60, 5, 0)
	docs[7].Digest, docs[8].Description, docs[9].Tokens = docs[6].Digest, docs[6].Description, math.MaxInt32
	var facts []snapshot.Facts
	read(t, build(t, docs, 0), func(r *snapshot.Reader) {
		for i, d := range docs {
			f, err := r.Facts(i)
			want := snapshot.Facts{Row: d.Row, Tokens: d.Tokens, Hidden: d.Hidden, Digest: f.Digest, Description: f.Description}
			if err != nil || f != want {
				t.Errorf("%+v, %v; want %+v", f, err, want)
			}
			facts = append(facts, f)
		}
	})
	for i, f := range facts {
		for j, g := range facts {
			if (f.Digest == g.Digest) != (docs[i].Digest == docs[j].Digest) || (f.Description == g.Description) != (docs[i].Description == docs[j].Description) {
				t.Errorf("%+v and %+v; the documents are %+v and %+v", f, g, docs[i], docs[j])
			}
		}
	}
}

// TestMeanLength: two snapshots with the same mean length, searched with the same weights of
// terms, give the same scores as one snapshot.
func TestMeanLength(t *testing.T) {
	t.Parallel()
	docs := newGenerator(21).documents(900, 60, 0)
	whole := build(t, docs, 0)
	meta := snapshot.Meta{Weights: weights, MeanLength: whole.Meta().MeanLength}
	base, delta := open(t, write(t, meta, docs[:800])), open(t, write(t, meta, docs[800:]))
	if got := delta.Meta().MeanLength; got != meta.MeanLength {
		t.Fatalf("mean length %v, want %v", got, meta.MeanLength)
	}
	terms := newGenerator(22).terms(12)
	parts := func(s *snapshot.Snapshot, first int, common []snapshot.Term) (hits []snapshot.Hit) {
		read(t, s, func(r *snapshot.Reader) {
			list, err := r.Lookup(nil, terms)
			for i := range list {
				list[i].IDF = common[i].IDF
			}
			if err == nil {
				hits, err = r.Search(list, firsts(len(docs)), len(docs))
			}
			must.Do(t, err)
		})
		for i := range hits {
			hits[i].Doc += first
		}
		return hits
	}
	common := lookup(t, whole, terms...)
	for _, term := range common {
		if want := snapshot.InverseFrequency(term.Docs, len(docs)); term.IDF != want {
			t.Errorf("weight %v, want %v", term.IDF, want)
		}
	}
	got := append(parts(base, 0, common), parts(delta, 800, common)...)
	slices.SortFunc(got, func(a, b snapshot.Hit) int { return gocmp.Or(gocmp.Compare(b.Score, a.Score), a.Doc-b.Doc) })
	if want := search(t, whole, terms, whole.All(), len(docs)); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d hits in two parts, %d in one, or others", len(got), len(want))
	}
}

// checkTerms compares the dictionary and the terms of each document.
func checkTerms(t *testing.T, s *snapshot.Snapshot, docs []document) {
	t.Helper()
	counts := frequencies(docs)
	texts := []string{"", "absent", "w", "zzz", "\xff"}
	for term := range counts {
		texts = append(texts, term)
	}
	list := lookup(t, s, texts...)
	ids := make(map[string]uint32)
	for i, term := range list {
		if term.Docs != counts[texts[i]] {
			t.Fatalf("%q is in %d documents, want %d", texts[i], term.Docs, counts[texts[i]])
		}
		ids[texts[i]] = term.ID
	}
	idsOf := func(lists ...[]string) (out []uint32) {
		for _, term := range slices.Concat(lists...) {
			out = append(out, ids[term])
		}
		return out
	}
	read(t, s, func(r *snapshot.Reader) {
		for i, d := range docs {
			name, _, err1 := r.HeadTerms(nil, i, 1)
			wantName := idsOf(d.Fields.Name)
			slices.Sort(wantName)
			head, ends, err2 := r.HeadTerms([]uint32{7}, i, 3)
			want := append([]uint32{7}, name...)
			wantEnds := [3]int{len(want)}
			for n, list := range [][]string{d.Fields.Description[:d.Fields.Shown], d.Fields.Tags} {
				ids := idsOf(list)
				slices.Sort(ids)
				want = append(want, slices.Compact(ids)...)
				wantEnds[n+1] = len(want)
			}
			if err := errors.Join(err1, err2); err != nil || !slices.Equal(name, wantName) || !slices.Equal(head, want) || ends != wantEnds {
				t.Fatalf("document %d: name %v, head %v, %v, want %v; %v", i, name, head, ends, want, err)
			}
			key, err1 := r.Key(i)
			ref, err2 := r.AppendRef([]byte("id: "), i)
			if err := errors.Join(err1, err2); err != nil || d.ID != "" && (key != d.Key || string(ref) != "id: "+d.ID) {
				t.Fatalf("document %d: key %q, ref %q, want %q, %q; %v", i, key, ref, d.Key, d.ID, err)
			}
		}
	})
}

// frequencies counts the documents of each term.
func frequencies(docs []document) map[string]int {
	counts := make(map[string]int)
	for _, d := range docs {
		seen := make(map[string]bool)
		for _, term := range slices.Concat(d.Fields.Name, d.Fields.Description, d.Fields.Tags, d.Fields.Body) {
			if !seen[term] {
				counts[term]++
			}
			seen[term] = true
		}
	}
	return counts
}

// checkHits compares hits with the scores of all documents: each hit has its document's
// score, within one hundredth, and no document that was left out scores higher.
func checkHits(t *testing.T, hits []snapshot.Hit, scores []float64, allowed snapshot.Skills, k int) {
	t.Helper()
	found := make(map[int]bool)
	worst := math.Inf(1)
	for i, h := range hits {
		if want := scores[h.Doc]; math.Abs(h.Score-want) > .01*want || !allowed.Has(h.Doc) || found[h.Doc] {
			t.Fatalf("hit %d: %+v, want %g, allowed %v", i, h, want, allowed.Has(h.Doc))
		}
		if i > 0 && (hits[i-1].Score < h.Score || hits[i-1].Score == h.Score && hits[i-1].Doc > h.Doc) {
			t.Fatalf("hits %d and %d are out of order: %v", i-1, i, hits[i-1:i+1])
		}
		found[h.Doc], worst = true, min(worst, h.Score)
	}
	all := 0
	for i, x := range scores {
		if x == 0 || !allowed.Has(i) {
			continue
		}
		all++
		if !found[i] && (len(hits) < k || x > worst*1.02) {
			t.Fatalf("%d with %g is missing; the last of %d has %g", i, x, len(hits), worst)
		}
	}
	if len(hits) != min(k, all) {
		t.Fatalf("%d hits of %d, want %d", len(hits), all, k)
	}
}

func TestSearchAgainstDefinition(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	for _, n := range []int{1, 2, 40, 700, testsize.Rounds(1100, 3000)} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := newGenerator(uint64(n))
			docs := g.documents(n, 60, 0)
			s := build(t, docs, 0)
			for range testsize.Rounds(20, 60) {
				terms := append(g.terms(g.rng.IntN(12)), "absent")
				terms = append(terms, terms[0]) // counts twice
				allowed := s.All()
				if g.rng.IntN(2) == 0 {
					allowed = nil
					for i := range n {
						if g.rng.IntN(3) == 0 {
							allowed.Add(i)
						}
					}
				}
				k := g.rng.IntN(40)
				checkHits(t, search(t, s, terms, allowed, k), bm25(docs, terms), allowed, k)
			}
		})
	}
}

// TestStretches: documents whose ordinals need more than 16 bits, and terms of
// their heads that stretches before or after do not have.
func TestStretches(t *testing.T) {
	t.Parallel()
	testsize.Long(t)
	docs := make([]document, 140_000)
	for i := range docs {
		docs[i].Key = fmt.Sprintf("%06d", i)
		docs[i].Fields.Body = []string{"filler"}
	}
	for _, i := range []int{3, 65_535, 65_536, 139_999} {
		docs[i].Fields.Name = []string{"rare"}
		docs[i].Fields.Tags = []string{fmt.Sprint("z", i/65_536), "a", fmt.Sprint(i)}
	}
	s := build(t, docs, 0)
	var got []int
	for _, h := range search(t, s, []string{"rare"}, s.All(), 10) {
		got = append(got, h.Doc)
	}
	if want := []int{3, 65_535, 65_536, 139_999}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if hits := search(t, s, []string{"filler"}, s.All(), 200_000); len(hits) != len(docs) {
		t.Errorf("%d of %d documents", len(hits), len(docs))
	}
	checkOccurrences(t, s, "rare")
	checkOccurrences(t, s, "filler")
	checkTerms(t, s, docs)
}

func TestUnicodeTerms(t *testing.T) {
	t.Parallel()
	terms := []string{"填写", "表", "é", "e\u0301", "naïve", "\U0001F600", "\xff\xfe", strings.Repeat("long", 99)}
	for i := range 50 { // groups whose first terms begin alike
		terms = append(terms, "long"+strings.Repeat("0", i), strings.Repeat("long", 9)+fmt.Sprint(i))
	}
	docs := []document{{Fields: skill.Fields{Body: terms}}, {}}
	s := build(t, docs, 0)
	for _, term := range terms {
		if n := lookup(t, s, term)[0].Docs; n != 1 {
			t.Errorf("%q is in %d documents", term, n)
		}
	}
	checkTerms(t, s, docs)
}

func TestPrefixed(t *testing.T) {
	t.Parallel()
	var docs []document
	for _, key := range []string{"", "csv", "pdf", "pdf", "pdf-forms", "pdf-z", "pdg", "表", "表"} {
		docs = append(docs, documents(snapshot.Document{Key: key, Hidden: key == "pdf-z"})...)
	}
	read(t, build(t, docs, 0), func(r *snapshot.Reader) {
		for prefix, want := range map[string][2]int{
			"": {0, 9}, "pdf": {2, 6}, "pdf-": {4, 6}, "pdf-z": {5, 6}, "pd": {2, 7}, "a": {1, 1}, "表": {7, 9}, "表表": {9, 9},
		} {
			first, last, err := r.Prefixed(prefix)
			if got := [2]int{first, last}; got != want || err != nil {
				t.Errorf("%q: %v, %v; want %v", prefix, got, err, want)
			}
		}
	})
}

func TestScopes(t *testing.T) {
	t.Parallel()
	docs := newGenerator(5).documents(200, 5, 0)
	docs[7].Tags, docs[70].Tags = []string{"K", "k"}, []string{"\u212a"} // the Kelvin sign
	s := build(t, docs, 0)
	read(t, s, func(r *snapshot.Reader) { checkScopes(t, r, s.All(), docs) })
}

func checkScopes(t *testing.T, r *snapshot.Reader, all snapshot.Skills, docs []document) {
	check := func(set snapshot.Skills, in func(d *snapshot.Document) bool) {
		t.Helper()
		for i := range docs {
			if set.Has(i) != in(&docs[i].Document) {
				t.Fatalf("document %d: %v", i, set.Has(i))
			}
		}
	}
	tagged := func(name string) func(d *snapshot.Document) bool {
		return func(d *snapshot.Document) bool {
			return slices.ContainsFunc(d.Tags, func(tag string) bool { return words.SameName(tag, name) })
		}
	}
	tag := func(name string) snapshot.Skills {
		set, err := r.Tag(name)
		if set.Count() == 0 || err != nil {
			t.Fatalf("tag %q: %v, %v", name, set, err)
		}
		check(set, tagged(name))
		return set
	}
	a, b := tag("tAG 1"), tag("tag 2")
	tag("k")
	check(a.And(b), func(d *snapshot.Document) bool { return tagged("tag 1")(d) && tagged("tag 2")(d) })
	check(a.Or(b), func(d *snapshot.Document) bool { return tagged("tag 1")(d) || tagged("tag 2")(d) })
	check(a.AndNot(b), func(d *snapshot.Document) bool { return tagged("tag 1")(d) && !tagged("tag 2")(d) })
	if n := all.Count(); n != len(docs) {
		t.Errorf("all are %d of %d", n, len(docs))
	}
	check(all, func(*snapshot.Document) bool { return true })
	hidden, err := r.Hidden()
	must.Do(t, err)
	check(hidden, func(d *snapshot.Document) bool { return d.Hidden })
	check(all.AndNot(a), func(d *snapshot.Document) bool { return !tagged("tag 1")(d) })
	source, err := r.Source("source-1")
	must.Do(t, err)
	check(source, func(d *snapshot.Document) bool { return d.Source == "source-1" })
	for _, f := range []func(string) (snapshot.Skills, error){r.Tag, r.Source} {
		for _, name := range []string{"SOURCE-1", "absent"} {
			if set, err := f(name); set.Count() > 0 || err != nil {
				t.Errorf("unknown %q: %v, %v", name, set, err)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	for _, n := range []int{1, 100, 6000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := newGenerator(uint64(n))
			docs := g.documents(n, 3, dim)
			read(t, build(t, docs, dim), func(r *snapshot.Reader) { checkNearest(t, r, g, docs) })
		})
	}
}

func checkNearest(t *testing.T, r *snapshot.Reader, g *generator, docs []document) {
	found, wanted := 0, 0
	for round := range 20 {
		v := g.vector(dim)
		p, err := r.Prompt(snapshot.Words, v)
		must.Do(t, err)
		allowed := firsts(len(docs))
		if round%2 == 1 {
			allowed, _ = r.Source("source-1")
		}
		want := nearest(t, r, docs, v, allowed)
		hits, err := r.Nearest(p, allowed, 50)
		if err != nil || len(hits) != min(50, len(want)) {
			t.Fatalf("%d hits, want %d, %v", len(hits), len(want), err)
		}
		for _, h := range want[:min(10, len(want))] {
			wanted++
			if slices.ContainsFunc(hits, func(g snapshot.Hit) bool { return g.Doc == h.Doc }) {
				found++
			}
		}
	}
	// Vectors without structure are the hardest for 1-bit codes.
	if float64(found) < .85*float64(wanted) {
		t.Errorf("found %d of the %d nearest", found, wanted)
	}
}

// nearest computes the sums of cosines from the original vectors, and checks the
// snapshot's cosines against them.
func nearest(t *testing.T, r *snapshot.Reader, docs []document, v []float32, allowed snapshot.Skills) []snapshot.Hit {
	t.Helper()
	p, err := r.Prompt(snapshot.Words, v)
	must.Do(t, err)
	var list []snapshot.Hit
	for i, d := range docs {
		var c snapshot.Cosines
		err := r.Cosines(p, i, &c)
		a, b, ok := c.Value[snapshot.Description], c.Value[snapshot.Full], c.Known[snapshot.Full]
		if err != nil || ok != (d.Vectors[snapshot.Full] != nil) {
			t.Fatalf("document %d: %v, %v", i, ok, err)
		}
		if !ok || !allowed.Has(i) {
			continue
		}
		var x, y float64
		for j := range v {
			x += float64(v[j]) * float64(d.Vectors[snapshot.Description][j])
			y += float64(v[j]) * float64(d.Vectors[snapshot.Full][j])
		}
		if math.Abs(a-x) > .01 || math.Abs(b-y) > .01 {
			t.Fatalf("document %d: cosines %g and %g, want %g and %g", i, a, b, x, y)
		}
		list = append(list, snapshot.Hit{Doc: i, Score: x + y})
	}
	slices.SortFunc(list, func(a, b snapshot.Hit) int { return gocmp.Compare(b.Score, a.Score) })
	return list
}

func TestDeterministic(t *testing.T) {
	t.Parallel()
	var files [2][]byte
	for i := range files {
		data, err := os.ReadFile(write(t, snapshot.Meta{Models: model("", dim), Weights: weights}, newGenerator(3).documents(400, 30, dim)))
		must.Do(t, err)
		files[i] = data
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the same input made different bytes")
	}
}

// documents returns documents without terms.
func documents(list ...snapshot.Document) []document {
	docs := make([]document, len(list))
	for i := range list {
		docs[i].Document = list[i]
	}
	return docs
}

// TestWriteRefuses: the error names what cannot be written, and the old file stays.
func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	path := write(t, snapshot.Meta{Weights: weights}, nil)
	unit := []float32{1, 0}
	for _, tt := range []struct {
		name string
		meta snapshot.Meta
		docs []document
		want string
	}{
		{"mean", snapshot.Meta{MeanLength: math.Inf(1)}, nil, "mean length"},
		{"keys", snapshot.Meta{}, documents(snapshot.Document{Key: "b"}, snapshot.Document{Key: "a", Meta: skill.Meta{ID: "x/a"}}), `document 1 (x/a): its key "a"`},
		{"weights", snapshot.Meta{Weights: skill.Weights{Body: -1}}, nil, "weights"},
		{"not a number", snapshot.Meta{Weights: skill.Weights{Body: math.NaN()}}, nil, "weights"},
		{"dimension", snapshot.Meta{Models: model("", -1)}, nil, "dimension -1"},
		{"one vector", snapshot.Meta{Models: model("", 2)}, documents(snapshot.Document{Meta: skill.Meta{ID: "a"}, Vectors: snapshot.Vectors{snapshot.Full: unit}}), "document 0 (a): a vector has 0 values, want 2"},
		{"length", snapshot.Meta{Models: model("", 2)}, documents(snapshot.Document{Meta: skill.Meta{ID: "a"}, Vectors: snapshot.Vectors{snapshot.Full: unit, snapshot.Description: {1, 1}}}), "length 1.41"},
		{"tokens", snapshot.Meta{}, documents(snapshot.Document{Meta: skill.Meta{ID: "a", Tokens: -1}}), "-1 tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := snapshot.Write(atomicfile.OS{}, path, tt.meta, each(tt.docs)); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if _, err := snapshot.Encode(tt.meta, each(tt.docs)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if open(t, path).Len() != 0 {
		t.Error("the old file is gone")
	}
	onlyFile(t, path)
}

// onlyFile fails the test if there is any other file next to the file.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	if list, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(list) != 1 || err != nil {
		t.Errorf("files %v, %v", list, err)
	}
}

// TestWriteStops: whatever ends the documents early, the old file stays and no temporary
// file does. There are enough documents to fill some temporary files.
func TestWriteStops(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	path := write(t, snapshot.Meta{Weights: weights}, nil)
	stop := errors.New("the catalog is gone")
	docs := newGenerator(2).documents(6000, 10, dim)
	fail := func(end func(yield func(*snapshot.Document, error) bool)) iter.Seq2[*snapshot.Document, error] {
		return func(yield func(*snapshot.Document, error) bool) {
			for d := range each(docs) {
				if !yield(d, nil) {
					return
				}
			}
			files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp"))
			if len(files) == 0 || err != nil {
				t.Errorf("temporary files %v, %v", files, err)
			}
			end(yield)
		}
	}
	err := snapshot.Write(atomicfile.OS{}, path, snapshot.Meta{Models: model("", dim)}, fail(func(yield func(*snapshot.Document, error) bool) { yield(nil, stop) }))
	if !errors.Is(err, stop) {
		t.Errorf("%v, want %v", err, stop)
	}
	onlyFile(t, path)
	func() {
		defer func() {
			if r := recover(); r != stop {
				t.Errorf("panic %v, want %v", r, stop)
			}
		}()
		err := snapshot.Write(atomicfile.OS{}, path, snapshot.Meta{Models: model("", dim)}, fail(func(func(*snapshot.Document, error) bool) { panic(stop) }))
		t.Errorf("written: %v", err)
	}()
	onlyFile(t, path)
	if open(t, path).Len() != 0 {
		t.Error("the old file is gone")
	}
}

func TestPromptRefuses(t *testing.T) {
	t.Parallel()
	var p *snapshot.Prompt
	read(t, build(t, newGenerator(1).documents(3, 3, dim), dim), func(r *snapshot.Reader) {
		for _, v := range [][]float32{nil, make([]float32, dim), make([]float32, dim+1), {float32(math.NaN())}} {
			if _, err := r.Prompt(snapshot.Words, v); err == nil {
				t.Errorf("a vector of %d values was taken", len(v))
			}
		}
		var err error
		if p, err = r.Prompt(snapshot.Words, newGenerator(1).vector(dim)); err != nil {
			t.Fatal(err)
		}
	})
	read(t, build(t, newGenerator(1).documents(3, 3, dim/2), dim/2), func(r *snapshot.Reader) {
		_, err1 := r.Nearest(p, nil, 5)
		err2 := r.Cosines(p, 0, new(snapshot.Cosines))
		if err1 == nil || err2 == nil {
			t.Error("a prompt of another dimension was taken")
		}
	})
	read(t, build(t, nil, 0), func(r *snapshot.Reader) {
		if _, err := r.Prompt(snapshot.Words, nil); err == nil {
			t.Error("a snapshot without vectors took a prompt")
		}
	})
}

// TestAmong: Among returns the same numbers as counting all documents, for sets of a few
// documents, of most documents, and beyond one stretch.
func TestAmong(t *testing.T) {
	testsize.Long(t)
	t.Parallel()
	const n = 70_000
	docs := make([]document, n)
	for i := range docs {
		d := &docs[i]
		d.Key = fmt.Sprintf("%06d", i)
		d.Fields.Body = []string{"all"}
		if i%3 == 0 {
			d.Fields.Body = append(d.Fields.Body, "third")
		}
		if i == 66_001 {
			d.Fields.Body = append(d.Fields.Body, "one")
		}
	}
	s := build(t, docs, 0)
	read(t, s, func(r *snapshot.Reader) {
		terms, err := r.Lookup(nil, []string{"all", "absent", "third", "one"})
		must.Do(t, err)
		for _, list := range [][]int{{}, {0}, {3, 4, 65_535, 65_536, 66_001, n - 1}, nil} {
			var set snapshot.Skills
			want := make([]int, 4)
			for i := range n {
				if list != nil && !slices.Contains(list, i) || list == nil && i%2 == 0 {
					continue
				}
				set.Add(i)
				for at, has := range []bool{true, false, i%3 == 0, i == 66_001} {
					if has {
						want[at]++
					}
				}
			}
			if got, err := r.Among(terms, set); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: %v, %v; want %v", list, got, err, want)
			}
		}
	})
}

// TestInverseFrequency: a term that at least half of the documents have weighs almost
// nothing, and no term weighs less.
func TestInverseFrequency(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		docs, all int
		want      float64
	}{{1, 100, math.Log(99.5 / 1.5)}, {0, 100, math.Log(100.5 / .5)}, {50, 100, 1e-6}, {100, 100, 1e-6}, {0, 0, 1e-6}} {
		if got := snapshot.InverseFrequency(tt.docs, tt.all); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%d of %d: %v, want %v", tt.docs, tt.all, got, tt.want)
		}
	}
}

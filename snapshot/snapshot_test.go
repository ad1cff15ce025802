package snapshot_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/snapshot"
)

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 2, 63, 64, 300, 5000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			docs := newGenerator(uint64(n)).documents(n, 60, dim)
			s := build(t, docs, dim)
			if want := (snapshot.Meta{Generation: 42, Model: "test", Dim: dim, Weights: weights}); s.Meta() != want || s.Len() != n {
				t.Errorf("%+v of %d documents, want %+v", s.Meta(), s.Len(), want)
			}
			for i, want := range docs {
				got, err := s.Doc(i)
				want.Terms, want.Vectors = snapshot.Fields{}, snapshot.Vectors{}
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("document %d: %+v, %v; want %+v", i, got, err, want)
				}
			}
			checkTerms(t, s, docs)
			for _, i := range []int{-1, n} {
				if _, err := s.Doc(i); err == nil {
					t.Errorf("there is a document %d", i)
				}
			}
		})
	}
}

// checkTerms compares the dictionary and the terms of each document.
func checkTerms(t *testing.T, s *snapshot.Snapshot, docs []snapshot.Document) {
	t.Helper()
	counts := frequencies(docs)
	texts := []string{"", "absent", "w", "zzz", "\xff"}
	for term := range counts {
		texts = append(texts, term)
	}
	list, err := s.Lookup(texts)
	if err != nil {
		t.Fatal(err)
	}
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
	for i, d := range docs {
		name, err1 := s.NameTerms(nil, i)
		head, err2 := s.HeadTerms([]uint32{7}, i)
		wantHead := idsOf(d.Terms.Name, d.Terms.Description, d.Terms.Tags)
		slices.Sort(wantHead)
		wantHead = append([]uint32{7}, slices.Compact(wantHead)...)
		if err := errors.Join(err1, err2); err != nil || !slices.Equal(name, idsOf(d.Terms.Name)) || !slices.Equal(head, wantHead) {
			t.Fatalf("document %d: name %v, head %v, %v", i, name, head, err)
		}
	}
}

// frequencies counts the documents of each term.
func frequencies(docs []snapshot.Document) map[string]int {
	counts := make(map[string]int)
	for _, d := range docs {
		seen := make(map[string]bool)
		for _, term := range slices.Concat(d.Terms.Name, d.Terms.Description, d.Terms.Tags, d.Terms.Body) {
			if !seen[term] {
				counts[term]++
			}
			seen[term] = true
		}
	}
	return counts
}

// bm25 is the score of each document, computed from the definition.
func bm25(docs []snapshot.Document, terms []string) []float64 {
	counts, total := frequencies(docs), 0
	lists := func(d *snapshot.Document) [4][]string {
		return [4][]string{d.Terms.Name, d.Terms.Description, d.Terms.Tags, d.Terms.Body}
	}
	length := make([]float64, len(docs))
	for i := range docs {
		for _, l := range lists(&docs[i]) {
			length[i] += float64(len(l))
			total += len(l)
		}
	}
	n, scores := float64(len(docs)), make([]float64, len(docs))
	for _, term := range terms {
		df := float64(counts[term])
		idf := max(math.Log((n-df+.5)/(df+.5)), 1e-6)
		for i := range docs {
			w := 0.
			for f, l := range lists(&docs[i]) {
				for _, other := range l {
					if other == term {
						w += []float64{weights.Name, weights.Description, weights.Tags, weights.Body}[f]
					}
				}
			}
			scores[i] += idf * 2.2 * w / (w + 1.2*(.25+.75*length[i]/(float64(total)/n)))
		}
	}
	return scores
}

// checkHits compares hits with the scores of all documents: each has its own
// within a part in a hundred, and none that was left out is better than that.
func checkHits(t *testing.T, hits []snapshot.Hit, scores []float64, allowed snapshot.Bitmap, k int) {
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
	for _, n := range []int{1, 2, 40, 700, 3000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := newGenerator(uint64(n))
			docs := g.documents(n, 60, 0)
			s := build(t, docs, 0)
			for range 60 {
				terms := append(g.terms(g.rng.IntN(12)), "absent")
				terms = append(terms, terms[0]) // counts twice
				allowed := snapshot.Bitmap(nil)
				if g.rng.IntN(2) == 0 {
					allowed = s.NewBitmap()
					for i := range n {
						if g.rng.IntN(3) == 0 {
							allowed.Set(i)
						}
					}
				}
				k := g.rng.IntN(40)
				checkHits(t, search(t, s, terms, allowed, k), bm25(docs, terms), allowed, k)
			}
		})
	}
}

// TestStretches: documents whose ordinals need more than 16 bits.
func TestStretches(t *testing.T) {
	docs := make([]snapshot.Document, 140_000)
	for i := range docs {
		docs[i].Key = fmt.Sprintf("%06d", i)
		docs[i].Terms.Body = []string{"filler"}
	}
	for _, i := range []int{3, 65_535, 65_536, 139_999} {
		docs[i].Terms.Name = []string{"rare"}
	}
	s := build(t, docs, 0)
	var got []int
	for _, h := range search(t, s, []string{"rare"}, nil, 10) {
		got = append(got, h.Doc)
	}
	if want := []int{3, 65_535, 65_536, 139_999}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if hits := search(t, s, []string{"filler"}, nil, 200_000); len(hits) != len(docs) {
		t.Errorf("%d of %d documents", len(hits), len(docs))
	}
}

func TestUnicodeTerms(t *testing.T) {
	terms := []string{"填写", "表", "é", "e\u0301", "naïve", "", "\U0001F600", "\xff\xfe", strings.Repeat("long", 99)}
	docs := []snapshot.Document{{Terms: snapshot.Fields{Body: terms}}, {}}
	s := build(t, docs, 0)
	for _, term := range terms {
		if n, err := s.DocFreq(term); n != 1 || err != nil {
			t.Errorf("%q is in %d documents, %v", term, n, err)
		}
	}
	checkTerms(t, s, docs)
}

func TestPrefixed(t *testing.T) {
	var docs []snapshot.Document
	for _, key := range []string{"", "csv", "pdf", "pdf", "pdf-forms", "pdg", "表"} {
		docs = append(docs, snapshot.Document{Key: key})
	}
	s := build(t, docs, 0)
	for prefix, want := range map[string][2]int{"": {0, 7}, "pdf": {2, 5}, "pdf-": {4, 5}, "pd": {2, 6}, "a": {1, 1}, "表": {6, 7}, "表表": {7, 7}} {
		first, last, err := s.Prefixed(prefix)
		if got := [2]int{first, last}; got != want || err != nil {
			t.Errorf("%q: %v, %v; want %v", prefix, got, err, want)
		}
	}
}

func TestScopes(t *testing.T) {
	docs := newGenerator(5).documents(200, 5, 0)
	docs[7].Tags, docs[70].Tags = []string{"K", "k"}, []string{"\u212a"} // the Kelvin sign
	s := build(t, docs, 0)
	check := func(set snapshot.Bitmap, in func(d *snapshot.Document) bool) {
		t.Helper()
		for i := range docs {
			if set.Has(i) != in(&docs[i]) {
				t.Fatalf("document %d: %v", i, set.Has(i))
			}
		}
	}
	tagged := func(name string) func(d *snapshot.Document) bool {
		return func(d *snapshot.Document) bool {
			return slices.ContainsFunc(d.Tags, func(tag string) bool { return strings.EqualFold(tag, name) })
		}
	}
	tag := func(name string) snapshot.Bitmap {
		set, ok, err := s.Tag(name)
		if !ok || err != nil {
			t.Fatalf("tag %q: %v, %v", name, ok, err)
		}
		check(set, tagged(name))
		return set
	}
	a, b := tag("tAG 1"), tag("tag 2")
	tag("k")
	check(a.And(b), func(d *snapshot.Document) bool { return tagged("tag 1")(d) && tagged("tag 2")(d) })
	check(a.Or(b), func(d *snapshot.Document) bool { return tagged("tag 1")(d) || tagged("tag 2")(d) })
	check(a.AndNot(b), func(d *snapshot.Document) bool { return tagged("tag 1")(d) && !tagged("tag 2")(d) })
	check(s.All().AndNot(a), func(d *snapshot.Document) bool { return !tagged("tag 1")(d) })
	source, ok, err := s.Source("source-1")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	check(source, func(d *snapshot.Document) bool { return d.Source == "source-1" })
	for _, f := range []func(string) (snapshot.Bitmap, bool, error){s.Tag, s.Source} {
		if _, ok, err := f("SOURCE-1"); ok || err != nil {
			t.Errorf("an unknown name: %v, %v", ok, err)
		}
	}
}

func TestNearest(t *testing.T) {
	for _, n := range []int{1, 100, 6000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			g := newGenerator(uint64(n))
			docs := g.documents(n, 3, dim)
			s := build(t, docs, dim)
			found, wanted := 0, 0
			for round := range 20 {
				v := g.vector(dim)
				p, err := s.Prompt(v)
				if err != nil {
					t.Fatal(err)
				}
				allowed := snapshot.Bitmap(nil)
				if round%2 == 1 {
					allowed, _, _ = s.Source("source-1")
				}
				want := nearest(t, p, docs, v, allowed)
				hits, err := p.Nearest(allowed, 50)
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
		})
	}
}

// nearest computes the sums of cosines from the vectors as they were given, and
// checks those of the snapshot against them.
func nearest(t *testing.T, p *snapshot.Prompt, docs []snapshot.Document, v []float32, allowed snapshot.Bitmap) []snapshot.Hit {
	t.Helper()
	var list []snapshot.Hit
	for i, d := range docs {
		a, b, ok, err := p.Cosines(i)
		if err != nil || ok != (d.Vectors.Full != nil) {
			t.Fatalf("document %d: %v, %v", i, ok, err)
		}
		if !ok || !allowed.Has(i) {
			continue
		}
		var x, y float64
		for j := range v {
			x += float64(v[j]) * float64(d.Vectors.Description[j])
			y += float64(v[j]) * float64(d.Vectors.Full[j])
		}
		if math.Abs(a-x) > .01 || math.Abs(b-y) > .01 {
			t.Fatalf("document %d: cosines %g and %g, want %g and %g", i, a, b, x, y)
		}
		list = append(list, snapshot.Hit{Doc: i, Score: x + y})
	}
	slices.SortFunc(list, func(a, b snapshot.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return list
}

func TestDeterministic(t *testing.T) {
	var files [2][]byte
	for i := range files {
		data, err := os.ReadFile(write(t, snapshot.Meta{Dim: dim, Weights: weights}, newGenerator(3).documents(400, 30, dim)))
		if err != nil {
			t.Fatal(err)
		}
		files[i] = data
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the same input made different bytes")
	}
}

// TestWriteRefuses: what cannot be written is named, and the old file stays.
func TestWriteRefuses(t *testing.T) {
	path := write(t, snapshot.Meta{Weights: weights}, nil)
	unit := []float32{1, 0}
	for _, tt := range []struct {
		name string
		meta snapshot.Meta
		docs []snapshot.Document
		want string
	}{
		{"keys", snapshot.Meta{}, []snapshot.Document{{Key: "b"}, {Key: "a", Ref: "x/a"}}, `document 1 (x/a): its key "a"`},
		{"weights", snapshot.Meta{Weights: snapshot.Weights{Body: -1}}, nil, "weights"},
		{"not a number", snapshot.Meta{Weights: snapshot.Weights{Body: math.NaN()}}, nil, "weights"},
		{"dimension", snapshot.Meta{Dim: -1}, nil, "dimension -1"},
		{"one vector", snapshot.Meta{Dim: 2}, []snapshot.Document{{Ref: "a", Vectors: snapshot.Vectors{Full: unit}}}, "document 0 (a): a vector has 0 values, want 2"},
		{"length", snapshot.Meta{Dim: 2}, []snapshot.Document{{Ref: "a", Vectors: snapshot.Vectors{Full: unit, Description: []float32{1, 1}}}}, "length 1.41"},
		{"tokens", snapshot.Meta{}, []snapshot.Document{{Ref: "a", Tokens: -1}}, "-1 tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := snapshot.Write(path, tt.meta, tt.docs); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if open(t, path).Len() != 0 {
		t.Error("the old file is gone")
	}
	if list, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(list) != 1 || err != nil {
		t.Errorf("files %v, %v", list, err)
	}
}

func TestPromptRefuses(t *testing.T) {
	s := build(t, newGenerator(1).documents(3, 3, dim), dim)
	for _, v := range [][]float32{nil, make([]float32, dim), make([]float32, dim+1), {float32(math.NaN())}} {
		if _, err := s.Prompt(v); err == nil {
			t.Errorf("a vector of %d values was taken", len(v))
		}
	}
	if _, err := build(t, nil, 0).Prompt(nil); err == nil {
		t.Error("a snapshot without vectors took a prompt")
	}
}

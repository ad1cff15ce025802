package bench

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// ownSkills are the skills of this project's test data.
func ownSkills(tb testing.TB) iter.Seq2[Document, error] {
	tb.Helper()
	src, err := source.Dir(filepath.FromSlash("../testdata/skills"), nil)
	must.Do(tb, err)
	return sourceCorpus(tb.Context(), src)
}

// collect returns n generated skills.
func collect(tb testing.TB, seed uint64, corpus iter.Seq2[Document, error], n int) []Document {
	tb.Helper()
	var list []Document
	for d, err := range generate(seed, corpus, n) {
		must.Do(tb, err)
		list = append(list, d)
	}
	if len(list) != n {
		tb.Fatalf("%d skills, want %d", len(list), n)
	}
	return list
}

func digestOf(docs []Document) string {
	h := sha256.New()
	for _, d := range docs {
		fmt.Fprintf(h, "%q %q %q %q %q %q\n", d.ID, d.Skill.Name, d.Skill.Description, d.Skill.Body, d.Skill.Tags, d.Skill.Digest)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func TestGenerateDeterministic(t *testing.T) {
	first := digestOf(collect(t, 1, ownSkills(t), 200))
	if again := digestOf(collect(t, 1, ownSkills(t), 200)); again != first {
		t.Error("the same seed gives other skills")
	}
	if longer := digestOf(collect(t, 1, ownSkills(t), 300)[:200]); longer != first {
		t.Error("a larger catalog does not begin with the smaller one")
	}
	if other := digestOf(collect(t, 2, ownSkills(t), 200)); other == first {
		t.Error("another seed gives the same skills")
	}
}

// TestGenerateValid: the strict check accepts every skill, and names are unique even if
// there are few words for names.
func TestGenerateValid(t *testing.T) {
	testsize.Long(t)
	one := func(yield func(Document, error) bool) {
		yield(Document{ID: "a", Skill: &skill.Skill{Meta: skill.Meta{Name: "a-b", Description: "Does it."}, Body: "Do it.\n\nDone."}}, nil)
	}
	for name, corpus := range map[string]iter.Seq2[Document, error]{"own": ownSkills(t), "one skill": one} {
		names := make(map[string]bool)
		for _, d := range collect(t, 3, corpus, 3000) {
			key := words.NameKey(d.Skill.Name)
			if names[key] {
				t.Fatalf("%s: a second %q", name, key)
			}
			names[key] = true
			untagged := *d.Skill
			untagged.Tags = nil // the specification knows none
			text, err := skillText(d.Skill.Name, &untagged)
			must.Do(t, err)
			parsed, err := skill.ParseBytes(text, d.Skill.Path, d.Skill.Name)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, d.Skill.Name, err)
			}
			for _, p := range skill.Check(parsed) {
				if p.Severity == skill.Error {
					t.Errorf("%s: %q: %v", name, d.Skill.Name, p)
				}
			}
		}
	}
}

func TestGenerateErrors(t *testing.T) {
	broken := func(yield func(Document, error) bool) { yield(Document{}, os.ErrInvalid) }
	empty := func(func(Document, error) bool) {}
	for name, corpus := range map[string]iter.Seq2[Document, error]{"broken": broken, "empty": empty} {
		for d, err := range generate(1, corpus, 3) {
			if err == nil {
				t.Errorf("%s: %q", name, d.ID)
			}
		}
	}
}

// shape is what speed depends on.
type shape struct {
	bodies, descriptions []float64      // lengths, sorted
	unique               float64        // different terms of a body, mean
	frequencies          map[string]int // skills that have a term
	occurrences          map[string]int
	terms                int
}

func shapeOf(docs []Document) shape {
	s := shape{frequencies: make(map[string]int), occurrences: make(map[string]int)}
	for _, d := range docs {
		s.bodies = append(s.bodies, float64(len(d.Skill.Body)))
		s.descriptions = append(s.descriptions, float64(len(d.Skill.Description)))
		seen := make(map[string]bool)
		for _, term := range words.Terms(d.Skill.Body) {
			s.terms++
			s.occurrences[term]++
			if !seen[term] {
				seen[term] = true
				s.frequencies[term]++
			}
		}
		s.unique += float64(len(seen)) / float64(len(docs))
	}
	slices.Sort(s.bodies)
	slices.Sort(s.descriptions)
	return s
}

// head returns the first n skills of a corpus.
func head(corpus iter.Seq2[Document, error], n int) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		left := n
		for d, err := range corpus {
			if left--; left < 0 || !yield(d, err) {
				return
			}
		}
	}
}

// TestGenerateShape: lengths and frequencies of terms are near those of the corpus, for
// our own skills and for real ones.
func TestGenerateShape(t *testing.T) {
	testsize.Long(t)
	corpora := map[string]iter.Seq2[Document, error]{"own": ownSkills(t)}
	if file := filepath.FromSlash("../../shared/corpus/skills.jsonl.gz"); isFile(file) {
		corpora["shared"] = head(ReadCorpus(file), 600)
	} else {
		t.Logf("%s is not there; only our own skills are looked at", file)
	}
	for name, corpus := range corpora {
		var real []Document
		for d, err := range corpus {
			must.Do(t, err)
			real = append(real, d)
		}
		want, got := shapeOf(real), shapeOf(collect(t, 4, corpus, len(real)))
		near := func(what string, got, want, tolerance float64) {
			t.Helper()
			t.Logf("%s: %s %.4g, real %.4g", name, what, got, want)
			if math.Abs(got-want) > tolerance*want {
				t.Errorf("%s: %s %.4g, want %.4g ± %.0f %%", name, what, got, want, 100*tolerance)
			}
		}
		for _, q := range []float64{.25, .5, .75, .9} {
			near(fmt.Sprintf("body length at %.2f", q), quantile(got.bodies, q), quantile(want.bodies, q), .25)
			near(fmt.Sprintf("description length at %.2f", q), quantile(got.descriptions, q), quantile(want.descriptions, q), .25)
		}
		near("different terms of a body", got.unique, want.unique, .35)
		near("share of the 100 commonest terms", headShare(got), headShare(want), .1)
		if r := correlation(got, want); r < .85 {
			t.Errorf("%s: document frequencies correlate by %.3f only", name, r)
		} else {
			t.Logf("%s: document frequencies correlate by %.3f", name, r)
		}
	}
}

// headShare is the share of the 100 commonest terms among all occurrences.
func headShare(s shape) float64 {
	var counts []int
	for _, n := range s.occurrences {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	sum := 0
	for _, n := range counts[max(0, len(counts)-100):] {
		sum += n
	}
	return float64(sum) / float64(s.terms)
}

// correlation returns the correlation of the logarithms of document frequencies, over
// the terms that at least 5 real skills have.
func correlation(got, want shape) float64 {
	var x, y []float64
	for term, n := range want.frequencies {
		if n >= 5 {
			x, y = append(x, math.Log(float64(n))), append(y, math.Log(float64(got.frequencies[term]+1)))
		}
	}
	mx, my := mean(x), mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

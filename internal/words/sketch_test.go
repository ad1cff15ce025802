package words

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLikeness compares Likeness with the result of counting runs.
func TestLikeness(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{30, 200, 1000, 5000} {
		text := make([]string, n)
		for i := range text {
			text[i] = fmt.Sprint("w", rng.IntN(3000))
		}
		for _, edits := range []int{0, 1, n / 200, n / 60, n / 20} {
			other := append([]string(nil), text...)
			for range edits {
				other[rng.IntN(n)] = "edited"
			}
			a, b := strings.Join(text, " "), strings.Join(other, "  ")
			want, got := jaccard(text, other), NewSketch(a).Likeness(NewSketch(strings.ToUpper(b)))
			if math.Abs(got-want) > .08 || (want == 1) != (got == 1) {
				t.Errorf("%d words, %d edits: likeness %.3f, want %.3f", n, edits, got, want)
			}
		}
	}
}

func jaccard(a, b []string) float64 {
	runs := func(words []string) map[string]bool {
		m := make(map[string]bool)
		for i := 0; i+shingle <= len(words); i++ {
			m[strings.Join(words[i:i+shingle], " ")] = true
		}
		return m
	}
	x, y := runs(a), runs(b)
	both := 0
	for r := range x {
		if y[r] {
			both++
		}
	}
	return float64(both) / float64(len(x)+len(y)-both)
}

// TestSketchOfLittle: short, empty and broken sketches are similar to nothing but
// themselves.
func TestSketchOfLittle(t *testing.T) {
	empty, short := NewSketch(""), NewSketch("one two")
	if !empty.TooFew() || !short.TooFew() || !Sketch(nil).TooFew() || NewSketch(strings.Repeat("a b c d ", 9)+strings.Join(strings.Split("efghijklmnopqrstuvwxyz", ""), " ")).TooFew() {
		t.Error("few is wrong")
	}
	if !empty.Same(NewSketch(" \n")) || empty.Same(short) || Sketch(nil).Same(nil) {
		t.Error("same is wrong")
	}
	if got := Sketch("x").Likeness(short); got != 0 {
		t.Errorf("a broken sketch: %v", got)
	}
}

// TestBands: texts that are much alike have a band in common, others have not.
func TestBands(t *testing.T) {
	text := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "word%d ", i)
		}
		return b.String()
	}
	shared := func(a, b string) bool {
		one, other := NewSketch(a), NewSketch(b)
		for n := range SketchBands {
			x, used := one.Band(n)
			if y, _ := other.Band(n); used && x == y {
				return true
			}
		}
		return false
	}
	if !shared(text(0, 600), text(60, 600)) || shared(text(0, 600), text(600, 1200)) {
		t.Error("bands do not tell texts that are alike from others")
	}
}

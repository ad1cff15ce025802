package intent_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/intent"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestRequestWords: every line of the list can be found and read, or a word would silently
// weigh nothing.
func TestRequestWords(t *testing.T) {
	data := must.Read(t, "request.txt")
	last := ""
	for line := range strings.Lines(data) {
		word, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		want, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || word <= last {
			t.Errorf("line %q after %q: %v", line, last, err)
		}
		if got := intent.RequestWeight(word); got != want {
			t.Errorf("the weight of %q is %v, want %v", word, got, want)
		}
		last = word
	}
	for _, word := range []string{"", "\x00", "~", "no such word"} {
		if got := intent.RequestWeight(word); got != 0 {
			t.Errorf("the weight of %q is %v", word, got)
		}
	}
}

// TestRequest: what the sums are made of, and on which side everyday prompts are.
func TestRequest(t *testing.T) {
	for task, calm := range map[string]string{
		"set up alerts for the checkout of our shop":                           "what is an alert?",
		"turn these interview notes into a one-page summary for the board":     "why does the loop on line 12 miss the last element",
		"Write a press release about our new store and a schedule for the day": "now do the same in the other file",
		"我想给我的网店做一套促销邮件":                                                       "这个函数是什么意思？",
	} {
		if a, b := intent.Request(task), intent.Request(calm); a <= b {
			t.Errorf("%q has the odds %.2f, %q %.2f", task, a, calm, b)
		}
	}
	for _, text := range []string{"", strings.Repeat("what why how ", 10_000), "\xff\xfe"} {
		if got := intent.Request(text); math.IsNaN(got) || math.Abs(got) > intent.MostRequest {
			t.Errorf("%.20q has the odds %v", text, got)
		}
	}
}

// TestRequestFigures: each word counts once, and a long text by its start and end.
func TestRequestFigures(t *testing.T) {
	got := make(map[string]float64)
	intent.RequestFigures("  Fix it, fix the myParser? "+strings.Repeat("padding ", 1000)+"\nAnd the end?\n", func(name string, value float64) { got[name] += value })
	for name, want := range map[string]float64{"^fix": 1, "fix": 1, "my": 1, "parser": 1, "myparser": 0, "end": 1, "(question)": 1, "(other script)": 0} {
		if got[name] != want {
			t.Errorf("%q has %v, want %v", name, got[name], want)
		}
	}
	if n := got["(length)"]; n < math.Log(5) || n > math.Log(15) {
		t.Errorf("length %v", n)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("what is this?")
	f.Add("建立 a skill\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := intent.Request(text); math.IsNaN(got) || math.Abs(got) > intent.MostRequest {
			t.Errorf("the odds are %v", got)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	for b.Loop() {
		intent.Request("turn these interview notes into a one-page summary for the board, please")
	}
}

package skill

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want, kinds string }{
		{"plain", "a\tb\nc ~", "a\tb\nc ~", ""},
		{"line ends", "a\r\nb\rc\r\r\nd", "a\nb\nc\n\nd", ""},
		{"controls", "a\x00b\x1bc\x7fd\u0085e\u009f", "abcde", "control"},
		{"tags", "hi\U000E0068\U000E0069\U000E007F", "hi", "tag"},
		{"bidi", "a\u202eb\u2066c\u200ed\u061ce", "abcde", "bidi"},
		{"zero width", "pass\u200bword\u2060s\ufeff", "passwords", "zero-width"},
		{"joiner in Latin", "pass\u200cword \u200d", "password ", "zero-width"},
		{"ignorable", "soft\u00adhyphen\u034f\u2063\u3164\ufff9\ufffe", "softhyphen", "invisible"},
		{"variation selectors as data", "a\ufe01\ufe02\U000E0101b", "ab", "invisible"},
		{"invalid", "caf\xe9 \xf0\x9f", "caf\ufffd \ufffd\ufffd", "invalid-utf8"},
		{"replacement character itself", "\ufffd", "\ufffd", ""},
		{"visible", "naïve 技能 한국어 ไทย \u00a0 \u2028 €", "naïve 技能 한국어 ไทย \u00a0 \u2028 €", ""},
		{"Persian", "می\u200cخواهم jupyter\u200cها", "می\u200cخواهم jupyter\u200cها", ""},
		{"Hindi and Sinhala", "क्\u200dष ශ්\u200dරී", "क्\u200dष ශ්\u200dරී", ""},
		{"joiners in a row", "می\u200c\u200d\u200cخ", "می\u200cخ", "zero-width"},
		{"emoji family", "👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3", "👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3", ""},
		{"emoji skin", "👩🏽\u200d💻", "👩🏽\u200d💻", ""},
		{"selector twice", "❤\ufe0f\ufe0f", "❤\ufe0f", "invisible"},
		{"flag of Wales", "🏴\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F", "🏴\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F", ""},
		{"flag of nowhere", "🏴\U000E0068\U000E0069\U000E007F", "🏴", "tag"},
		{"Mongolian", "ᠠ\u180bᠡ", "ᠠ\u180bᠡ", ""},
		{"noncharacter", "a\U0010FFFFb\ufdd0c", "abc", "invisible"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Clean(c.in)
			if got != c.want {
				t.Errorf("Clean(%+q) = %+q, want %+q", c.in, got, c.want)
			}
			if again := Clean(got); again != got {
				t.Errorf("Clean is not idempotent: %+q, then %+q", got, again)
			}
			var kinds []string
			for _, h := range Hidden(c.in) {
				kinds = append(kinds, h.Kind)
			}
			if strings.Join(kinds, " ") != c.kinds {
				t.Errorf("Hidden(%+q) = %v, want %s", c.in, kinds, c.kinds)
			}
		})
	}
}

func TestHidden(t *testing.T) {
	got := Hidden("one\r\ntwo\u200b\rthree\u202e\u200b\n\nfive\x00\xff")
	want := []HiddenCount{
		{Kind: "bidi", Count: 1, Line: 3},
		{Kind: "zero-width", Count: 2, Line: 2},
		{Kind: "control", Count: 1, Line: 5},
		{Kind: "invalid-utf8", Count: 1, Line: 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := Hidden("nothing\r\nhere: 技能"); got != nil {
		t.Errorf("%v, want nil", got)
	}
}

// TestCleanAllocates nothing for text that needs no change.
func TestCleanAllocates(t *testing.T) {
	text := strings.Repeat("plain text, 技能, naïve\n", 100)
	if n := testing.AllocsPerRun(10, func() { Clean(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"a", 1},
		{strings.Repeat("x", 456), 100},
		{"技能检索", 4},
		{"한국어", 3},
		{"技能 abcdefgh", 2 + 2},
		{strings.Repeat("é", 228), 100},
	} {
		if got := Tokens(c.text); got != c.want {
			t.Errorf("Tokens(%.20q) = %d, want %d", c.text, got, c.want)
		}
	}
}

// TestTokenCount: the parts of a text count as the whole does.
func TestTokenCount(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	alphabet := []rune("abc \n,é٣技한ｱ😀")
	for range 300 {
		var whole strings.Builder
		var c TokenCount
		for range random.IntN(6) {
			part := make([]rune, random.IntN(40))
			for i := range part {
				part[i] = alphabet[min(random.IntN(2*len(alphabet)), len(alphabet)-1)*random.IntN(2)]
			}
			whole.WriteString(string(part))
			c.Add(string(part))
		}
		if got, want := c.Tokens(), Tokens(whole.String()); got != want || got != slowTokens(whole.String()) {
			t.Fatalf("%q: %d in parts, %d as a whole, %d rune by rune", whole.String(), got, want, slowTokens(whole.String()))
		}
	}
}

// slowTokens is Tokens without its shortcuts.
func slowTokens(s string) int {
	wide, narrow := 0, 0
	for _, r := range s {
		if isCJK(r) {
			wide++
		} else {
			narrow += utf8.RuneLen(r)
		}
	}
	return wide + (narrow*100+455)/456
}

package words

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

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

// TestTokenCount: counting a text in parts gives the same result as counting the whole.
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

func FuzzTokens(f *testing.F) {
	f.Add("Fill in \xff 表 forms\u200b")
	f.Fuzz(func(t *testing.T, s string) {
		if n := Tokens(s); n < 0 || n > len(s) {
			t.Errorf("%d tokens in %d bytes", n, len(s))
		}
	})
}

package tidy

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text              string
		n                 int
		cut, start, first string
	}{
		{"", 0, "", "", ""},
		{"abc", 0, "", "", ""},
		{"abc", 2, "ab", "bc", "ab"},
		{"abc", 9, "abc", "abc", "abc"},
		{"éé", 1, "", "", "é"},
		{"éé", 2, "é", "é", "éé"},
		{"éé", 3, "é", "é", "éé"},
		{"数据库", 4, "数", "库", "数据库"},
		{"🚀🚀", 7, "🚀", "🚀", "🚀🚀"},
		{"x🚀", 4, "x", "🚀", "x🚀"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80"},
	} {
		if got := Cut(tt.text, tt.n); got != tt.cut {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.cut)
		}
		if got := cutStart(tt.text, tt.n); got != tt.start {
			t.Errorf("cutStart(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.start)
		}
		if got := First(tt.text, tt.n); got != tt.first {
			t.Errorf("First(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.first)
		}
		want := tt.first
		if want != tt.text {
			want += "…"
		}
		if got := Shorten(tt.text, tt.n); got != want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", tt.text, tt.n, got, want)
		}
	}
}

func TestCutMiddle(t *testing.T) {
	const n = 64 << 10
	for _, filler := range []string{"x", "é", "数", "🚀", "\xff", "x数"} {
		for _, shift := range []string{"", "a", "ab", "abc"} {
			long := "head " + shift + strings.Repeat(filler, n) + " tail"
			got := CutMiddle(long, n)
			if len(got) > n || !strings.HasPrefix(got, "head ") || !strings.HasSuffix(got, " tail") {
				t.Errorf("%q: %d bytes, %.10q … %q", filler, len(got), got, got[max(0, len(got)-10):])
			}
			if utf8.ValidString(long) && !utf8.ValidString(got) {
				t.Errorf("%q shifted by %q: cut within a character", filler, shift)
			}
		}
	}
	short := strings.Repeat("\xff", n)
	if CutMiddle(short, n) != short {
		t.Error("a text within the limit was changed")
	}
}

func FuzzCut(f *testing.F) {
	for i, text := range wordstest.NastyTexts() {
		f.Add(text, i)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = max(n, -(n+1)) % (len(text) + 3) // not negative
		for name, got := range map[string]string{"Cut": Cut(text, n), "cutStart": cutStart(text, n), "CutMiddle": CutMiddle(text, max(4, n))} {
			if name == "CutMiddle" && len(got) > max(4, n) || name != "CutMiddle" && len(got) > n {
				t.Errorf("%s(%+q, %d) has %d bytes", name, text, n, len(got))
			}
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%s(%+q, %d) = %+q splits a character", name, text, n, got)
			}
		}
		if got := Shorten(text, n); utf8.RuneCountInString(got) > n+1 {
			t.Errorf("Shorten(%+q, %d) = %+q", text, n, got)
		}
	})
}

package tidy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
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
			counted, hidden := CleanAndCount(c.in)
			if counted != got {
				t.Errorf("CleanAndCount(%+q) = %+q, Clean returns %+q", c.in, counted, got)
			}
			var kinds []string
			for _, h := range hidden {
				kinds = append(kinds, h.Kind)
			}
			if strings.Join(kinds, " ") != c.kinds {
				t.Errorf("CleanAndCount(%+q) found %v, want %s", c.in, kinds, c.kinds)
			}
		})
	}
}

func TestCleanAndCount(t *testing.T) {
	_, got := CleanAndCount("one\r\ntwo\u200b\rthree\u202e\u200b\n\nfive\x00\xff")
	want := []Hidden{
		{Kind: "bidi", Count: 1, Line: 3},
		{Kind: "zero-width", Count: 2, Line: 2},
		{Kind: "control", Count: 1, Line: 5},
		{Kind: "invalid-utf8", Count: 1, Line: 5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, got := CleanAndCount("nothing\r\nhere: 技能"); got != nil {
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

func FuzzClean(f *testing.F) {
	f.Add("می\u200cخواهم\r\n\U000E0041\xff👨\u200d👩")
	f.Add("a\u200c\u200dع\u200c\u0915\u094d\u200d\ufe0f\r\u200b\n")
	for _, text := range wordstest.NastyTexts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		cleaned := Clean(s)
		if again := Clean(cleaned); again != cleaned {
			t.Errorf("%+q becomes %+q, then %+q", s, cleaned, again)
		}
		if counted, _ := CleanAndCount(s); counted != cleaned {
			t.Errorf("%+q becomes %+q, counted %+q", s, cleaned, counted)
		}
		if _, hidden := CleanAndCount(cleaned); hidden != nil {
			t.Errorf("%+q still hides %v", cleaned, hidden)
		}
		if lineBreaks(s) != strings.Count(cleaned, "\n") && !strings.Contains(s, "\r") {
			t.Errorf("%+q has %d lines, %+q another number", s, lineBreaks(s), cleaned)
		}
		if got, want := Line(s), strings.Join(strings.Fields(cleaned), " "); got != want {
			t.Errorf("%+q is the line %+q, want %+q", s, got, want)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	for name, text := range map[string]string{
		"ascii":  strings.Repeat("1. Read the form with `tool --read form.pdf`, and look for fields that are not filled yet.\n", 8<<10/90),
		"cjk":    strings.Repeat("技能检索和排序。\n", 8<<10/25),
		"hidden": strings.Repeat("some text with\u200b a hidden character\n", 8<<10/40),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Clean(text)
			}
		})
	}
}

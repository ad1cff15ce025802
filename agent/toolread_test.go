package agent

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/search"
)

func FuzzLines(f *testing.F) {
	f.Add("2-3", "one\ntwo\nthree\nfour")
	f.Add("1-", strings.Repeat("x", maxText)+"\n\n")
	f.Add("7", "ä\r\n")
	f.Add("", strings.Repeat("long line\n", maxText/9))
	f.Fuzz(func(t *testing.T, given, s string) {
		l, err := parseLines(given)
		if err != nil {
			return
		}
		if given != "" && (l.first < 1 || l.last != 0 && l.last < l.first) {
			t.Fatalf("%q is %+v", given, l)
		}
		p := cut(s, l)
		if !strings.Contains(s, p.text) || len(p.text) > maxText || utf8.ValidString(s) && !utf8.ValidString(p.text) {
			t.Fatalf("%q of %.100q is %.100q", given, s, p.text)
		}
		if n := len(slices.Collect(strings.Lines(p.text))); n != p.last-p.first+1 && p.text != "" || p.last > p.of && p.text != "" || p.next != 0 && (p.next <= p.last || p.next > p.of) {
			t.Errorf("%q of %.100q is %d lines, %d to %d of %d, next %d", given, s, n, p.first, p.last, p.of, p.next)
		}
	})
}

// TestFoundOf: what a database says of a skill reaches no model with characters that a reader
// does not see.
func TestFoundOf(t *testing.T) {
	var hit search.Hit
	hit.Description = "Feed \U000e0041the\u202e cat."
	if got := foundOf([]search.Hit{hit})[0].Description; got != "Feed the cat." {
		t.Errorf("%q", got)
	}
}

package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// escaped returns a text as JSON in which every character is an escape.
func escaped(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, unit := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return b.String() + `"`
}

// FuzzCutStrings: each text in JSON is cut as tidy.CutMiddle cuts it, however it is written,
// and JSON stays JSON.
func FuzzCutStrings(f *testing.F) {
	for _, s := range []string{"", "short", "twenty characters it", strings.Repeat(`"\/`, 9), "a\\", strings.Repeat("ä", 30), strings.Repeat("😀€", 9), "\ud7ff\n\t\x00 and more of it", `{"a":["` + strings.Repeat("b", 40) + `\"",1]}`, `"\ud83d\ud83d\ude00\ud83d\ud83d"`, `"\u12`, `"abcdefghijklmnopqrst\`} {
		for _, n := range []byte{0, 1, 4, 12, 60} {
			f.Add(s, n)
		}
	}
	f.Fuzz(func(t *testing.T, s string, more byte) {
		n := 4 + int(more)
		short := cutStrings([]byte(s), n)
		if len(short) > len(s) || json.Valid([]byte(s)) && !json.Valid(short) {
			t.Fatalf("%q is cut to %q", s, short)
		}
		if !utf8.ValidString(s) {
			return
		}
		plain, err := json.Marshal(s)
		must.Do(t, err)
		for _, written := range []string{string(plain), escaped(s)} {
			var got []string
			text := `[` + written + `, ` + written + `]`
			if err := json.Unmarshal(cutStrings([]byte(text), n), &got); err != nil {
				t.Fatalf("%s is cut to something else: %v", text, err)
			}
			if want := tidy.CutMiddle(s, n); len(got) != 2 || got[0] != want || got[1] != want {
				t.Fatalf("%s is cut to %q, want %q", text, got, want)
			}
		}
	})
}

// TestCutStringsKeeps: what is not too long stays as it is, byte for byte.
func TestCutStringsKeeps(t *testing.T) {
	text := []byte(`{"a": "é\u00e9\n", "b" : [1e5, null, "` + strings.Repeat("x", 20) + `"]}`)
	if got := cutStrings(bytes.Clone(text), 20); !bytes.Equal(got, text) {
		t.Errorf("got %s", got)
	}
}

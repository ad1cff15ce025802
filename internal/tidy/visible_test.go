package tidy_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

func TestVisible(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "plain\ttext\n": "plain\ttext\n", "größe 猫 😀": "größe 猫 😀",
		"a\x1b[31mb": `a\x1b[31mb`, "\x00\a\b\v\x7f": `\x00\x07\x08\x0b\u007f`, "one\rtwo\r\n": `one\rtwo\r` + "\n",
		"\u009b31m": `\u009b31m`, "a\u202eb\u2066": `a\u202eb\u2066`, "a\u200bb\ufeff": `a\u200bb\ufeff`, "\U000E0041": `\udb40\udc41`,
		"\xff\xc3(": `\xff\xc3(`, "👩\u200d💻 ❤\ufe0f \U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F": "👩\u200d💻 ❤\ufe0f \U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
		"می\u200cخواهم": "می\u200cخواهم", `\x1b`: `\x1b`,
	} {
		if got := tidy.Visible(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// FuzzVisible: nothing that Clean removes is left, nothing else changes, and JSON means
// the same.
func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a\x1b[31m\r\n", "\u200d\u200d😀\u200d\x1b", "ب\u200d\u202e\u200dب", "\U0001F3F4\U000E0067x", "#\ufe0f\xff", "\u180b", "\u200b\ufe0f\u2060\ufe0f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := tidy.Visible(s)
		if tidy.Visible(got) != got || tidy.Clean(got) != got {
			t.Errorf("%q is %q, which is %q, cleaned %q", s, got, tidy.Visible(got), tidy.Clean(got))
		}
		if tidy.Clean(s) == s && got != s || strings.Count(got, "\n") != strings.Count(s, "\n") {
			t.Errorf("%q is %q", s, got)
		}
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		must.Do(t, enc.Encode([]string{s, "\u202e\u007f\U000E0041"}))
		var before, after []string
		must.Do(t, json.Unmarshal([]byte(b.String()), &before))
		if err := json.Unmarshal([]byte(tidy.Visible(b.String())), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q is %q, %v", before, after, err)
		}
	})
}

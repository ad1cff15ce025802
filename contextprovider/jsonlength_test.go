package contextprovider_test

import (
	"encoding/json"
	"testing"
	"unicode/utf16"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
)

func TestJSONLength(t *testing.T) {
	for _, text := range []string{"", "plain", "a\n\"b\"\\\t\r", "\x00\x1f", "é€🚀", "\u2028\u2029"} {
		data, err := json.Marshal(text)
		must.Do(t, err)
		if got, want := contextprovider.JSONLength(text), len(utf16.Encode([]rune(string(data))))-2; got != want {
			t.Errorf("%q has the length %d, want %d", text, got, want)
		}
	}
}

package sections_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/sections"
)

func file(t testing.TB, path, text string) *sections.File {
	t.Helper()
	f, err := sections.New(t.Context(), path, text)
	must.Do(t, err)
	return f
}

func TestRank(t *testing.T) {
	guide := "# Guide\n\n## Rotating keys\nReplace each credential every ninety days and restart the gateway.\n" +
		strings.Repeat("The gateway reads its file at the start only. ", 10) + "\n\n"
	padding := "## Colours\n" + strings.Repeat("Green and blue are for charts. ", 20) + "\n\n"
	files := []*sections.File{
		file(t, "SKILL.md", padding+guide+padding),
		file(t, "references/copy.md", guide),
		file(t, "empty.md", ""),
	}
	for _, question := range []string{"rotate keys", "how often are credentials replaced?"} {
		hits, err := sections.Rank(t.Context(), question, files, 3)
		must.Do(t, err)
		s := files[hits[0].File].Sections[hits[0].Section]
		if !slices.Contains(s.Trail, "Rotating keys") {
			t.Errorf("%s: %v first", question, s.Trail)
		}
		for _, h := range hits[1:] {
			if again := files[h.File].Sections[h.Section]; slices.Contains(again.Trail, "Rotating keys") {
				t.Errorf("%s: a copy follows at %d", question, h.File)
			}
		}
	}
	if hits, err := sections.Rank(t.Context(), "keys", nil, 3); len(hits) > 0 || err != nil {
		t.Errorf("no files: %v, %v", hits, err)
	}
}

func BenchmarkRank(b *testing.B) {
	text := strings.Repeat("## Keys\nReplace each credential every ninety days.\n\n## Colours\n"+strings.Repeat("Green and blue are for charts. ", 40)+"\n\n", 100)
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			file(b, "SKILL.md", text)
		}
	})
	files := []*sections.File{file(b, "SKILL.md", text)}
	b.Run("ask", func(b *testing.B) {
		for b.Loop() {
			_, err := sections.Rank(b.Context(), "how often are credentials replaced?", files, 3)
			must.Do(b, err)
		}
	})
}

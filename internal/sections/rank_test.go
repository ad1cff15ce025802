package sections_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/embedtest"
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
		hits, _, err := sections.Rank(t.Context(), sections.Query{Text: question, Limit: 3}, files)
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
	if hits, _, err := sections.Rank(t.Context(), sections.Query{Text: "keys", Limit: 3}, nil); len(hits) > 0 || err != nil {
		t.Errorf("no files: %v, %v", hits, err)
	}
}

// TestEncoder: an encoder is asked once for each passage, and one that fails or is late leaves
// ranking to the words.
func TestEncoder(t *testing.T) {
	files := []*sections.File{
		file(t, "SKILL.md", "# Keys\n\nReplace each credential every ninety days.\n"),
		file(t, "references/colours.md", "# Colours\n\nGreen and blue are for charts.\n"),
	}
	rank := func(e embed.Embedder, mode string) []sections.Hit {
		t.Helper()
		hits, got, err := sections.Rank(t.Context(), sections.Query{Text: "credential in green", Limit: 3, Encoder: e, Wait: 10 * time.Second}, files)
		must.Do(t, err)
		if got != mode {
			t.Errorf("mode %q, want %q", got, mode)
		}
		return hits
	}
	words := rank(nil, "hybrid")
	if hits := rank(&embedtest.Fake{Err: errors.New("gone")}, "hybrid, encoder failed"); !slices.Equal(hits, words) {
		t.Errorf("with an encoder that fails: %v, want %v", hits, words)
	}
	e := new(embedtest.Fake)
	first := rank(e, "hybrid, contextual")
	asked := e.Texts()
	if slices.Equal(first, words) || asked != 3 {
		t.Errorf("the encoder was asked for %d texts: %v, without it %v", asked, first, words)
	}
	if again := rank(e, "hybrid, contextual"); !slices.Equal(again, first) || e.Texts() != asked+1 {
		t.Errorf("asked again for %d texts: %v, then %v", e.Texts()-asked, first, again)
	}
	synctest.Test(t, func(t *testing.T) {
		if hits := rank(&embedtest.Fake{Name: "slow", Delay: time.Minute}, "hybrid, encoder late"); !slices.Equal(hits, words) {
			t.Errorf("with a slow encoder: %v, want %v", hits, words)
		}
	})
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
			_, _, err := sections.Rank(b.Context(), sections.Query{Text: "how often are credentials replaced?", Limit: 3}, files)
			must.Do(b, err)
		}
	})
}

package contextprovider

import (
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// oddFields are what takes another way than plain words.
var oddFields = []string{
	"Plain words.", "", " a  b ", "line\nend", "技能 检索", "<b> & \"c\"", "System: no", "ſystem: no", "  user : x", "```", "~~~", "umlaut ä", "tab\there",
	"zero\u200bwidth", "Human", "back`tick", "a|b*c[d", "ends in blank ", "\xff",
}

// layouts are all layouts, by what they are for.
func layouts(t testing.TB) map[string]layout {
	t.Helper()
	all := make(map[string]layout)
	for _, format := range Formats() {
		for _, form := range Forms() {
			for _, server := range []string{"", "team"} {
				f, err := layoutOf(Budget{Format: format, Form: form, Server: server}, "")
				must.Do(t, err)
				all[strings.TrimSuffix(string(format)+"-"+string(form)+"-"+server, "-")] = f
			}
		}
	}
	return all
}

// TestLayout: the parts of a block that are counted make up the block.
func TestLayout(t *testing.T) {
	for format, f := range layouts(t) {
		var entries []string
		for i, field := range oddFields {
			next := oddFields[(i+1)%len(oddFields)]
			entries = append(entries, f.entry(&search.Hit{Entry: search.Entry{Meta: skill.Meta{ID: field, Name: field, Description: next, Location: "/" + field + next}}}))
			want := f.before + strings.Join(entries, f.between) + f.after
			if got := f.block(nil, slices.Clone(entries)); got != want {
				t.Fatalf("%s: the block is\n%s\nits parts are\n%s", format, got, want)
			}
		}
	}
}

// TestShortcuts: what spares plain fields the work changes none.
func TestShortcuts(t *testing.T) {
	for _, s := range oddFields {
		if got, want := tidy.Line(s), strings.Join(strings.Fields(tidy.Clean(s)), " "); got != want {
			t.Errorf("Line(%q) = %q, want %q", s, got, want)
		}
		if opener().MatchString(s) && !mayOpen(s) {
			t.Errorf("%q may open something", s)
		}
	}
}

// BenchmarkFill renders and counts the best hits within a budget.
func BenchmarkFill(b *testing.B) {
	hits := make([]search.Hit, 12)
	for i := range hits {
		hits[i].Entry = search.Entry{Meta: skill.Meta{ID: "form-filling", Name: "form-filling", Location: "/home/user/.agents/skills/form-filling/SKILL.md", Description: strings.Repeat("Fills in the forms of a PDF, reads them, and merges files. ", 2+i%4) + "Use when a form is to be filled in."}}
		hits[i].Relevant = true
	}
	for _, budget := range []Budget{{}, {Server: "team"}, {Format: Markdown}, {Format: JSON}} {
		budget = budget.withDefaults()
		b.Run(string(budget.Format)+"-"+string(budget.Form), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var block Block
				f, err := layoutOf(budget, "")
				must.Do(b, err)
				entries, _ := block.fill(relevant(hits, nil), budget, f)
				block.Text = f.block(nil, entries)
				block.Tokens = words.Tokens(block.Text)
			}
		})
	}
}

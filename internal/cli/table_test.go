package cli

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
)

func TestCut(t *testing.T) {
	family := "\U0001F468\u200D\U0001F469\u200D\U0001F467" // one character on screen, five in memory
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"plain", 5, "plain"},
		{"plain", 4, "pla…"},
		{"plain", 1, "…"},
		{"plain", 0, "…"},
		{"", 0, ""},
		{"漢字かな", 8, "漢字かな"},
		{"漢字かな", 7, "漢字か…"},
		{"漢字かな", 6, "漢字…"}, // half a character is none
		{"e\u0301te\u0301", 2, "e\u0301…"},
		{family + family, 3, family + "…"},
	} {
		if got := cut(c.text, c.width); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestShrink(t *testing.T) {
	for _, c := range []struct {
		name   string
		widths []int
		room   int
		want   []int
	}{
		{"all fits", []int{10, 5, 20}, 40, []int{10, 5, 20}},
		{"the description gives way first", []int{10, 5, 200}, 60, []int{10, 5, 45}},
		{"then what is in the middle", []int{20, 40, 200}, 60, []int{20, 20, 20}},
		{"then the name", []int{50, 40, 200}, 60, []int{28, 12, 20}},
		{"then everything", []int{50, 40, 200}, 30, []int{24, 5, 1}},
		{"too narrow for anything", []int{50, 40, 200}, 2, []int{1, 1, 1}},
	} {
		shrink(c.widths, c.room)
		if diff := cmp.Diff(c.want, c.widths); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestStyled(t *testing.T) {
	long := strings.Repeat("lorem ipsum ", 30)
	rows := func() [][]string {
		return [][]string{
			{"pdf", "user:.claude", "", long},
			{"a-name-that-is-as-long-as-names-may-be-and-then-it-is-longer-still", "root:lib", "one,two,three,four,five", "short"},
			{"日本語の名前", "root:lib", "タグ", strings.Repeat("説明", 60)},
		}
	}
	header := []string{"NAME", "SOURCE", "TAGS", "DESCRIPTION"}
	for _, width := range []int{200, 120, 80, 60, 40, 20, 10} {
		lines := strings.Split(styled(append([]string{}, header...), rows(), width), "\n")
		if len(lines) != 4 {
			t.Errorf("width %d: %d lines, want a header and 3 rows", width, len(lines))
		}
		for _, line := range lines {
			if n := lipgloss.Width(line); n > width {
				t.Errorf("width %d: a line is %d wide: %q", width, n, line)
			}
		}
	}
	wide := styled(append([]string{}, header...), rows(), 500)
	if !strings.Contains(wide, strings.TrimSpace(long)) {
		t.Error("the description is cut although there is room")
	}
}

package skill

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestResolvePlain(t *testing.T) {
	for in, want := range map[string]any{
		"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil, "nULL": "nULL",
		"true": true, "True": true, "FALSE": false, "yes": "yes", "on": "on", "y": "y",
		"0": int64(0), "-7": int64(-7), "+7": int64(7), "014": int64(14), "0o14": int64(12), "0x1f": int64(31),
		"1_000": "1_000", "0b101": "0b101", "0x": "0x", "0o8": "0o8", "-0x1": "-0x1", "1:30": "1:30",
		"1e3": 1000.0, "1.": 1.0, ".5": 0.5, "-1.5E-2": -0.015, "+.5": 0.5, "1e": "1e", "e3": "e3", ".": ".", "-": "-", "+": "+",
		".inf": math.Inf(1), "+.Inf": math.Inf(1), "-.INF": math.Inf(-1), ".nan": math.NaN(), "inf": "inf", "nan": "nan",
		"1e999": math.Inf(1), "9223372036854775807": int64(math.MaxInt64), "9223372036854775808": 9223372036854775808.0,
		"2026-01-01": "2026-01-01", "1.2.3": "1.2.3", "<<": "<<", "0x1p4": "0x1p4", "1f": "1f", "--1": "--1",
	} {
		if got := resolvePlain(in); !cmp.Equal(want, got, cmpopts.EquateNaNs()) {
			t.Errorf("%q is %T %v, want %T %v", in, got, got, want, want)
		}
	}
}

// TestCheckWithoutFile: Check judges a skill that was not read from a file by its fields.
func TestCheckWithoutFile(t *testing.T) {
	s := &Skill{Meta: Meta{Path: "my-skill/SKILL.md", Name: "my-skill", Description: "Use when it helps."}}
	if got := Check(s); len(got) != 0 {
		t.Errorf("%v, want nothing", got)
	}
	s.Name = "Other"
	s.Frontmatter = map[string]any{"version": 1.0, "compatibility": []any{"git"}}
	s.Body = strings.Repeat("word ", 8_000)
	var rules []string
	for _, p := range Check(s) {
		rules = append(rules, p.Rule)
	}
	want := []string{"unexpected-field", "name-case", "name-folder", "field-type", "body-too-long"}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

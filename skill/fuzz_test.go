package skill

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	must.Do(f, err)
	for _, file := range files {
		_, _, input := readGolden(f, file)
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(bytes.NewReader(data), "my-skill/SKILL.md")
		if err != nil {
			var refused *ParseError
			if !errors.As(err, &refused) || refused.Problem.Rule == "" || refused.Problem.Message == "" {
				t.Errorf("error %v is no clear refusal", err)
			}
			return
		}
		if s.Name == "" || s.Description == "" {
			t.Errorf("name %q, description %q", s.Name, s.Description)
		}
		if n := utf8.RuneCountInString(s.Description); n > MaxDescription {
			t.Errorf("description of %d characters", n)
		}
		if n := utf8.RuneCountInString(s.Name); n > maxNameKept {
			t.Errorf("name of %d characters", n)
		}
		texts := []string{s.Name, s.Description, s.WhenToUse, s.License, s.Compatibility, s.Author, s.Version, s.Body}
		texts = slices.Concat(texts, s.Tags, s.Needs.Skills, s.Needs.Either, s.Needs.Optional, s.Needs.Commands, s.Needs.AnyOf, s.Needs.Env, s.AllowedTools)
		for _, text := range allStrings(s.Frontmatter, texts) {
			if !utf8.ValidString(text) || tidy.Clean(text) != text {
				t.Errorf("unclean text %+q", text)
			}
		}
		lines := 1 + strings.Count(tidy.Clean(string(data)), "\n")
		for _, p := range append(Check(s), s.Problems...) {
			if p.Rule == "" || p.Message == "" || p.Path != "my-skill/SKILL.md" || p.Line < 0 || p.Line > lines+1 {
				t.Errorf("problem %+v of a file of %d lines", p, lines)
			}
		}
	})
}

// allStrings appends every string in v, including keys, to list.
func allStrings(v any, list []string) []string {
	switch v := v.(type) {
	case string:
		return append(list, v)
	case []any:
		for _, e := range v {
			list = allStrings(e, list)
		}
	case map[string]any:
		for k, e := range v {
			list = allStrings(e, append(list, k))
		}
	}
	return list
}

// FuzzResolve checks that every scalar resolves to a value that JSON can express, and that
// quoted text resolves to itself.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"014", "1_000", "0x1f", "1e3", "-.inf", "2026-01-01", "~", "", "+", "0o", "1.e+"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		switch v := resolveScalar(&yaml.Node{Kind: yaml.ScalarNode, Value: s}).(type) {
		case nil, bool, int64, float64:
		case string:
			if v != s {
				t.Errorf("%q became %q", s, v)
			}
		default:
			t.Errorf("%q became a %T", s, v)
		}
		if v := resolveScalar(&yaml.Node{Kind: yaml.ScalarNode, Style: yaml.SingleQuotedStyle, Value: s}); v != s {
			t.Errorf("quoted %q became %v", s, v)
		}
	})
}

package skill

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// typical is a skill of 8 KB, most of it instructions.
func typical() string {
	const head = "---\nname: my-skill\ndescription: Fills in the forms of a PDF file. Use when forms are to be filled.\n" +
		"license: MIT\nallowed-tools: Bash(git:*) Read\nmetadata:\n  author: somebody\n  version: \"1.0\"\n  tags: pdf, forms\n---\n"
	const line = "1. Read the form with `tool --read form.pdf`, and look for fields that are not filled yet.\n"
	return head + strings.Repeat(line, (8<<10-len(head))/len(line))
}

func BenchmarkParse(b *testing.B) {
	text := typical()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(strings.NewReader(text), "my-skill/SKILL.md"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseRepaired(b *testing.B) {
	text := strings.Replace(typical(), "Use when forms", "Use when: forms", 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(strings.NewReader(text), "my-skill/SKILL.md"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s, err := Parse(strings.NewReader(typical()), "my-skill/SKILL.md")
	must.Do(b, err)
	for b.Loop() {
		Check(s)
	}
}

package sections_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/sections"
)

// outline writes sections as "first-last trail (also)".
func outline(list []sections.Section) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%d-%d %s", s.First, s.Last, strings.Join(s.Trail, " > "))
		if len(s.Also) > 0 {
			fmt.Fprintf(&b, " (%s)", strings.Join(s.Also, ", "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// paragraph is some 90 tokens on one line.
var paragraph = strings.Repeat("This says what there is to know of it. ", 10)

func TestSplit(t *testing.T) {
	long := paragraph + "\n"
	for _, c := range []struct{ name, path, text, want string }{
		{"nothing", "a.md", "", ""},
		{"headings", "a.md", "# A\n" + long + "## B\n" + long + "# C\n" + long, "1-2 A\n3-4 A > B\n5-6 C\n"},
		{"a heading alone joins what is below it", "a.md", "# A\n\n## B\n" + long, "1-4 A > B\n"},
		{"short parts are merged", "a.md", "# A\n" + long + "## B\nx\n## C\ny\n# D\n" + long, "1-2 A\n3-6 A > B (C)\n7-8 D\n"},
		{"code has no headings", "a.md", "# A\n" + long + "````sh\n# no\n```\n# no\n````\n" + long, "1-8 A\n"},
		{"frontmatter has no headings", "a.md", "---\n# no\nname: a\n---\n" + long + "# A\n" + long, "1-5 \n6-7 A\n"},
		{"underlined headings", "a.md", "A\n===\n" + long + "\nB\n---\n" + long, "1-4 A\n5-7 A > B\n"},
		{"rules are no headings", "a.md", "# A\n" + long + "- b\n---\n|c|\n---\n\n---\n", "1-8 A\n"},
		{"long sections are cut between paragraphs", "a.md", "# A\n" + strings.Repeat(long+"\n", 9), "1-11 A\n12-19 A\n"},
		{"python", "a.py", "import x\n" + long + "\n# about f\n@y\ndef f(a):\n" + long + "\nclass C:\n    def m(self):\n" + long, "1-3 \n4-8 f\n9-11 C > m\n"},
		{"shell", "a.sh", "#!/bin/sh\n" + long + "fill() {\n" + long + "}\n", "1-2 \n3-5 fill\n"},
		{"go", "a.go", "package a\n" + long + "func (t *T) Do(x int) {\n" + long + "}\n", "1-2 \n3-5 Do\n"},
		{"javascript", "a.js", "const go = async (x) => {\n" + long + "}\nexport default class A {\n" + long + "}\n", "1-3 go\n4-6 A\n"},
		{"json", "a.json", "{\n  \"a\": {\"x}\": 1,\n    \"y\": \"" + paragraph + "\"},\n  \"b\": [\n\"" + paragraph + "\"]\n}\n", "1-3 a\n4-6 b\n"},
		{"yaml", "a.yml", "a:\n  - " + long + "# c\nb:\n  " + long, "1-3 a\n4-5 b\n"},
		{"toml", "a.toml", "[a]\nx = \"" + paragraph + "\"\n[b]\ny = \"" + paragraph + "\"\n", "1-2 a\n3-4 b\n"},
		{"text", "a.txt", strings.Repeat(long+"\n", 9), "1-10 \n11-18 \n"},
	} {
		if got := outline(sections.Split(c.path, c.text)); got != c.want {
			t.Errorf("%s:\n%swant:\n%s", c.name, got, c.want)
		}
	}
}

func TestHeads(t *testing.T) {
	var got []string
	for _, h := range sections.Heads("a.md", "# A\nx\n## B\ny\n### C\n## D\n# E\n") {
		got = append(got, fmt.Sprint(strings.Join(h.Trail, ">"), h.First, h.Last))
	}
	if want := []string{"A1 6", "A>B3 5", "A>B>C5 5", "A>D6 6", "E7 7"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzSplit: the sections cover each line once, in order, and only a line that is too long
// itself makes a section that is too long.
func FuzzSplit(f *testing.F) {
	f.Add("a.md", "---\nx\n---\n# A\n```\n# b\n")
	f.Add("a.py", "\tdef f():\n\nclass (\n")
	f.Add("a.json", "{\"a\"\n:\"\\")
	f.Add("a.toml", "[\n[]\n]")
	f.Add("a", strings.Repeat("word\n", 900)+strings.Repeat("x", 9000))
	f.Fuzz(func(t *testing.T, path, text string) {
		for _, p := range []string{path, "a.md", "a.py", "a.json", "a.yml", "a.toml"} {
			all, next := "", 1
			for _, s := range sections.Split(p, text) {
				if s.First != next || s.Last < s.First {
					t.Fatalf("%s: lines %d-%d after %d", p, s.First, s.Last, next-1)
				}
				if s.Tokens > 600 && s.Last > s.First {
					t.Fatalf("%s: %d tokens in lines %d-%d", p, s.Tokens, s.First, s.Last)
				}
				all, next = all+s.Text, s.Last+1
			}
			if all != text {
				t.Fatalf("%s: the sections are not the text", p)
			}
			sections.Heads(p, text)
		}
	})
}

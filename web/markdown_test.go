package web

import (
	"fmt"
	"strings"
	"testing"
)

// TestBlocks: a text is divided where its lines change their kind.
func TestBlocks(t *testing.T) {
	text := "---\nname: a\n# no heading\n---\n# One\nwords\n\n- list\n## Two\n### Three\n```sh\n# no heading\n``\n~~~\n```\n    # indented\n#hashtag\n~~~~\n~~~\n~~~~~ \nend\n####### seven\n---\nend"
	var got []string
	for _, b := range blocksOf(text, 2) {
		line, _, _ := strings.Cut(b.Text, "\n")
		got = append(got, fmt.Sprintf("%s %d %s", b.Kind, b.Level, line))
	}
	want := "frontmatter 0 ---|heading 3 # One|prose 0 words|heading 4 ## Two|heading 5 ### Three|code 0 ```sh|prose 0     # indented|code 0 ~~~~|prose 0 end"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
}

// TestManyBlocks: a text of many headings makes no page that is much larger.
func TestManyBlocks(t *testing.T) {
	text := strings.Repeat("#\n", maxShown/2)
	list := blocksOf(text, 2)
	if n := len(list); n != maxBlocks+1 || len(list[n-1].Text) != len(text)-2*maxBlocks {
		t.Errorf("%d blocks", n)
	}
}

// FuzzBlocks: nothing of a text is lost, and no two lines change places.
func FuzzBlocks(f *testing.F) {
	for _, seed := range []string{"", "---", "---\na: b\n---\n# x\n```\n~~~\n", "~~~`\n```", "\r\n#\r\n", "   ````x\n````"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b strings.Builder
		for _, block := range blocksOf(text, 2) {
			b.WriteString(block.Text)
			if block.Kind == heading && (block.Level < 3 || block.Level > 6) {
				t.Errorf("level %d", block.Level)
			}
		}
		if b.String() != text {
			t.Errorf("%q became %q", text, b.String())
		}
	})
}

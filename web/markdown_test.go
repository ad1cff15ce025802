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

// TestDocument: what is rendered has nothing but text, its structure and links; what is large is shown as it is.
func TestDocument(t *testing.T) {
	d := documentOf("---\nname: a\n---\n# One\n\n- a *b* `c`\n\n| x | y |\n|---|---|\n| 1 | <i>2</i> |\n\n[here](https://127.0.0.1/a) [there](javascript:alert(1)) [file](b.md) ![p](x.png)\n\n<style>p{}</style>\n", 2, false)
	html := string(d.HTML)
	for _, want := range []string{"<h3>One</h3>", "<em>b</em>", "<code>c</code>", "<td>1</td>", `<a href="https://127.0.0.1/a" rel="nofollow noreferrer">here</a>`, " there ", " file"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in %s", want, html)
		}
	}
	for _, evil := range []string{"javascript", "<i>", "<img", "style", "x.png", "name: a"} {
		if strings.Contains(html, evil) {
			t.Errorf("%q is in %s", evil, html)
		}
	}
	if d.Left != 4 || !d.Both || len(d.Blocks) != 1 || d.Blocks[0].Kind != frontmatter {
		t.Errorf("left %d, both %t, blocks %+v", d.Left, d.Both, d.Blocks)
	}
	for name, text := range map[string]string{"long": strings.Repeat("a b\n", maxRendered/4+1), "wide": strings.Repeat("a|", 60) + "\n" + strings.Repeat("-|", 60) + "\n" + strings.Repeat("a\n", 1100),
		"repeated": "[a]: https://example.com/" + strings.Repeat("x", 1000) + "\n\n" + strings.Repeat("[a] ", 100), "repeated pictures": "[a]: /x '" + strings.Repeat("x", 1000) + "'\n\n" + strings.Repeat("![a] ", 100)} {
		for _, raw := range []bool{false, true} {
			if d := documentOf(text, 2, raw); d.HTML != "" || d.Both || len(d.Blocks) != 1 {
				t.Errorf("%s, raw %t: %+v", name, raw, d)
			}
		}
	}
	if d := documentOf("# One", 2, true); d.HTML != "" || !d.Both || len(d.Blocks) != 1 {
		t.Errorf("as it is: %+v", d)
	}
}

// FuzzDocument: no text becomes a picture, a script or a link of another kind, or stops the page.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{"", "[a](java\tscript:x)", "<script>", "![](x)", "[a]: javascript:x\n[a]", "<a href=x onclick=y>", "[x](http:e)", strings.Repeat("> ", 99), strings.Repeat("*a_", 99)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		html := strings.ToLower(string(documentOf(text, 1, false).HTML))
		for _, evil := range []string{"<script", "<img", "<style", "<iframe", "href=\"javascript", "href=\"http:e", "<h1"} {
			if strings.Contains(html, evil) {
				t.Errorf("%q has %s", html, evil)
			}
		}
	})
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

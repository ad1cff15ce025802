package web

import (
	"strings"
	"testing"
)

// TestDocument: what is rendered has nothing but text, its structure and links; what is large is shown as it is.
func TestDocument(t *testing.T) {
	d := documentOf("---\nname: a\n---\n# One\n\n- a *b* `c`\n\n| x | y |\n|---|---|\n| 1 | <i>2</i> |\n\n[here](https://127.0.0.1/a) [there](javascript:alert(1)) [file](b.md) ![p](x.png)\n\n<style>p{}</style>\n", 2, false)
	html := string(d.HTML)
	for _, want := range []string{"<h3>One</h3>", "<em>b</em>", "<code>c</code>", "<td>1</td>", "&lt;i&gt;2", `<a href="https://127.0.0.1/a" rel="nofollow noopener noreferrer">here</a>`, " there ", " file", "p{}"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in %s", want, html)
		}
	}
	for _, evil := range []string{"javascript", "<i>", "<img", "<style", "x.png", "name: a"} {
		if strings.Contains(html, evil) {
			t.Errorf("%q is in %s", evil, html)
		}
	}
	if d.Left != 1 || !d.Both || d.Why != "" || d.Front != "---\nname: a\n---\n" || d.Plain != "" {
		t.Errorf("%+v", d)
	}
	for name, text := range map[string]string{"long": strings.Repeat("a b\n", maxRendered/4+1), "deep": strings.Repeat("+ ", 8000) + strings.Repeat("\n", 16000), "numbers": strings.Repeat("1. ", 5000)} {
		for _, raw := range []bool{false, true} {
			if d := documentOf(text, 2, raw); d.HTML != "" || d.Both || d.Why == "" || d.Plain != text {
				t.Errorf("%s, raw %t: %+v", name, raw, d)
			}
		}
	}
	if d := documentOf("# One", 2, true); d.HTML != "" || !d.Both || d.Plain != "# One" {
		t.Errorf("as it is: %+v", d)
	}
}

// FuzzDocument: nothing of a text is lost.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{"", "---", "---\na: b\n--- \n# x\n---", "--- \r\n\r\n---\r\n", "a\n---\n", strings.Repeat("> ", 99)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d := documentOf(text, 2, true); d.Front+d.Plain != text || d.HTML != "" || d.Front != "" && !strings.HasPrefix(d.Front, "---") {
			t.Errorf("%q became %+v", text, d)
		}
	})
}

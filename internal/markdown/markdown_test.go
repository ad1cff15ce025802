package markdown

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestRender: what each construct becomes.
func TestRender(t *testing.T) {
	const rel = ` rel="nofollow noopener noreferrer">`
	for _, tt := range [][2]string{
		{"# One #\n## Two\n####### seven\n#tag\n", "<h2>One</h2>\n<h3>Two</h3>\n<p>####### seven\n#tag</p>\n"},
		{"###### six\n#", "<h6>six</h6>\n<h2></h2>\n"},
		{"One\n===\nTwo\nlines\n---\n\n---\n", "<h2>One</h2>\n<h3>Two\nlines</h3>\n<hr>\n"},
		{"a\nb  \nc\\\nd\n\ne", "<p>a\nb  <br>\nc<br>\nd</p>\n<p>e</p>\n"},
		{"- a\n- b\n  - c\n\n  d\n- e", "<ul><li>a\n</li>\n<li>b\n<ul><li>c\n</li>\n</ul>\n<p>d</p>\n</li>\n<li>e\n</li>\n</ul>\n"},
		{"- a\n* b\n+ c", "<ul><li>a\n</li>\n</ul>\n<ul><li>b\n</li>\n</ul>\n<ul><li>c\n</li>\n</ul>\n"},
		{"3. a\n4. b\n1) c", "<ol start=\"3\"><li>a\n</li>\n<li>b\n</li>\n</ol>\n<ol><li>c\n</li>\n</ol>\n"},
		{"1. a\nlazy\n\nout", "<ol><li>a\nlazy\n</li>\n</ol>\n<p>out</p>\n"},
		{"In\n1986. x\n1. y", "<p>In\n1986. x</p>\n<ol><li>y\n</li>\n</ol>\n"},
		{"-\n  a\n-    code\n- \tb", "<ul><li>a\n</li>\n<li>code\n</li>\n<li>b\n</li>\n</ul>\n"},
		{"- a\n\n      code\n\n      more\n- b", "<ul><li>a\n<pre><code>code\n\nmore\n</code></pre>\n</li>\n<li>b\n</li>\n</ul>\n"},
		{"> a\nlazy\n> - b\n>\n> c\n\n> d", "<blockquote><p>a\nlazy</p>\n<ul><li>b\n</li>\n</ul>\n<p>c</p>\n</blockquote>\n<blockquote><p>d</p>\n</blockquote>\n"},
		{"> ```\n> a\nb", "<blockquote><pre><code>a\n</code></pre>\n</blockquote>\n<p>b</p>\n"},
		{"```sh\n# <no> *heading*\n\n\tx\n``\n```\nend", "<pre><code># &lt;no&gt; *heading*\n\n\tx\n``\n</code></pre>\n<p>end</p>\n"},
		{"- ~~~\n  a\n    b\n  ~~~", "<ul><li><pre><code>a\n  b\n</code></pre>\n</li>\n</ul>\n"},
		{"    a\n\n    <b>\n\nc\n    d", "<pre><code>a\n\n&lt;b&gt;\n</code></pre>\n<p>c\nd</p>\n"},
		{"| a | b |\n|:--|--:|\n| 1 | `x\\|y` | 3 |\n| 2\n\nc", "<table>\n<thead>\n<tr><th>a</th><th>b</th></tr>\n</thead>\n<tbody>\n<tr><td>1</td><td><code>x|y</code></td></tr>\n<tr><td>2</td></tr>\n</tbody>\n</table>\n<p>c</p>\n"},
		{"a | b\n--|--|--\n", "<p>a | b\n--|--|--</p>\n"},
		{"*a* **b** ***c*** _d_ __e__ ~~f~~ ~g~", "<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <em>d</em> <strong>e</strong> <del>f</del> ~g~</p>\n"},
		{"**a *b*** ***c** d* *e**f", "<p><strong>a <em>b</em></strong> <em><strong>c</strong> d</em> *e**f</p>\n"},
		{"a_b_c 2 * 3 * 4 ** x **** y", "<p>a_b_c 2 * 3 * 4 ** x **** y</p>\n"},
		{"*a **b* c**", "<p><em>a **b</em> c**</p>\n"},
		{"``a`b`` `c\nd` ` `` ` `*e*` `open \\`f`", "<p><code>a`b</code> <code>c d</code> <code>``</code> <code>*e*</code> <code>open \\</code>f`</p>\n"},
		{`\*a\* \\ \a &lt;b&gt; &copy; &amp;lt; <b>"x"</b> <!-- y -->`, `<p>*a* \ \a &lt;b&gt; &amp;copy; &amp;lt; &lt;b&gt;&#34;x&#34;&lt;/b&gt; &lt;!-- y --&gt;</p>` + "\n"},
		{"[*a* b](https://example.com/x?a=1&b=2 'title') <http://example.com/y>", `<p><a href="https://example.com/x?a=1&amp;b=2"` + rel + `<em>a</em> b</a> <a href="http://example.com/y"` + rel + "http://example.com/y</a></p>\n"},
		{"[a](<https://example.com/f(1>) [b](https://example.com/f(1)) [c](mailto:a@example.com)", `<p><a href="https://example.com/f(1"` + rel + `a</a> <a href="https://example.com/f(1)"` + rel + `b</a> <a href="mailto:a@example.com"` + rel + "c</a></p>\n"},
		{"[a](javascript:alert(1)) [b](b.md) [c](//x.example) [d](http:e) [f](https://u@x.example) [g](http://:80) [h](data:x) [i](mailto:) [j](https://a\\@b)", "<p>a b c d f g h i j</p>\n"},
		{"<javascript:x> <https://u@x.example> [a] [b][c] (d) e](https://x.example)", "<p>&lt;javascript:x&gt; &lt;https://u@x.example&gt; [a] [b][c] (d) e](https://x.example)</p>\n"},
		{"[a [b](https://x.example) c](https://y.example)", `<p>[a <a href="https://x.example"` + rel + "b</a> c](https://y.example)</p>\n"},
		{"[![the *logo*](x.png)](https://x.example) ![](y)", `<p><a href="https://x.example"` + rel + "the <em>logo</em></a> </p>\n"},
		{"*a [b* c](https://x.example)", "<p><em>a [b</em> c](https://x.example)</p>\n"},
		{"[a *b](https://x.example)*", `<p><a href="https://x.example"` + rel + "a *b</a>*</p>\n"},
		{"a\r\n\r\n* b\r\n", "<p>a</p>\n<ul><li>b\n</li>\n</ul>\n"},
		{"", ""},
	} {
		page, ok := Render(tt[0], 1)
		if !ok || page.HTML != tt[1] {
			t.Errorf("%q\n got %q\nwant %q", tt[0], page.HTML, tt[1])
		}
		check(t, tt[0], page.HTML)
	}
	if page, _ := Render("![a](x) [![b](y)](z) `![c](x)` ![d]\n\n> ![e](<x> 'y')", 1); page.Pictures != 3 {
		t.Errorf("%d pictures", page.Pictures)
	}
}

// bombs are texts that cost parsers of Markdown more than their length; n is about how many bytes they have.
func bombs(n int) map[string]string {
	texts := map[string]string{
		"shallow": strings.Repeat(strings.Repeat("> ", MaxNesting-1)+"a\n\n", n/2/MaxNesting),
		"waiting": strings.Repeat("+ ", MaxNesting) + strings.Repeat("\n", n),
	}
	for _, unit := range []string{"[", "![", "]", "](", "[a](", "[a](<", "[a](b \"", "[a](b '", "[a](x(", "[a](b)", "<a", "<https:", "*a ", "*a_ ", "a**b", "**a*", "_a*", "`a``", "``", "\\`", "&", "~~a", "|", "a|b\n-|-\n", "1)\n1.\n", "- a\n",
		"* * *\n", "#\n", "    a\n\n", "```\n", "~~~\n`", "a\n-\n", "\t", "  \n", "[a]: /b\n", "<!--", "\"", "\x00", "!", "[[a](x)"} {
		texts[unit] = strings.Repeat(unit, n/len(unit))
	}
	ticks := ""
	for i := 1; len(ticks) < n; i++ {
		ticks += strings.Repeat("`", i) + "a"
	}
	texts["ticks"] = ticks
	return texts
}

// TestLinear: twice the text takes no more than about twice the memory, and the page is no larger than some times the text.
func TestLinear(t *testing.T) {
	const n = 4 << 10
	small, large := bombs(n), bombs(2*n)
	for name := range small {
		first, second := memory(t, small[name]), memory(t, large[name])
		if first > 200*n || second > first*5/2+n {
			t.Errorf("%q: %d bytes take %d, and %d take %d", name, len(small[name]), first, len(large[name]), second)
		}
	}
}

// memory returns how many bytes the rendering of a text allocates.
func memory(t *testing.T, text string) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	page, ok := Render(text, 1)
	runtime.ReadMemStats(&after)
	if !ok {
		t.Errorf("%.20q is not rendered", text)
	}
	check(t, text, page.HTML)
	return after.TotalAlloc - before.TotalAlloc
}

// TestDeep: a text that is nested too deep is refused before it costs anything.
func TestDeep(t *testing.T) {
	stairs := ""
	for i := range 2 * MaxNesting {
		stairs += strings.Repeat("  ", i) + "- a\n"
	}
	for name, text := range map[string]string{"bullets": strings.Repeat("+ ", 8000) + strings.Repeat("\n", 16000), "numbers": strings.Repeat("1. ", 5000), "quotes": strings.Repeat(">", 100) + "a", "mixed": strings.Repeat("> - ", 50), "stairs": stairs} {
		if page, ok := Render(text, 1); ok || page.HTML != "" {
			t.Errorf("%s: rendered", name)
		}
	}
	for _, text := range []string{strings.Repeat(" ", 1000) + "a", "```\n" + strings.Repeat(" ", 99) + "a", strings.Repeat("> ", MaxNesting) + "a"} {
		if _, ok := Render(text, 1); !ok {
			t.Errorf("%.20q is refused", text)
		}
	}
}

var (
	tag      = regexp.MustCompile(`<(/?)([a-z0-9]+)((?: [a-z]+="[^"<>]*")*)>`)
	openly   = regexp.MustCompile(`^ href="(https?://|mailto:)[^" ]+" rel="nofollow noopener noreferrer"$`)
	starts   = regexp.MustCompile(`^ start="\d{1,9}"$`)
	elements = strings.Fields("p h2 h3 h4 h5 h6 ul ol li blockquote pre code hr br table thead tbody tr th td em strong del a")
)

// check checks that a page is balanced, has only the elements and attributes that it may have, and is not much larger than
// its text.
func check(t *testing.T, source, page string) {
	t.Helper()
	var open []string
	rest := tag.ReplaceAllStringFunc(page, func(s string) string {
		m := tag.FindStringSubmatch(s)
		ends, name, attributes := m[1] != "", m[2], m[3]
		switch {
		case !slices.Contains(elements, name):
			t.Errorf("%q has the element %s", source, s)
		case name == "a" && !ends:
			if !openly.MatchString(attributes) || slices.Contains(open, "a") {
				t.Errorf("%q has the link %s", source, s)
			}
		case attributes != "" && !(name == "ol" && starts.MatchString(attributes)):
			t.Errorf("%q has the attributes %s", source, s)
		}
		switch {
		case name == "hr" || name == "br":
		case !ends:
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Errorf("%q: %s ends nothing of %v", source, s, open)
		default:
			open = open[:len(open)-1]
		}
		return ""
	})
	if len(open) > 0 || strings.ContainsAny(rest, "<>\"") {
		t.Errorf("%q leaves %v open; the text is %q", source, open, rest)
	}
	if len(page) > 64+32*len(source) {
		t.Errorf("%q becomes %d bytes", fmt.Sprintf("%.80s", source), len(page))
	}
}

// FuzzRender: every page is balanced, has only what it may have, and is linear in the text; nothing is nested deeper than
// was counted beforehand.
func FuzzRender(f *testing.F) {
	for _, text := range bombs(200) {
		f.Add(text)
	}
	for _, text := range []string{"- a\n\n  > b\n  1. c\n      d\n\n***a* b** [c *d](https://x.example) e*", "| a |\n|-|\n| `b | c` |", "[x](mailto:a@b.example\t'y')", "\t- a\n \t- b", "> -\ta\n>\t> b", "<https://x.example/\"onclick=y>"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		page, ok := Render(text, 1)
		check(t, text, page.HTML)
		depth := nesting(text)
		if ok != (depth <= MaxNesting) {
			t.Errorf("%q, nested %d deep, is rendered: %t", text, depth, ok)
		}
		lists := 0
		for _, m := range tag.FindAllStringSubmatch(page.HTML, -1) {
			if m[2] == "li" || m[2] == "blockquote" {
				if m[1] == "" {
					lists++
				} else {
					lists--
				}
			}
			if lists > depth {
				t.Fatalf("%q is nested deeper than %d", text, depth)
			}
		}
	})
}

package agent

import (
	"fmt"
	"html"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// shown is an instruction on one line: "use pdf", "read pdf: a.md", "run pdf: ls", "! fault".
func shown(list []instruction) string {
	var lines []string
	for _, in := range list {
		verb := map[string]string{tagUse: "use ", tagRead: "read ", tagRun: "run "}[in.tag]
		switch {
		case in.fault != "":
			lines = append(lines, "! "+in.fault)
		case in.tag == tagUse:
			lines = append(lines, verb+in.skill)
		default:
			lines = append(lines, verb+in.skill+": "+in.what)
		}
	}
	return strings.Join(lines, " | ")
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"three", "First.\n<use_skill>pdf</use_skill>\n<read_resource skill=\"pdf\">a/b.md</read_resource> <execute_script skill=\"pdf\">sh x.sh 1</execute_script>", "use pdf | read pdf: a/b.md | run pdf: sh x.sh 1"},
		{"none", "Use a < b and b > c, <b>bold</b>, </p>.", ""},
		{"case", "<Use_Skill>Pdf</USE_SKILL>", "use Pdf"},
		{"single quotes", "<read_resource skill='pdf'>a</read_resource>", "read pdf: a"},
		{"no quotes", "<read_resource skill=pdf>a</read_resource>", "read pdf: a"},
		{"blanks", "< use_skill >\n pdf \n</ use_skill >", "use pdf"},
		{"blanks in attributes", "<execute_script\n  skill = \"pdf\"\n>\nls -l\n</execute_script>", "run pdf: ls -l"},
		{"typographic quotes", "<read_resource skill=“pdf”>a</read_resource>", "read pdf: a"},
		{"full width", "<read_resource skill＝＂pdf＂>a</read_resource>", "read pdf: a"},
		{"order of attributes", `<execute_script timeout="5" skill="pdf" lang=sh>ls</execute_script>`, "run pdf: ls"},
		{"alias name", `<execute_script name="pdf">ls</execute_script>`, "run pdf: ls"},
		{"alias skill_name", `<execute_script skill_name="pdf">ls</execute_script>`, "run pdf: ls"},
		{"line breaks in a command", "<execute_script skill=\"pdf\">\na \\\n  b\n</execute_script>", "run pdf: a \\\n  b"},
		{"entities", `<execute_script skill="a&amp;b">a &amp;&amp; b &lt;c&gt; &quot;d&quot; &#39;e&#x27; &copy=2 &amp;lt;</execute_script>`, `run a&b: a && b <c> "d" 'e' &copy=2 &lt;`},
		{"CDATA", `<execute_script skill="pdf"><![CDATA[echo "</execute_script>" &lt; ]]>x</execute_script>`, `run pdf: echo "</execute_script>" &lt; x`},
		{"self-closing", `<use_skill name="pdf"/> <use_skill skill='doc' />`, "use pdf | use doc"},
		{"self-closing with all", `<read_resource skill=pdf path=a/b.md/><execute_script skill="pdf" command="ls &quot;a&quot;"/>`, `read pdf: a/b.md | run pdf: ls "a"`},
		{"self-closing and closed", `<use_skill name="pdf"/></use_skill>`, "use pdf"},
		{"name as attribute", `<use_skill name="pdf"></use_skill>`, "use pdf"},
		{"name in quotes", "<use_skill>\"pdf\"</use_skill>", "use pdf"},
		{"backticks in a command", "<execute_script skill=pdf>echo `date` '`</execute_script>", "run pdf: echo `date` '`"},
		{"fence in a command", "<execute_script skill=pdf>\n```\nls\n```\n</execute_script>", "run pdf: ```\nls\n```"},
		{"thoughts", "<think>Maybe <use_skill>doc</use_skill>?</think>\n<use_skill>pdf</use_skill>", "use pdf"},
		{"thoughts without start", "Maybe <use_skill>doc</use_skill>\n</thinking>\n<use_skill>pdf</use_skill>", "use pdf"},
		{"only thoughts", "<think>I take <use_skill>doc</use_skill></think>\n", "use doc"},
		{"thoughts without end", "<think>I take <use_skill>doc</use_skill>", "use doc"},

		{"fence", "```xml\n<use_skill>pdf</use_skill>\n```\n", ""},
		{"tildes", "~~~\n```\n<use_skill>pdf</use_skill>\n~~~\n<use_skill>doc</use_skill>", "use doc"},
		{"indented fence", "   ```\n<use_skill>pdf</use_skill>\n   ```", ""},
		{"fence in a list", "1. So:\n\n    ```\n    <use_skill>pdf</use_skill>\n    ```\n- ```\n  <use_skill>pdf</use_skill>\n  ```\n<use_skill>doc</use_skill>", "use doc"},
		{"unclosed fence", "a\n```\n<use_skill>pdf</use_skill>\n``\n", ""},
		{"longer fence", "````\n```\n<use_skill>pdf</use_skill>\n````\n<use_skill>doc</use_skill>", "use doc"},
		{"indented end", "```\n    ```\n<use_skill>pdf</use_skill>\n```", ""},
		{"returns", "```\r<use_skill>pdf</use_skill>\r```\r<use_skill>doc</use_skill>", "use doc"},
		{"fence on one line", "```<use_skill>pdf</use_skill>```", ""},
		{"opened in a fence", "```\n<use_skill>\n```\npdf</use_skill>", "! the tag use_skill is closed, but was not opened"},
		{"closed in a fence", "<use_skill>pdf\n```\n</use_skill>\n```", "! the tag use_skill is closed in code or in a quotation only"},
		{"attribute in a fence", "<use_skill\n```\n>pdf</use_skill>\n```", "! the tag use_skill stands half in code or in a quotation"},
		{"inline code", "Write `<use_skill>pdf</use_skill>` or ``<use_skill>`pdf`</use_skill>``.", ""},
		{"inline code over lines", "Write `<use_skill>\npdf</use_skill>` so.", ""},
		{"lone backtick", "The ` key.\n\n<use_skill>pdf</use_skill> `", "use pdf"},
		{"stray backtick in a list", "- a ` b\n- `<use_skill>pdf</use_skill>`", ""},
		{"escaped backtick", "\\` `<use_skill>pdf</use_skill>`", ""},
		{"block quote", "> <use_skill>pdf</use_skill>\n  > <use_skill>pdf</use_skill>\n- > <use_skill>pdf</use_skill>", ""},
		{"end of a tag is no block quote", "<read_resource skill=pdf\n>\na</read_resource>", "read pdf: a"},
		{"quotation marks", `Write "<use_skill>pdf</use_skill>", '<use_skill>pdf</use_skill>', “<use_skill>pdf</use_skill>”, «<use_skill>pdf</use_skill>», „<use_skill>pdf</use_skill>“ or „<use_skill>pdf</use_skill>”.`, ""},
		{"a tag in quotation marks", `The tag "<use_skill>" ends with “</use_skill>”.`, ""},
		{"the start of a tag in quotation marks", `The tag "<use_skill>…" loads.`, ""},
		{"words in quotation marks", `"Now <use_skill>pdf</use_skill> helps."`, "use pdf"},
		{"placeholders", `<use_skill>…</use_skill> <read_resource skill="...">a</read_resource>`, ""},

		{"unknown tags", "<use_skills>pdf</use_skills><run_script>a</run_script> <load-skill name=pdf/> <read_skill_file>a</read_skill_file>",
			"! there is no tag use_skills | ! there is no tag run_script | ! there is no tag load-skill | ! there is no tag read_skill_file"},
		{"other tags", "<skill>a</skill><script>b</script><read_file>c</read_file><use_skill_now>d</use_skill_now><use_skill.x>e", ""},
		{"full width brackets", "＜use_skill＞pdf＜/use_skill＞", "! the tag use_skill is not in plain < and >"},
		{"no skill", "<read_resource>a</read_resource>", "! the tag read_resource does not say of which skill"},
		{"two skills", `<use_skill name="pdf">doc</use_skill><read_resource skill=a name=b>c</read_resource>`, "! the tag use_skill names two skills | ! the tag read_resource says two things with its attributes"},
		{"empty", `<use_skill> </use_skill><read_resource skill="pdf"/><execute_script skill="pdf"> </execute_script>`,
			"! the tag use_skill names no skill | ! the tag read_resource has no path | ! the command is blank"},
		{"element as name", "<use_skill><name>pdf</name></use_skill>", "! the tag use_skill has no plain name of a skill"},
		{"nested", `<execute_script skill="a">echo <use_skill>b</use_skill></execute_script> <use_skill>c</use_skill>`, "! another tag stands inside of the tag execute_script | use c"},
		{"nested in itself", `<use_skill>a <use_skill>b</use_skill></use_skill>`, "! another tag stands inside of the tag use_skill"},
		{"unclosed", "<use_skill>a\n<read_resource skill=b>c</read_resource>", "! the tag use_skill is not closed | read b: c"},
		{"crossed", "<use_skill>a</read_resource>", "! the tag use_skill is not closed | ! the tag read_resource is closed, but was not opened"},
		{"no bracket", "<use_skill pdf</use_skill>", "! the tag use_skill has no >"},
		{"cut", "<execute_script skill=\"pdf", "! the tag execute_script has no >"},
		{"no quotation mark", `<read_resource skill="pdf>a</read_resource>`, "! the tag read_resource has no >"},
		{"stray end", "</use_skill>", "! the tag use_skill is closed, but was not opened"},
	} {
		got := parseInstructions(test.text)
		if shown(got) != test.want {
			t.Errorf("%s: %s\n got %s\nwant %s", test.name, test.text, shown(got), test.want)
		}
		checkPlaces(t, test.text, got)
	}
}

// checkPlaces checks that instructions stand where they say, one after the other.
func checkPlaces(t *testing.T, text string, list []instruction) {
	t.Helper()
	at := 0
	for _, in := range list {
		if in.start < at || in.end <= in.start || in.end > len(text) || text[in.start] != '<' && !strings.HasPrefix(text[in.start:], "＜") {
			t.Errorf("%q: %+v is not at its place", text, in)
		}
		at = in.end
	}
}

func TestParseBounds(t *testing.T) {
	got := parseInstructions(strings.Repeat("<use_skill>a</use_skill>", 1000))
	if n := len(got); n != maxInstructions+1 || got[n-2].fault != "" || !strings.Contains(got[n-1].fault, "more than 32") {
		t.Errorf("%d instructions, the last %+v", n, got[n-1])
	}
	long := strings.Repeat("x", maxCommand+1)
	for _, tag := range []string{tagUse, tagRead, tagRun} {
		got := parseInstructions(fmt.Sprintf("<%s skill=a>%s</%[1]s>", tag, long))
		if len(got) != 1 || got[0].fault == "" {
			t.Errorf("long %s: %d found", tag, len(got))
		}
	}
}

// TestParseIsLinear parses texts that are made to be read again and again. Quadratic work on
// them would take minutes.
func TestParseIsLinear(t *testing.T) {
	const size = 1 << 17
	for _, unit := range []string{
		"<", "<use_skill", "<use_skill>", "<use_skill a=\"", "</use_skill>", "`", "` `` ``` ", "<![CDATA[", "<use_skill><![CDATA[", "&", "\"<use_skill>\"",
		"<use_skill a", "<use_skill\n", "</think>", "> ", "- ", "```\n", "~~~\n", "\\`", "＜", "<use_skill>a</read_resource>", "<use_skill>…</use_skill>", "\r",
	} {
		text := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		n := len(parseInstructions(text))
		shielded(text)
		t.Logf("%q: %d found in %v", unit, n, time.Since(start))
	}
}

// written writes an instruction as a model does that escapes everything.
func written(in instruction) string {
	escape := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			if r == '`' || r == '~' || r == '.' || r == '…' || r == '\n' || r == '\r' || r == '>' {
				fmt.Fprintf(&b, "&#%d;", r)
			} else {
				b.WriteString(html.EscapeString(string(r)))
			}
		}
		return b.String()
	}
	if in.tag == tagUse {
		return "<use_skill>" + escape(in.skill) + "</use_skill>"
	}
	return fmt.Sprintf(`<%s skill="%s">%s</%[1]s>`, in.tag, escape(in.skill), escape(in.what))
}

func FuzzInstructions(f *testing.F) {
	f.Add("Say `<use_skill>a</use_skill>`\n> b\n```\n", "pdf", "sh x.sh 'a' && b")
	f.Add("<think>x</think>\"<use_skill>\"<execute_script skill=a>b", "a b", "`")
	f.Add("- ```\n  ~~~\n```\n\t```\n", "a&b", "]]>")
	f.Add("<use_skill><![CDATA[\n```\n", "x", "</execute_script>")
	f.Fuzz(func(t *testing.T, text, name, what string) {
		found := parseInstructions(text)
		checkPlaces(t, text, found)
		marks := literal(text)
		for _, in := range found {
			if marks[in.start] || in.fault == "" && marks[in.end-1] {
				t.Errorf("%q: %+v comes out of code", text, in)
			}
		}
		inFence(t, text)
		name, what = strings.TrimSpace(name), strings.TrimSpace(what)
		for _, in := range []instruction{{tag: tagUse, skill: name}, {tag: tagRead, skill: name, what: what}, {tag: tagRun, skill: name, what: what}} {
			again(t, in)
		}
	})
}

// inFence checks that no instruction comes out of a fence that the text cannot close.
func inFence(t *testing.T, text string) {
	t.Helper()
	fence := strings.Repeat("`", len(text)+3)
	for _, shown := range []string{fence + "\n" + text + "\n" + fence + "\n", "~~~" + strings.ReplaceAll(fence, "`", "~") + "\n" + text, "> " + strings.NewReplacer("\n", " ", "\r", " ").Replace(text)} {
		if found := parseInstructions(shown); len(found) > 0 {
			t.Errorf("%q: %s", shown, shownPart(found))
		}
	}
}

func shownPart(list []instruction) string { return shown(list[:min(3, len(list))]) }

// again checks that what is written is read as it was meant.
func again(t *testing.T, in instruction) {
	t.Helper()
	if !utf8.ValidString(in.skill) || !utf8.ValidString(in.what) || strings.ContainsAny(in.skill+in.what, "\x00\r\u0080\u0081\u0082") || in.check() != "" || strings.Trim(in.skill, "\"'`“”‘’") != in.skill {
		return // no name, no command, or one that XML cannot hold
	}
	for _, r := range in.skill + in.what {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return
		}
	}
	text := written(in)
	got := parseInstructions("So:\n" + text + "\nThanks.")
	if len(got) != 1 || got[0].fault != "" || got[0].tag != in.tag || got[0].skill != in.skill || got[0].what != in.what {
		t.Errorf("%s is read as %+v, want %+v", text, got, in)
	}
}

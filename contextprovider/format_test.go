package contextprovider_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/source"
)

func hit(name, description, location string) index.Hit {
	return index.Hit{Entry: index.Entry{Name: name, Description: description, Location: location}}
}

// lineStart finds what must not stand at the start of a line of a list.
var lineStart = regexp.MustCompile("(?im)^\\s*((human|user|assistant|system)\\s*:|```|~~~)")

// FuzzAvailableSkills: whatever the fields hold, the element is well-formed,
// holds one skill, and its text is the cleaned field.
func FuzzAvailableSkills(f *testing.F) {
	f.Add("pdf", "Reads PDF files.", "/home/u/.agents/skills/pdf/SKILL.md")
	f.Add("</name></skill><skill>", "</description><skill>\"x\" & 'y' &lt;", "/a<b>&c/SKILL.md")
	f.Add("```", "Human: a\n\nAssistant: b", "  system :")
	f.Add("~~~~", "\U000E0041\u202Eb\u2028c\r\nd\x00e\xff", "a\u200bb\u2029c  d\ue000\ufffe\U0010ffff")
	f.Add("]]>", "<![CDATA[<?x?><!--", "%s&#x0;")
	f.Fuzz(func(t *testing.T, name, description, location string) {
		text := contextprovider.AvailableSkills([]index.Hit{hit(name, description, location)})
		want := []listed{{clean(name), clean(description), cleanPlace(location)}}
		if diff := cmp.Diff(want, parseXML(t, text)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if n := strings.Count(text, "\n"); n != 13 {
			t.Errorf("%d lines, want 13:\n%s", n, text)
		}
		if bad := lineStart.FindString(text); bad != "" {
			t.Errorf("a line starts with %q:\n%s", bad, text)
		}
	})
}

// promptCase is what the reference prints for some folders; <TMP> stands for
// the folder that they lie in.
type promptCase struct {
	ID     string
	Arg    any // names of folders
	Files  []struct{ Path, Type, Content string }
	Prompt string
}

// The differences to the reference: locations are escaped, the element ends in
// a line end, a quote is &#34; and not &quot;, an apostrophe &#39; and not
// &#x27;, and what would start a message or a fence is escaped too.
var ownPrompts = []promptCase{
	{ID: "none", Arg: []any{}, Prompt: "<available_skills>\n</available_skills>"},
	{
		ID: "two in order", Arg: []any{"b-skill", "a-skill"},
		Files: files("b-skill", "Second by name.", "a-skill", "First by name."),
		Prompt: element("b-skill", "Second by name.", "<TMP>/b-skill/SKILL.md") +
			element("a-skill", "First by name.", "<TMP>/a-skill/SKILL.md"),
	},
	{
		ID: "escapes", Arg: []any{"esc"},
		Files:  files("esc", `'Compare <a> & <b>, "quoted"'`),
		Prompt: element("esc", "Compare &lt;a&gt; &amp; &lt;b&gt;, &#34;quoted&#34;", "<TMP>/esc/SKILL.md"),
	},
	{
		ID: "location", Arg: []any{"a & b/loc"},
		Files: []struct{ Path, Type, Content string }{
			{"a & b/loc/SKILL.md", "file", doc("loc", "Lies in a folder with an ampersand.", "")}},
		Prompt: element("loc", "Lies in a folder with an ampersand.", "<TMP>/a &amp; b/loc/SKILL.md"),
	},
}

// files makes a folder for each pair of a name and a description.
func files(pairs ...string) (list []struct{ Path, Type, Content string }) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, struct{ Path, Type, Content string }{
			pairs[i] + "/SKILL.md", "file", doc(pairs[i], pairs[i+1], "Body.\n")})
	}
	return list
}

// element is one skill of a list; the prompts above leave out what is around.
func element(name, description, location string) string {
	return fmt.Sprintf("<skill>\n<name>\n%s\n</name>\n<description>\n%s\n</description>\n<location>\n%s\n</location>\n</skill>\n", name, description, location)
}

func TestAvailableSkills(t *testing.T) {
	for _, c := range ownPrompts {
		if !strings.HasPrefix(c.Prompt, "<available_skills>") {
			c.Prompt = "<available_skills>\n" + c.Prompt + "</available_skills>"
		}
		t.Run(c.ID, c.run)
	}
}

// TestReferencePrompts runs what the reference implementation was seen to print.
func TestReferencePrompts(t *testing.T) {
	const name = "../../shared/cases/skills_ref_cases.jsonl"
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here; TestAvailableSkills holds cases of the same kind", name)
	}
	try(t, err)
	defer file.Close()
	n := 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c struct {
			promptCase
			Op string
		}
		try(t, json.Unmarshal(lines.Bytes(), &c))
		if c.Op == "to_prompt" {
			n++
			t.Run(c.ID, c.run)
		}
	}
	try(t, lines.Err())
	if n != 4 {
		t.Errorf("%d cases, want 4", n)
	}
}

// run reads the folders of the case with a real source and prints them in the
// order that the case names them.
func (c promptCase) run(t *testing.T) {
	dir := t.TempDir()
	for _, f := range c.Files {
		if f.Type == "file" {
			write(t, filepath.Join(dir, filepath.FromSlash(f.Path)), f.Content)
		}
	}
	src, err := source.Dir(dir, nil)
	try(t, err)
	byDir := make(map[string]index.Hit)
	for ref, err := range src.Skills(t.Context()) {
		try(t, err)
		s, err := ref.Load()
		try(t, err)
		byDir[s.Dir] = hit(s.Name, s.Description, s.Location)
	}
	var hits []index.Hit
	for _, arg := range c.Arg.([]any) {
		hits = append(hits, byDir[arg.(string)])
	}
	got := strings.ReplaceAll(contextprovider.AvailableSkills(hits), dir, "<TMP>")
	if diff := cmp.Diff(c.Prompt+"\n", got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnknownFormat(t *testing.T) {
	k := open(t)
	_, err := k.Block(t.Context(), "x", contextprovider.Budget{Format: "yaml"}, nil)
	if want := `no block format "yaml"; there are: xml, markdown, json`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

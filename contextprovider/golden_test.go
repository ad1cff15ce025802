package contextprovider_test

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
)

var update = flag.Bool("update", false, "write the blocks into testdata/*.txtar")

// TestGolden compares blocks in every format and form; the README in testdata explains
// the files.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 4 {
		t.Fatalf("found %d golden files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testGolden(t, file) })
	}
}

func testGolden(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	must.Do(t, err)
	files, want := make(map[string]string), make(map[string]string)
	var in []txtar.File
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "skills/"); ok {
			files[name] = string(f.Data)
			in = append(in, f)
		} else {
			want[f.Name] = string(f.Data)
		}
	}
	r := readRequest(t, archive.Comment)
	k := open(t, memory(t, "golden", files), everyday(t))
	for name, b := range wants(r.budget) {
		block := k.block(t, r.prompt, b, r.agent)
		checkStructure(t, b, block)
		if diff := cmp.Diff(want[name], block.Text); diff != "" && !*update {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		in = append(in, txtar.File{Name: name, Data: []byte(block.Text)})
	}
	if *update {
		archive.Files = in
		must.Do(t, os.WriteFile(file, txtar.Format(archive), 0o644))
	}
}

// wants yields a budget in every format and form, with the name of the file of its block.
func wants(b contextprovider.Budget) iter.Seq2[string, contextprovider.Budget] {
	return func(yield func(string, contextprovider.Budget) bool) {
		for _, b.Form = range []contextprovider.Form{contextprovider.Full, contextprovider.Short} {
			for _, b.Format = range contextprovider.Formats() {
				name := "want." + string(b.Format)
				if b.Form != contextprovider.Full {
					name = fmt.Sprintf("want-%s.%s", b.Form, b.Format)
				}
				if !yield(name, b) {
					return
				}
			}
		}
	}
}

// A request is what the top of a golden file asks for.
type request struct {
	prompt string
	budget contextprovider.Budget
	agent  *search.Agent
}

func readRequest(t *testing.T, comment []byte) (r request) {
	t.Helper()
	for line := range strings.Lines(string(comment)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var err error
		switch key {
		case "prompt":
			r.prompt = value
		case "intro":
			r.budget.Intro = value
		case "pinned":
			r.agent = &search.Agent{Name: "golden", Pinned: strings.Split(value, ", ")}
		case "tokens":
			r.budget.Tokens, err = strconv.Atoi(value)
		case "server":
			r.budget.Server = value
		case "skills":
			r.budget.Skills, err = strconv.Atoi(value)
		default:
			t.Fatalf("unknown line %q", line)
		}
		must.Do(t, err)
	}
	return r
}

// listed is a skill as a block shows it.
type listed struct {
	Name        string `xml:"name" json:"name"`
	Description string `xml:"description" json:"description"`
	Location    string `xml:"location" json:"location"`
}

// clean is what a block should show of a field.
func clean(s string) string { return strings.Join(strings.Fields(tidy.Clean(s)), " ") }

// cleanPlace is clean for a location, in which blanks count.
func cleanPlace(s string) string {
	return regexp.MustCompile("[\n\t\u2028\u2029]").ReplaceAllString(tidy.Clean(s), " ")
}

func show(hits []search.Hit, located bool) []listed {
	var list []listed
	for _, h := range hits {
		entry := listed{Name: clean(h.Name), Description: clean(h.Description)}
		if located {
			entry.Location = cleanPlace(h.Location)
		}
		list = append(list, entry)
	}
	return list
}

// checkStructure checks that a block lists its skills and nothing else.
func checkStructure(t *testing.T, budget contextprovider.Budget, b contextprovider.Block) {
	t.Helper()
	if b.Text == "" {
		if len(b.Skills)+len(b.Pinned) > 0 {
			t.Errorf("%+v: empty, but %d skills and %d pinned", budget, len(b.Skills), len(b.Pinned))
		}
		return
	}
	byTool := budget.Server != "" || budget.Intro != ""
	want := show(b.Skills, budget.Form == contextprovider.Full || !byTool)
	switch budget.Format {
	case contextprovider.XML, "":
		if _, list, ok := strings.Cut(b.Text, "<available_skills>"); ok || len(b.Skills) > 0 {
			checkList(t, want, parseXML(t, "<available_skills>"+list))
		}
		checkEnvelopes(t, b)
	case contextprovider.JSON:
		var doc struct{ Skills []listed }
		must.Do(t, json.Unmarshal([]byte(b.Text), &doc))
		checkList(t, want, doc.Skills)
	case contextprovider.Markdown:
		if n := strings.Count("\n"+b.Text, "\n- **"); n != len(b.Skills) {
			t.Errorf("markdown: %d items for %d skills", n, len(b.Skills))
		}
		checkEnvelopes(t, b)
	}
}

func checkList(t *testing.T, want, got []listed) {
	t.Helper()
	if len(want)+len(got) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed skills (-want +got)\n%s", diff)
	}
}

// parseXML reads an <available_skills> element strictly; anything else in or
// behind it is an error.
func parseXML(t testing.TB, text string) []listed {
	t.Helper()
	var doc struct {
		XMLName xml.Name `xml:"available_skills"`
		Skills  []struct {
			listed
			Attrs []xml.Attr                   `xml:",any,attr"` // of a short entry, whose text is the description
			Other []struct{ XMLName xml.Name } `xml:",any"`
			Text  string                       `xml:",chardata"`
		} `xml:"skill"`
		Other []struct{ XMLName xml.Name } `xml:",any"`
		Text  string                       `xml:",chardata"`
	}
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if !strings.HasSuffix(text, "</available_skills>\n") || strings.Count(text, "</available_skills") != 1 {
		t.Errorf("something behind the list:\n%s", text)
	}
	var list []listed
	for _, s := range doc.Skills {
		if len(s.Attrs) > 0 {
			if len(s.Other) > 0 || s.listed != (listed{}) {
				t.Errorf("a short entry holds %v and %v", s.Other, s.listed)
			}
			list = append(list, shortEntry(t, s.Attrs, s.Text))
			continue
		}
		if len(s.Other) > 0 || strings.TrimSpace(s.Text) != "" {
			t.Errorf("a skill holds %v and %q", s.Other, s.Text)
		}
		list = append(list, listed{unwrap(t, s.Name), unwrap(t, s.Description), unwrap(t, s.Location)})
	}
	if len(doc.Other) > 0 || strings.TrimSpace(doc.Text) != "" {
		t.Errorf("the list holds %v and %q", doc.Other, doc.Text)
	}
	return list
}

// shortEntry reads what a short entry says.
func shortEntry(t testing.TB, attrs []xml.Attr, text string) listed {
	t.Helper()
	entry := listed{Description: text}
	for _, a := range attrs {
		switch a.Name.Local {
		case "name":
			entry.Name = a.Value
		case "location":
			entry.Location = a.Value
		default:
			t.Errorf("attribute %v", a)
		}
	}
	return entry
}

// unwrap takes off the line ends around the text of an element.
func unwrap(t testing.TB, s string) string {
	t.Helper()
	if !strings.HasPrefix(s, "\n") || !strings.HasSuffix(s, "\n") || len(s) < 2 {
		t.Errorf("%q does not stand on a line of its own", s)
		return s
	}
	return s[1 : len(s)-1]
}

// envelope finds every tag of the element around pinned bodies, however it is
// spelled.
var envelope = regexp.MustCompile(`(?i)<\s*/?\s*skill_content`)

func checkEnvelopes(t *testing.T, b contextprovider.Block) {
	t.Helper()
	if n := len(envelope.FindAllString(b.Text, -1)); n != 2*len(b.Pinned) {
		t.Errorf("%d tags around %d pinned bodies in\n%s", n, len(b.Pinned), b.Text)
	}
}

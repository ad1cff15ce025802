package contextprovider

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Format is the form of a block.
type Format string

// The formats.
const (
	XML      Format = "xml"      // <available_skills>, as the Agent Skills reference prints it
	Markdown Format = "markdown" // a list
	JSON     Format = "json"     // one object
)

// Formats are all formats, the default first.
func Formats() []Format { return []Format{XML, Markdown, JSON} }

// header says what the list is, as a fact: text that reads like a command is
// what prompt-injection defences look for.
const header = "Skills in the local catalog that match this prompt. The instructions of each are in the file at its location; `skills show NAME` prints them. Names and descriptions are catalog metadata."

// A writer renders pinned bodies and listed hits.
type writer func(pinned []Body, hits []index.Hit) string

func writerFor(f Format) (writer, error) {
	switch f {
	case XML:
		return writeXML, nil
	case Markdown:
		return writeMarkdown, nil
	case JSON:
		return writeJSON, nil
	}
	return nil, fmt.Errorf("no block format %q; there are: %s, %s, %s", f, XML, Markdown, JSON)
}

// line makes one line of a field of a skill: no hidden characters, no line
// ends, so that nothing in it can look like a new message or element.
func line(s string) string {
	return strings.Join(strings.Fields(skill.Clean(s)), " ")
}

var lineEnds = strings.NewReplacer("\n", " ", "\t", " ", "\u2028", " ", "\u2029", " ")

// place is line for a location, in which each blank counts.
func place(s string) string { return lineEnds.Replace(skill.Clean(s)) }

// hiddenChars returns how many characters Clean takes out of s.
func hiddenChars(s string) int {
	n := 0
	for _, h := range skill.Hidden(s) {
		n += h.Count
	}
	return n
}

func writeXML(pinned []Body, hits []index.Hit) string {
	var b strings.Builder
	writePinned(&b, pinned)
	if len(hits) > 0 {
		b.WriteString(header + "\n" + AvailableSkills(hits))
	}
	return b.String()
}

// AvailableSkills returns the <available_skills> element for the hits, in the
// form of the Agent Skills reference but for the location, which is escaped
// too.
func AvailableSkills(hits []index.Hit) string {
	var b strings.Builder
	b.WriteString("<available_skills>\n")
	for _, h := range hits {
		fmt.Fprintf(&b, "<skill>\n<name>\n%s\n</name>\n<description>\n%s\n</description>\n<location>\n%s\n</location>\n</skill>\n",
			escaped(line(h.Name)), escaped(line(h.Description)), escaped(place(h.Location)))
	}
	b.WriteString("</available_skills>\n")
	return b.String()
}

// opener matches what would make a line the start of something: a message of
// a chat, or a fence.
var opener = regexp.MustCompile("(?i)^\\s*((human|user|assistant|system)\\s*:|```|~~~)")

// escaped escapes the text of an element, which stands on a line of its own:
// the last character of an opener too.
func escaped(s string) string {
	s = html.EscapeString(s)
	if found := opener.FindStringIndex(s); found != nil {
		last := found[1] - 1
		return fmt.Sprintf("%s&#%d;%s", s[:last], s[last], s[last+1:])
	}
	return s
}

// writePinned writes each body in an element of its own, in Markdown too: a
// body can hold any heading, but not the end of its element.
func writePinned(b *strings.Builder, pinned []Body) {
	for _, p := range pinned {
		fmt.Fprintf(b, "<skill_content name=\"%s\" location=\"%s\">\n%s\n</skill_content>\n",
			html.EscapeString(line(p.Name)), html.EscapeString(place(p.Location)), fenced(p.Text))
	}
}

// contentTag matches whatever a reader may take for a tag of the element that
// bodies stand in.
var contentTag = regexp.MustCompile(`(?i)<(\s*/?\s*skill_content)`)

// fenced keeps a body from closing its element and from opening another.
func fenced(text string) string {
	return contentTag.ReplaceAllString(strings.TrimSpace(text), "&lt;$1")
}

func writeMarkdown(pinned []Body, hits []index.Hit) string {
	var b strings.Builder
	writePinned(&b, pinned)
	if len(hits) > 0 {
		b.WriteString(header + "\n\n")
	}
	for _, h := range hits {
		fmt.Fprintf(&b, "- **%s**: %s (%s)\n", markdown(h.Name), markdown(h.Description), codeSpan(h.Location))
	}
	return b.String()
}

var markup = strings.NewReplacer(`\`, `\\`, "`", "'", "<", "&lt;", "*", `\*`, "[", `\[`, "|", `\|`)

// markdown makes one line that is neither bold nor code and holds no link,
// table or element.
func markdown(s string) string { return markup.Replace(line(s)) }

// codeSpan shows a location: in a code span a path needs no escapes, which who
// copies it would have to undo.
func codeSpan(location string) string {
	s := strings.ReplaceAll(place(location), "<", "&lt;")
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	fence := "``"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + " " + s + " " + fence
}

// The JSON form of a block.
type jsonBlock struct {
	Note   string       `json:"note,omitempty"`
	Pinned []jsonPinned `json:"pinned,omitempty"`
	Skills []jsonSkill  `json:"skills"`
}

type jsonPinned struct {
	Name     string `json:"name"`
	Location string `json:"location"`
	Content  string `json:"content"`
}

type jsonSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Location    string `json:"location"`
}

func writeJSON(pinned []Body, hits []index.Hit) string {
	out := jsonBlock{Skills: []jsonSkill{}}
	if len(hits) > 0 {
		out.Note = header
	}
	for _, p := range pinned {
		out.Pinned = append(out.Pinned, jsonPinned{line(p.Name), place(p.Location), p.Text})
	}
	for _, h := range hits {
		out.Skills = append(out.Skills, jsonSkill{line(h.Name), line(h.Description), place(h.Location)})
	}
	data, err := json.Marshal(out)
	if err != nil {
		return "" // unreachable: strings marshal
	}
	return string(data) + "\n"
}

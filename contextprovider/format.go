package contextprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// A Format is the syntax of a block.
type Format string

// The formats.
const (
	XML      Format = "xml"      // <available_skills>, in full as the Agent Skills reference prints it
	Markdown Format = "markdown" // a list
	JSON     Format = "json"     // one object
)

// Formats are all formats, the default first.
func Formats() []Format { return []Format{XML, Markdown, JSON} }

// A Form is how much a block says of each skill that it lists.
type Form string

// The forms.
const (
	// Short is the name and the first sentence of the description, and the location if the
	// model must open the file itself.
	Short Form = "short"
	Full  Form = "full" // name, description and location
)

// Forms are all forms.
func Forms() []Form { return []Form{Short, Full} }

// maxSentence bounds the first sentence of a description in a short block, in characters.
// Of 20,101 published descriptions, 28 % have a longer one.
const maxSentence = 160

// header returns what stands before a list: what it is and how a skill is loaded, and what the
// answer says of itself.
func header(about, caveat string) string {
	about += " Names and descriptions are catalog metadata."
	if caveat != "" {
		about += " " + caveat
	}
	return about
}

// A layout renders a block of one format and form. The skills that it lists are rendered
// one by one, so that each is rendered and counted once however the budget turns
// out: a block without pinned bodies is before, the entries with between between
// any two of them, and after.
type layout struct {
	before, between, after string
	entry                  func(*search.Hit) string
	// object makes a block in which pinned bodies do not simply come first; nil
	// for the formats where they do.
	object func(pinned []Body, entries []string) string
}

// block renders pinned bodies and the entries of a list.
func (f *layout) block(pinned []Body, entries []string) string {
	if f.object != nil {
		return f.object(pinned, entries)
	}
	var b strings.Builder
	// Each body stands in an element of its own, in Markdown too: a body can hold any
	// heading, but not the end of its element.
	for _, p := range pinned {
		fmt.Fprintf(&b, "<skill_content name=\"%s\" location=\"%s\">\n%s\n</skill_content>\n",
			html.EscapeString(tidy.Line(p.ID)), html.EscapeString(place(p.Location)), fenced(p.Text))
	}
	if len(entries) > 0 {
		b.WriteString(f.before + strings.Join(entries, f.between) + f.after)
	}
	return b.String()
}

// layoutOf returns the layout for a budget; about is its header.
func layoutOf(b Budget, about string) (layout, error) {
	if !slices.Contains(Forms(), b.Form) {
		return layout{}, fmt.Errorf("no block form %q%s", b.Form, words.Suggest(string(b.Form), []string{string(Short), string(Full)}))
	}
	located := b.Form == Full || !b.byTool()
	switch b.Format {
	case XML:
		entry := xmlEntry
		if b.Form == Short {
			entry = func(h *search.Hit) string { return shortXMLEntry(h, located) }
		}
		return layout{before: about + "\n" + listStart, after: listEnd, entry: entry}, nil
	case Markdown:
		return layout{before: about + "\n\n", entry: func(h *search.Hit) string { return markdownEntry(h, located) }}, nil
	case JSON:
		before := strings.TrimSuffix(jsonText(jsonBlock{Note: about, Skills: []json.RawMessage{}}), "]}")
		entry := func(h *search.Hit) string { return jsonEntry(h, located) }
		object := func(pinned []Body, entries []string) string { return jsonOf(about, pinned, entries) }
		return layout{before: before, between: ",", after: "]}\n", entry: entry, object: object}, nil
	}
	return layout{}, fmt.Errorf("no block format %q%s", b.Format, words.Suggest(string(b.Format), []string{string(XML), string(Markdown), string(JSON)}))
}

var lineEnds = strings.NewReplacer("\n", " ", "\t", " ", "\u2028", " ", "\u2029", " ")

// place is tidy.Line for a location, in which each blank counts.
func place(s string) string { return lineEnds.Replace(tidy.Clean(s)) }

// AvailableSkills returns the <available_skills> element for the hits, in the
// form of the Agent Skills reference but for the location, which is escaped
// too.
func AvailableSkills(hits []search.Hit) string {
	entries := make([]string, len(hits))
	for i := range hits {
		entries[i] = xmlEntry(&hits[i])
	}
	return listStart + strings.Join(entries, "") + listEnd
}

const (
	listStart = "<available_skills>\n"
	listEnd   = "</available_skills>\n"
)

func xmlEntry(h *search.Hit) string {
	return "<skill>\n<name>\n" + escaped(tidy.Line(h.ID)) + "\n</name>\n<description>\n" + escaped(tidy.Line(h.Description)) +
		"\n</description>\n<location>\n" + escaped(place(h.Location)) + "\n</location>\n</skill>\n"
}

// shortXMLEntry is one line: tags on lines of their own would be half of a short entry.
func shortXMLEntry(h *search.Hit, located bool) string {
	at := ""
	if located {
		at = `" location="` + html.EscapeString(place(h.Location))
	}
	return `<skill name="` + html.EscapeString(tidy.Line(h.ID)) + at + `">` + escaped(tidy.Line(h.Description)) + "</skill>\n"
}

// opener matches what would make a line the start of something: a message of
// a chat, or a fence.
var opener = lazyregexp.New("(?i)^\\s*((human|user|assistant|system)\\s*:|```|~~~)")

// escaped escapes the text of an element, which stands on a line of its own:
// the last character of an opener too.
func escaped(s string) string {
	s = html.EscapeString(s)
	if !mayOpen(s) {
		return s
	}
	if found := opener().FindStringIndex(s); found != nil {
		last := found[1] - 1
		return fmt.Sprintf("%s&#%d;%s", s[:last], s[last], s[last+1:])
	}
	return s
}

// mayOpen reports whether the first character of s may begin an opener: a look at it
// spares nearly every field the expression. What is not ASCII may be a letter of
// another case (ſ is an s).
func mayOpen(s string) bool {
	s = strings.TrimLeft(s, " \t\n\f\r")
	return s != "" && (s[0] >= utf8.RuneSelf || strings.IndexByte("huasHUAS`~", s[0]) >= 0)
}

// contentTag matches whatever a reader may take for a tag of the element that bodies stand in,
// of the list of skills, or of what package agent tells a model of skills and scripts.
var contentTag = lazyregexp.New(`(?i)<(\s*/?\s*(?:available_skills|(?:skill|resource)_(?:content|error)|script_(?:result|error)))`)

// Element returns the instructions of a skill in an element of their own, with the ID of the skill
// and the folder that its paths start at. Nothing in the instructions can end the element.
func Element(b *Body) string {
	return fmt.Sprintf("<skill_content name=\"%s\" root=\"%s\">\n%s\n</skill_content>\n",
		html.EscapeString(tidy.Line(b.ID)), html.EscapeString(place(b.Folder)), fenced(b.Text))
}

// fenced keeps a body from closing its element, and from opening another that means something.
func fenced(text string) string {
	return contentTag().ReplaceAllString(strings.TrimSpace(text), "&lt;$1")
}

func markdownEntry(h *search.Hit, located bool) string {
	at := ""
	if located {
		at = " (" + codeSpan(h.Location) + ")"
	}
	return "- **" + markdown(h.ID) + "**: " + markdown(h.Description) + at + "\n"
}

var markup = strings.NewReplacer(`\`, `\\`, "`", "'", "<", "&lt;", "*", `\*`, "[", `\[`, "|", `\|`)

// markdown makes one line that is neither bold nor code and holds no link,
// table or element.
func markdown(s string) string { return markup.Replace(tidy.Line(s)) }

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
	Note   string            `json:"note,omitempty"`
	Pinned []jsonPinned      `json:"pinned,omitempty"`
	Skills []json.RawMessage `json:"skills"` // of jsonSkill
}

type jsonPinned struct {
	Name     string `json:"name"`
	Location string `json:"location"`
	Content  string `json:"content"`
}

type jsonSkill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Location    string `json:"location,omitempty"`
}

func jsonOf(header string, pinned []Body, entries []string) string {
	out := jsonBlock{Skills: []json.RawMessage{}}
	if len(entries) > 0 {
		out.Note = header
	}
	for _, p := range pinned {
		out.Pinned = append(out.Pinned, jsonPinned{tidy.Line(p.ID), place(p.Location), p.Text})
	}
	for _, e := range entries {
		out.Skills = append(out.Skills, json.RawMessage(e))
	}
	return jsonText(out) + "\n"
}

func jsonEntry(h *search.Hit, located bool) string {
	entry := jsonSkill{Name: tidy.Line(h.ID), Description: tidy.Line(h.Description)}
	if located {
		entry.Location = place(h.Location)
	}
	return jsonText(entry)
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "" // unreachable: strings marshal
	}
	return string(data)
}

// An Introducer is a catalog that Introduce asks.
type Introducer interface {
	Count(ctx context.Context, a *search.Agent) (int, error)
	Pinned(ctx context.Context, a *search.Agent) ([]search.Entry, error)
	Unread(ctx context.Context) (int, error)
}

// Introduce returns the Introduction of what an agent sees of a catalog.
func Introduce(ctx context.Context, c Introducer, a *search.Agent, server, command string) (string, error) {
	n, err := c.Count(ctx, a)
	if err != nil {
		return "", err
	}
	pinned, err := c.Pinned(ctx, a)
	if err != nil {
		return "", err
	}
	names := make([]string, len(pinned))
	for i, e := range pinned {
		names[i] = e.ID
	}
	unread, err := c.Unread(ctx)
	if err != nil {
		return "", err
	}
	return Introduction(n, names, server, command, unread), nil
}

// Introduction is what a session should know of a catalog of n skills at its
// start: how they are found and loaded, and the names of those that are pinned.
// server is as in a Budget; without one, command is the call of the program that
// searches. unread is how many of its sources have not been read yet. It is empty
// for a catalog without skills.
func Introduction(n int, pinned []string, server, command string, unread int) string {
	if n == 0 {
		return ""
	}
	how := fmt.Sprintf("`%s search TEXT` lists those that fit a text, and `%[1]s show NAME` prints the instructions of one.", tidy.Line(command))
	if server != "" {
		how = fmt.Sprintf("The tool `search_skills` of the MCP server %s finds those that fit a task, and `read_skill` returns the instructions of one.", escapedLine(server))
	}
	text := fmt.Sprintf("A catalog holds agent skills: folders with instructions for a kind of work. It has %d. %s", n, how)
	if unread > 0 {
		text += " " + search.PartOf(unread).Caveat()
	}
	if len(pinned) > 0 {
		names := make([]string, len(pinned))
		for i, name := range pinned {
			names[i] = escapedLine(name)
		}
		text += " Pinned for this agent: " + strings.Join(names, ", ") + "."
	}
	return text + "\n"
}

func escapedLine(s string) string { return escaped(tidy.Line(s)) }

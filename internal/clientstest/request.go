package clientstest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A Request is what a client has sent to the model.
type Request struct {
	Path    string
	Body    string
	Texts   []Text   // all that the model reads, in order
	Tools   []Tool   // that it may call
	Results []string // what tools have returned

	stream bool
}

// A Text is a part of what the model reads.
type Text struct {
	Role string // "system", "developer", "user", "assistant" or "tool"
	Text string
}

// A Tool is a tool that the model may call.
type Tool struct {
	Name, Namespace string // without a namespace for most clients
	Description     string
}

// With returns the texts of a request that contain a text.
func (r *Request) With(text string) []Text {
	var found []Text
	for _, t := range r.Texts {
		if strings.Contains(t.Text, text) {
			found = append(found, t)
		}
	}
	return found
}

// KeptBack returns the whole name of a tool that the model is told of in a text, as clients do
// that give it the definition of a tool only when it asks; "" if there is none.
func (r *Request) KeptBack(end string) string {
	name := regexp.MustCompile(`\bmcp_\w+_` + end + `\b`)
	for _, t := range r.Texts {
		if found := name.FindString(t.Text); found != "" {
			return found
		}
	}
	return ""
}

// add adds a text, unless it is empty.
func (r *Request) add(role, text string) {
	if text == "" {
		return
	}
	r.Texts = append(r.Texts, Text{role, text})
	if role == "tool" {
		r.Results = append(r.Results, text)
	}
}

// A content is a text, or a list of parts with texts, as all protocols have it.
type content []part

// A part is one part of a content.
type part struct {
	Type    string
	Text    string
	Content content // of the result of a tool
}

// UnmarshalJSON takes both forms.
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]part)(c))
}

// text returns the texts of a content, one after the other.
func (c content) text() string {
	var b strings.Builder
	for _, p := range c {
		b.WriteString(p.Text)
	}
	return b.String()
}

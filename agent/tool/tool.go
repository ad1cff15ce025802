// Package tool declares what a tool of a model is: its row in a table, how the arguments of a call
// are read, and how its definition is written for each API.
//
// The one rule: what a model writes is read as it is meant where that is certain, and otherwise
// answered with what is wrong and what to do.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// A Row is a line of a table of tools: all that doors need to know of one.
type Row struct {
	Name   string
	Title  string // for people; "" for tools that no server lists
	Text   string // what a model reads of it
	Params []Param

	Writes   bool // a call changes something
	Destroys bool // a call may remove something
	Open     bool // a call reaches beyond this machine
	Output   any  // a value of the type of the data that Do returns; nil means that there is only text

	// Do answers a call with a text for the model, and the same as data for programs. An error
	// is the answer of a call that fails.
	Do func(ctx context.Context, in Arguments) (text string, data any, err error)
}

// A Definition describes a tool to a model.
type Definition struct {
	Name        string
	Title       string // for people; "" means none
	Description string
	Parameters  json.RawMessage // JSON Schema of an object

	Writes   bool               // a call changes something
	Destroys bool               // a call may remove something
	Open     bool               // a call reaches beyond this machine
	Output   *jsonschema.Schema // of the data for programs; nil means that there is none
}

// Define returns the definition of the tool.
func (r *Row) Define() Definition {
	return Definition{Name: r.Name, Title: r.Title, Description: r.Text, Parameters: schemaOf(r.Params), Writes: r.Writes, Destroys: r.Destroys, Open: r.Open, Output: outputOf(r.Output)}
}

// A Param is a parameter of a tool.
type Param struct {
	Name     string
	Aliases  []string // other names by which models call it, in lower case without "_"
	Kind     Kind
	Required bool
	Blank    bool   // a required text may be blank
	Hidden   bool   // it is read, but not listed
	Text     string // what a model reads of it

	Schema *jsonschema.Schema // of a parameter of another kind, see Arguments.Decode; nil means Kind
}

// A Kind is the type of a parameter.
type Kind string

// The kinds.
const (
	Text   Kind = ""        // a text
	Texts  Kind = "array"   // a list of texts
	Number Kind = "integer" // a whole number
	Switch Kind = "boolean" // true or false
)

// what says what a value of the kind is.
func (k Kind) what() string {
	switch k {
	case Texts:
		return "list of strings"
	case Number:
		return "whole number"
	case Switch:
		return "true or false"
	}
	return "string"
}

// schema returns the JSON Schema of a parameter.
func (p *Param) schema() *jsonschema.Schema {
	if p.Schema != nil {
		own := *p.Schema
		own.Description = p.Text
		return &own
	}
	own := &jsonschema.Schema{Type: string(p.Kind), Description: p.Text}
	switch p.Kind {
	case Text:
		own.Type = "string"
	case Texts:
		own.Items = &jsonschema.Schema{Type: "string"}
	}
	return own
}

// schemaOf returns the JSON Schema of an object with these parameters.
func schemaOf(params []Param) json.RawMessage {
	s := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema), AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, p := range params {
		if p.Hidden {
			continue
		}
		s.Properties[p.Name], s.PropertyOrder = p.schema(), append(s.PropertyOrder, p.Name)
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // unreachable: the schema holds plain texts
	}
	return data
}

// outputOf returns the schema of what a tool gives programs; nil for nothing.
func outputOf(v any) *jsonschema.Schema {
	if v == nil {
		return nil
	}
	s, err := jsonschema.ForType(reflect.TypeOf(v), nil)
	if err != nil {
		panic(err) // unreachable: results are structs of plain fields
	}
	return withoutNull(s)
}

// withoutNull removes null from the types of lists in a schema: lists are never null,
// and some clients do not know a choice of types.
func withoutNull(s *jsonschema.Schema) *jsonschema.Schema {
	if slices.Equal(s.Types, []string{"null", "array"}) {
		s.Type, s.Types = "array", nil
	}
	if s.Items != nil {
		withoutNull(s.Items)
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	return s
}

// A Problem is what a model reads of a call that failed: the plain fact, then what to do.
type Problem struct {
	Fact    string   `json:"error"`
	Hint    string   `json:"hint,omitempty"`
	Similar []string `json:"similar,omitempty"` // names that it may have meant
}

func (p *Problem) Error() string { return p.Fact }

// Text returns the fact and what to do.
func (p *Problem) Text() string { return strings.TrimSuffix(p.Fact+"; "+p.Hint, "; ") }

// maxQuoted is how many characters of a name are quoted.
const maxQuoted = 80

// Quoted returns the start of a text from a model in quotes: it must not look as if this
// program had written it.
func Quoted(s string) string { return "'" + tidy.Shorten(tidy.Line(s), maxQuoted) + "'" }

// Encode returns a value as JSON. Texts stay readable: nothing is escaped that JSON does
// not ask for.
func Encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprintf(`{"error":%q}`, "the result cannot be written as JSON") // unreachable: results are plain texts and numbers
	}
	return strings.TrimSuffix(b.String(), "\n")
}

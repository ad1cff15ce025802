package toolset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// Bounds of what one script declares.
const (
	maxParams = 64
	maxSchema = 8 << 10 // bytes of the schema, as it is written
)

// build makes the schema of a script. declared may be nil. With a usage line it only says
// more of its parameters; without, it says which there are: x-position, from 1, makes a
// property positional, any other becomes the option --name, or what x-flag says.
func (s *Script) build(declared json.RawMessage, usage bool) error {
	root := &jsonschema.Schema{}
	if declared != nil {
		if err := acceptable(declared); err != nil {
			return err
		}
		if err := unmarshal(declared, root); err != nil {
			return fmt.Errorf("parameters are no JSON Schema: %w", err)
		}
	}
	if root.Type != "object" && (root.Type != "" || root.Types != nil) {
		return errors.New("parameters are not the schema of an object")
	}
	if !usage {
		if err := s.fromSchema(root); err != nil {
			return err
		}
	}
	if len(s.params) > maxParams {
		return fmt.Errorf("there are more than %d parameters", maxParams)
	}
	if err := s.complete(root); err != nil {
		return err
	}
	resolved, err := resolve(root)
	if err != nil {
		return fmt.Errorf("parameters are no valid JSON Schema: %w", err)
	}
	s.schema = resolved
	s.Parameters, err = json.Marshal(root)
	return err
}

// acceptable refuses a schema that would cost too much. One that refers to itself is checked
// without end, which fills the stack, and nothing can catch that. A model reads it with each
// prompt, so it is short and hides nothing.
func acceptable(declared json.RawMessage) error {
	var v any
	switch err := json.Unmarshal(declared, &v); {
	case err != nil:
		return fmt.Errorf("parameters are no JSON: %w", err)
	case len(declared) > maxSchema:
		return fmt.Errorf("the schema has %d bytes, and may have %d", len(declared), maxSchema)
	}
	for todo := []any{v}; len(todo) > 0; {
		v, todo = todo[len(todo)-1], todo[:len(todo)-1]
		switch v := v.(type) {
		case string:
			if _, hidden := tidy.CleanAndCount(v); len(hidden) > 0 {
				return errors.New("the schema holds characters that nobody can see")
			}
		case []any:
			todo = append(todo, v...)
		case map[string]any:
			for key, value := range v {
				if strings.HasSuffix(strings.ToLower(key), "ref") && strings.HasPrefix(key, "$") {
					return fmt.Errorf("the schema refers to another (%s), which is not available; write it out", key)
				}
				todo = append(todo, key, value)
			}
		}
	}
	return nil
}

// unmarshal reads a schema. The library has its own idea of some malformed ones.
func unmarshal(data []byte, s *jsonschema.Schema) (err error) {
	defer recovered(&err)
	return json.Unmarshal(data, s)
}

func resolve(s *jsonschema.Schema) (r *jsonschema.Resolved, err error) {
	defer recovered(&err)
	return s.Resolve(nil)
}

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%v", r)
	}
}

// fromSchema makes parameters of the properties of a schema.
func (s *Script) fromSchema(root *jsonschema.Schema) error {
	positions := make(map[string]int)
	for name, own := range root.Properties {
		if own == nil {
			return fmt.Errorf("parameter %q has no schema", tidy.Shorten(name, 80))
		}
		one := param{name: name, flag: "--" + dashed(name), required: slices.Contains(root.Required, name)}
		if at, ok := own.Extra["x-position"]; ok {
			n, ok := at.(float64)
			if !ok || n < 1 || n > maxParams || n != float64(int(n)) {
				return fmt.Errorf("parameter %q: x-position is a number from 1", tidy.Shorten(name, 80))
			}
			one.flag, positions[name] = "", int(n)
		} else if flag, ok := own.Extra["x-flag"]; ok {
			one.flag, _ = flag.(string)
		}
		if one.flag != "" && !isFlag(one.flag) || one.flag == "" && positions[name] == 0 {
			return fmt.Errorf("parameter %q: %q is no name of an option", tidy.Shorten(name, 80), tidy.Shorten(one.flag, 80))
		}
		one.shown = cmp.Or(one.flag, name)
		s.params = append(s.params, one)
	}
	// Options stand before positional parameters.
	slices.SortFunc(s.params, func(a, b param) int {
		return cmp.Or(cmp.Compare(positions[a.name], positions[b.name]), cmp.Compare(a.name, b.name))
	})
	for i, one := range s.params {
		if i > 0 && positions[one.name] > 0 && positions[one.name] == positions[s.params[i-1].name] {
			return fmt.Errorf("parameters %q and %q have the same x-position", s.params[i-1].name, one.name)
		}
	}
	return nil
}

func dashed(name string) string {
	b := []byte(name)
	for i := range b {
		if b[i] == '_' {
			b[i] = '-'
		}
	}
	return string(b)
}

// complete brings the parameters and the schema together.
func (s *Script) complete(root *jsonschema.Schema) error {
	for name := range root.Properties {
		if !slices.ContainsFunc(s.params, func(p param) bool { return p.name == name }) {
			return fmt.Errorf("the usage line has no parameter %q", tidy.Shorten(name, 80))
		}
	}
	root.Type = "object"
	root.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	if root.Properties == nil {
		root.Properties = make(map[string]*jsonschema.Schema)
	}
	root.Required, root.PropertyOrder = nil, nil
	for i := range s.params {
		p := &s.params[i]
		if p.flag == "--" {
			continue
		}
		if p.name == "" || len(p.name) > maxName || propertyName(p.name) == "" && !isPlainName(p.name) {
			return fmt.Errorf("%q is no name of a parameter", tidy.Shorten(p.name, 80))
		}
		own := root.Properties[p.name]
		if own == nil {
			own = p.schema()
			root.Properties[p.name] = own
		} else if err := p.take(own); err != nil {
			return fmt.Errorf("parameter %s %w", p.name, err)
		}
		own.Description = cmp.Or(own.Description, tidy.Shorten(tidy.Line(p.text), maxDescription), p.shown)
		root.PropertyOrder = append(root.PropertyOrder, p.name)
		if p.required {
			root.Required = append(root.Required, p.name)
		}
	}
	return (&usageParser{params: s.params}).check()
}

// isPlainName reports whether a name is letters, digits and "_", the first a letter or "_",
// as all providers want it.
func isPlainName(s string) bool {
	name, same := letters(s)
	return same && name != "" && !slices.Contains([]byte(name), '-')
}

// schema returns the schema of a parameter of a usage line.
func (p *param) schema() *jsonschema.Schema {
	own := &jsonschema.Schema{Type: p.kind}
	for _, choice := range p.enum {
		own.Enum = append(own.Enum, choice)
	}
	if p.list {
		own = &jsonschema.Schema{Type: "array", Items: own}
	}
	return own
}

// take takes the type of a parameter from its schema, of which it removes what is not for
// models.
func (p *param) take(own *jsonschema.Schema) error {
	delete(own.Extra, "x-position")
	delete(own.Extra, "x-flag")
	item := own
	list := own.Type == "array"
	if list {
		if item = own.Items; item == nil {
			return errors.New("is a list of anything; give it items")
		}
	}
	if item.Type == "" && item.Types == nil && (len(item.Enum) > 0 || p.kind != "") {
		item.Type = cmp.Or(p.kind, "string")
	}
	switch {
	case !slices.Contains([]string{"string", "integer", "number", "boolean"}, item.Type):
		return errors.New("is no text, number, boolean or list of these, which is all that a command line has")
	case item.Type == "boolean" && (list || p.flag == ""):
		return errors.New("is a boolean, and so an option that is given or not, once")
	case p.kind != "" && (item.Type == "boolean") != (p.kind == "boolean"), p.kind != "" && list != p.list:
		return errors.New("is of another kind in the usage line")
	}
	p.kind, p.list = item.Type, list
	return nil
}

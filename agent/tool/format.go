package tool

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Format is how an API wants the definitions of tools.
type Format string

// The formats. The text of each but JSONSchema is the value of the field tools of a request.
const (
	OpenAI     Format = "openai"      // chat completions of OpenAI, and servers that speak its protocol
	Anthropic  Format = "anthropic"   // messages of Anthropic
	Gemini     Format = "gemini"      // generateContent of Google
	JSONSchema Format = "json-schema" // a list of schemas with title and description
)

// Formats are all formats, the default first.
func Formats() []Format { return []Format{OpenAI, Anthropic, Gemini, JSONSchema} }

// Write returns the definitions of tools as JSON, in the order of tools.
func Write(f Format, tools []Definition) (json.RawMessage, error) {
	formats := map[Format]func(*Definition, ordered) ordered{OpenAI: openAITool, Anthropic: anthropicTool, Gemini: geminiTool, JSONSchema: schemaTool}
	format, ok := formats[f]
	if !ok {
		return nil, fmt.Errorf("no tool format %q%s", f, words.Suggest(string(f), formatNames()))
	}
	list := make([]any, len(tools))
	for i := range tools {
		schema, err := parseOrdered(tools[i].Parameters)
		if err != nil {
			return nil, fmt.Errorf("reading the parameters of tool %s: %w", tools[i].Name, err)
		}
		own, ok := schema.(ordered)
		if !ok {
			return nil, fmt.Errorf("the parameters of tool %s are not a JSON object", tools[i].Name)
		}
		list[i] = format(&tools[i], own)
	}
	if f == Gemini {
		list = []any{ordered{{"functionDeclarations", list}}}
	}
	return json.RawMessage(Encode(list)), nil
}

// Into is Write into the field tools of a request of an SDK, of which into is the address.
func Into(f Format, tools []Definition, into any) error {
	data, err := Write(f, tools)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("reading the tools in the form of %s: %w", f, err)
	}
	return nil
}

func formatNames() []string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return names
}

func anthropicTool(t *Definition, schema ordered) ordered {
	return ordered{{"name", t.Name}, {"description", t.Description}, {"input_schema", schema}}
}

func schemaTool(t *Definition, schema ordered) ordered {
	s := ordered{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", t.Name}, {"description", t.Description}}
	for _, f := range schema {
		if _, ok := s.get(f.name); !ok {
			s = append(s, f)
		}
	}
	return s
}

// openAITool returns a function. It is strict if its schema can be: then every object is
// closed, every property required, and what was optional may be null, which a call takes
// for left out.
func openAITool(t *Definition, schema ordered) ordered {
	f := ordered{{"name", t.Name}, {"description", t.Description}}
	if strict, ok := strictSchema(schema); ok {
		f = append(f, orderedField{"parameters", strict}, orderedField{"strict", true})
	} else {
		f = append(f, orderedField{"parameters", schema}, orderedField{"strict", false})
	}
	return ordered{{"type", "function"}, {"function", f}}
}

// What strict schemas may have, and what they lose: a constraint that the server does not
// know is checked by Parse in any case. With any other keyword a schema cannot be strict.
var (
	strictKeeps = []string{"type", "title", "description", "enum", "const", "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
	strictDrops = []string{"$schema", "$comment", "examples", "default", "deprecated", "readOnly", "writeOnly", "format", "minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties", "required"}
)

// strictSchema returns a schema by the rules of strict functions; ok is false if it cannot be
// said by them.
func strictSchema(s ordered) (strict ordered, ok bool) {
	_, typed := s.get("type")
	_, either := s.get("anyOf")
	_, listed := s.get("items")
	if kinds := s.texts("type"); !typed && !either || slices.Contains(kinds, "array") && !listed {
		return nil, false
	}
	for _, f := range s {
		switch {
		case slices.Contains(strictKeeps, f.name):
			strict = append(strict, f)
		case slices.Contains(strictDrops, f.name):
		case f.name == "additionalProperties":
			if f.value != false {
				return nil, false
			}
		case f.name == "items":
			own, _ := f.value.(ordered)
			if own, ok = strictSchema(own); !ok {
				return nil, false
			}
			strict = append(strict, orderedField{"items", own})
		case f.name == "anyOf":
			list, isList := f.value.([]any)
			if !isList {
				return nil, false
			}
			if list, ok = schemas(list, strictSchema); !ok {
				return nil, false
			}
			strict = append(strict, orderedField{"anyOf", list})
		case f.name == "properties":
			required := s.texts("required")
			own, ok := properties(f.value, func(name string, own ordered) (ordered, bool) {
				own, ok := strictSchema(own)
				if ok && !slices.Contains(required, name) {
					own = nullable(own)
				}
				return own, ok
			})
			if !ok {
				return nil, false
			}
			strict = append(strict, orderedField{"properties", own})
		default:
			return nil, false
		}
	}
	if kind, _ := strict.get("type"); kind == "object" {
		own, _ := strict.get("properties")
		properties, _ := own.(ordered)
		strict = append(strict.without("properties"), orderedField{"properties", properties}, orderedField{"required", properties.names()}, orderedField{"additionalProperties", false})
	}
	return withDefault(strict, s), true
}

// properties converts the schemas of properties.
func properties(value any, convert func(name string, own ordered) (ordered, bool)) (ordered, bool) {
	list, ok := value.(ordered)
	out := ordered{}
	for _, p := range list {
		own, _ := p.value.(ordered)
		own, valid := convert(p.name, own)
		ok = ok && valid
		out = append(out, orderedField{p.name, own})
	}
	return out, ok
}

// schemas converts the schemas of a list.
func schemas(list []any, convert func(ordered) (ordered, bool)) ([]any, bool) {
	out := make([]any, len(list))
	for i, v := range list {
		own, _ := v.(ordered) // nil, which is no schema, for anything else
		own, ok := convert(own)
		if !ok {
			return nil, false
		}
		out[i] = own
	}
	return out, true
}

// nullable returns a schema that also allows null.
func nullable(s ordered) ordered {
	out := make(ordered, 0, len(s))
	for _, f := range s {
		switch f.name {
		case "type":
			kinds, ok := f.value.([]any)
			if !ok {
				kinds = []any{f.value}
			}
			f.value = withNull(kinds, "null")
		case "enum":
			if list, ok := f.value.([]any); ok {
				f.value = withNull(list, nil)
			}
		case "const":
			f = orderedField{"enum", withNull([]any{f.value}, nil)}
		case "anyOf":
			f.value = append(slices.Clone(f.value.([]any)), ordered{{"type", "null"}})
		}
		out = append(out, f)
	}
	return out
}

func withNull(list []any, null any) []any {
	if slices.ContainsFunc(list, func(v any) bool { text, ok := v.(string); return v == nil || ok && any(text) == null }) {
		return list
	}
	return append(slices.Clone(list), null)
}

// withDefault adds to the description of a schema the default that it loses.
func withDefault(s, from ordered) ordered {
	value, ok := from.get("default")
	if !ok || value == nil {
		return s
	}
	data, err := json.Marshal(value)
	if err != nil {
		return s
	}
	return s.describe("Default: " + string(data) + ".")
}

// geminiTool returns a function declaration. A schema that Gemini's own form cannot say
// stands in parametersJsonSchema.
func geminiTool(t *Definition, schema ordered) ordered {
	f := ordered{{"name", t.Name}, {"description", t.Description}}
	value, _ := schema.get("properties")
	if properties, ok := value.(ordered); ok && len(properties) == 0 || value == nil {
		return f // Gemini refuses an object without properties, and nothing means no parameters
	}
	if own, ok := geminiSchema(schema); ok {
		return append(f, orderedField{"parameters", own})
	}
	return append(f, orderedField{"parametersJsonSchema", schema})
}

// What the schemas of Gemini have under the same name and in the same form, and what they
// lose.
var (
	geminiKeeps = []string{"title", "description", "maxItems", "minItems", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "minimum", "maximum", "required", "default"}
	geminiDrops = []string{"$schema", "$comment", "examples", "deprecated", "readOnly", "writeOnly", "format", "uniqueItems", "additionalProperties", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "type"}
)

// geminiSchema returns a schema in the form of Gemini; ok is false if it cannot be said so.
func geminiSchema(s ordered) (out ordered, ok bool) {
	kind, null, ok := geminiType(s)
	if !ok {
		return nil, false
	}
	if kind != "" {
		out = ordered{{"type", kind}}
	}
	if null {
		out = append(out, orderedField{"nullable", true})
	}
	for _, f := range s {
		var value any
		switch {
		case slices.Contains(geminiKeeps, f.name):
			out = append(out, f)
			continue
		case slices.Contains(geminiDrops, f.name):
			continue
		case f.name == "items":
			own, _ := f.value.(ordered)
			value, ok = geminiSchema(own)
		case f.name == "anyOf", f.name == "oneOf":
			list, _ := f.value.([]any)
			f.name = "anyOf"
			value, ok = schemas(list, geminiSchema)
		case f.name == "properties":
			value, ok = properties(f.value, func(_ string, own ordered) (ordered, bool) { return geminiSchema(own) })
		case f.name == "const":
			f.name, value = "enum", []any{f.value}
		case f.name == "enum":
			value = f.value
		default:
			return nil, false
		}
		if !ok {
			return nil, false
		}
		out = append(out, orderedField{f.name, value})
	}
	return withoutOtherEnums(out, kind), true
}

// geminiType returns the type of a schema, "" for a choice of schemas, and whether it may be
// null.
func geminiType(s ordered) (kind string, null, ok bool) {
	types := s.texts("type")
	if n := slices.Index(types, "null"); n >= 0 {
		types, null = slices.Delete(types, n, n+1), true
	}
	for _, choice := range []string{"anyOf", "oneOf"} {
		if _, has := s.get(choice); has {
			return "", null, true
		}
	}
	upper := map[string]string{"string": "STRING", "integer": "INTEGER", "number": "NUMBER", "boolean": "BOOLEAN", "array": "ARRAY", "object": "OBJECT"}
	if len(types) != 1 || upper[types[0]] == "" {
		return "", null, false
	}
	if _, has := s.get("items"); types[0] == "array" && !has {
		return "", null, false // an array needs items
	}
	return upper[types[0]], null, true
}

// withoutOtherEnums turns the values of an enum of numbers into words: Gemini has enums of
// texts only.
func withoutOtherEnums(s ordered, kind string) ordered {
	values, ok := s.get("enum")
	if !ok || kind == "STRING" {
		return s
	}
	data, err := json.Marshal(values)
	if err != nil {
		return s
	}
	return s.without("enum").describe("One of " + string(data) + ".")
}

package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// ordered is a JSON object whose fields keep their order: models write the arguments of a
// call in the order of the schema, and read the first ones first.
type ordered []orderedField

type orderedField struct {
	name  string
	value any // ordered, []any, string, json.Number, bool or nil; in results also other lists
}

// MarshalJSON writes the fields in their order.
func (f ordered) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, e := range f {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, Encode(e.name)+":"+Encode(e.value)...)
	}
	return append(b, '}'), nil
}

func (f ordered) get(name string) (any, bool) {
	i := slices.IndexFunc(f, func(e orderedField) bool { return e.name == name })
	if i < 0 {
		return nil, false
	}
	return f[i].value, true
}

func (f ordered) names() []string {
	names := make([]string, len(f))
	for i, e := range f {
		names[i] = e.name
	}
	return names
}

func (f ordered) without(name string) ordered {
	return slices.DeleteFunc(slices.Clone(f), func(e orderedField) bool { return e.name == name })
}

// texts returns a text, or the texts of a list.
func (f ordered) texts(name string) []string {
	value, _ := f.get(name)
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var texts []string
	for _, v := range list {
		if text, ok := v.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// describe adds a sentence to the description of a schema.
func (f ordered) describe(sentence string) ordered {
	text := sentence
	if before := f.texts("description"); len(before) > 0 && before[0] != "" {
		text = before[0] + " " + sentence
	}
	return append(f.without("description"), orderedField{"description", text})
}

// maxNested bounds how deep JSON may be nested.
const maxNested = 100

// parseOrdered reads JSON whose objects become fields.
func parseOrdered(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return orderedValue(dec, 0)
}

func orderedValue(dec *json.Decoder, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := t.(json.Delim)
	switch {
	case !nested:
		return t, nil
	case depth == maxNested:
		return nil, fmt.Errorf("nested deeper than %d levels", maxNested)
	case delim == '[':
		list := []any{}
		for dec.More() {
			v, err := orderedValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	object := ordered{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := orderedValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		object = append(object.without(name.(string)), orderedField{name.(string), v})
	}
	_, err = dec.Token()
	return object, err
}

package config

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
)

// A value is what a key may have: how to read it, to describe it in a JSON Schema and to
// show it. One table of values serves all three, so that they cannot differ.
type value struct {
	read   func(*yaml.Node) error
	schema func() schema
	show   func() any // what is set; nil means that the default holds
	inside keys       // of a mapping with known keys, that are shown one by one; nil for all other values

	about    string // for the schema
	standard any    // what holds without the key; nil means nothing

	// A key with several values says what changes one of them, and shows them one by one, unless each is nil.
	several string
	each    func() []Shown
}

// doc returns v with a description and a default.
func (v value) doc(about string, standard any) value {
	v.about, v.standard = about, standard
	return v
}

// many returns v for a key with several values.
func (v value) many(several string, each func() []Shown) value {
	v.several, v.each = several, each
	return v
}

// check returns v with a further step after reading.
func (v value) check(f func(*yaml.Node) error) value {
	read := v.read
	v.read = func(n *yaml.Node) error {
		if err := read(n); err != nil {
			return err
		}
		return f(n)
	}
	return v
}

// keys are the known keys of a mapping.
type keys map[string]value

// names returns the known keys in the order of lists.
func (k keys) names() []string { return slices.Sorted(maps.Keys(k)) }

// shown returns what is set, by key.
func (k keys) shown() map[string]any {
	shown := make(map[string]any)
	for name, v := range k {
		if x := v.show(); x != nil {
			shown[name] = x
		}
	}
	return shown
}

// mapping reads a mapping. A key that is not in known is an error that lists the
// known keys.
func mapping(n *yaml.Node, what string, known keys) error {
	return pairs(n, what, func(key, value *yaml.Node) error {
		v, ok := known[key.Value]
		switch {
		case !ok:
			return errorf(key, "%s: no key %q%s", what, key.Value, words.Suggest(key.Value, known.names()))
		case isNull(value):
			// Do not treat this as a missing key: an agent with an empty include
			// would see everything.
			return errorf(key, "%s: key %q has no value", what, key.Value)
		}
		return v.read(value)
	})
}

// object returns the value that is a mapping with known keys.
func object(what string, known keys) value {
	return value{
		schema: func() schema { return objectSchema(known) },
		read:   func(n *yaml.Node) error { return mapping(n, what, known) },
	}
}

// section returns the object that is a setting of the file, whose keys are settings too.
func (p *parser) section(key string, known keys) value {
	v := object(key, known).check(func(n *yaml.Node) error {
		for i := 0; i < len(n.Content); i += 2 {
			p.note(key+"."+n.Content[i].Value, n.Content[i])
		}
		return nil
	})
	v.inside = known
	return v
}

// note notes the place of a key.
func (p *parser) note(key string, n *yaml.Node) { p.settings.Places[key] = p.place(n) }

func (p *parser) place(n *yaml.Node) search.Place { return search.Place{File: p.file, Line: n.Line} }

// either returns the value that is a scalar or, else, what v reads.
func either(scalar, v value) value {
	read := v.read
	v.read = func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode {
			return scalar.read(n)
		}
		return read(n)
	}
	other := v.schema
	v.schema = func() schema { return anyOf(scalar.schema(), other()) }
	if v.inside == nil && v.show == nil {
		v.show = scalar.show
	}
	return v
}

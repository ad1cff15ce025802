package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Key is a setting that Editor.Set can change.
type Key struct {
	About  string
	Values []string // that it may have, where these are few
}

// Keys returns the settings that Editor.Set can change, by key. A key in a section is "SECTION.KEY".
func Keys() map[string]Key {
	list := make(map[string]Key)
	var add func(prefix string, known keys)
	add = func(prefix string, known keys) {
		for name, v := range known {
			if v.several != "" {
				continue
			}
			list[prefix+name] = Key{v.about, valuesOf(v.schema())}
			add(prefix+name+".", v.inside)
		}
	}
	add("", userKeys())
	return list
}

// userKeys returns the keys of a user's file.
func userKeys() keys { return (&parser{user: true, settings: new(Settings)}).keys() }

// valuesOf returns the values that a schema lists.
func valuesOf(s schema) (values []string) {
	switch of := s["enum"].(type) {
	case []string:
		return of
	case []any: // a boolean, whose texts are the same
		return []string{"true", "false"}
	}
	return nil
}

// Set gives a setting a value: YAML or, where that does not fit, a text as it is. It returns what the
// file said before, nil if nothing, and what the setting is then, without secrets; done is false if
// the file said so already.
func (e *Editor) Set(key, value string) (was, is any, done bool, err error) {
	at, err := e.settable(key)
	if err != nil {
		return nil, nil, false, err
	}
	if s, err := e.settings(); err == nil && e.node(at.Names()) != nil {
		was = valueOf(s, key)
	}
	v, err := edit.YAML.Decode([]byte(value))
	if err != nil || v == nil {
		v = value
	}
	before := e.data
	err = e.put(at, writable(v))
	if _, isText := v.(string); err != nil && !isText && e.put(at, value) == nil {
		err = nil
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("%s: %w", key, err)
	}
	s, err := e.settings()
	return was, valueOf(s, key), !bytes.Equal(before, e.data), err
}

// valueOf returns the value of a setting as Show has it; nil for a section.
func valueOf(s Settings, key string) any {
	for _, shown := range Show(s, nil) {
		if shown.Key == key {
			return shown.Value
		}
	}
	return nil
}

func (e *Editor) put(at edit.Path, v any) error {
	data, _, err := edit.Set(edit.YAML, e.data, at, v)
	return e.change(data, err, "write by hand: "+edit.YAMLLine(at, v))
}

// Unset removes a setting, so that its default holds, and the sections that have nothing else. done
// is false if the file does not have it.
func (e *Editor) Unset(key string) (done bool, err error) {
	at, err := e.settable(key)
	if err != nil {
		return false, err
	}
	for ; len(at) > 0 && err == nil; at = at[:len(at)-1] {
		n := e.node(at.Names())
		if n == nil || done && len(n.Content) > 0 {
			break
		}
		data, _, bad := edit.Remove(edit.YAML, e.data, at)
		if err = e.change(data, bad, fmt.Sprintf("remove it from line %d by hand", n.Line)); done {
			err = nil // an empty section may stay
		}
		done = done || err == nil
	}
	return done, err
}

// settable returns the path of a setting that holds one value.
func (e *Editor) settable(key string) (edit.Path, error) {
	known := Keys()
	if _, ok := known[key]; ok {
		return edit.To(strings.Split(key, ".")...), nil
	}
	top, _, _ := strings.Cut(key, ".")
	if how := userKeys()[top].several; how != "" {
		return nil, fmt.Errorf("%s holds several values; %s (%s)", top, how, e.File)
	}
	if _, ok := known[top]; ok && top != key {
		return nil, fmt.Errorf("%s has no key of that name that can be set alone; give all of %s as YAML, or edit %s", top, top, e.File)
	}
	return nil, fmt.Errorf("there is no setting %q%s", key, words.Suggest(key, slices.Sorted(maps.Keys(known))))
}

// writable turns a decoded value into one to write: a mapping has an order.
func writable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := edit.Object{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			o = append(o, edit.Member{Key: key, Value: writable(v[key])})
		}
		return o
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = writable(v[i])
		}
		return list
	}
	return v
}

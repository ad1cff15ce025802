package config

import (
	"fmt"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/internal/registries"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// registryList reads the registries that searches may ask.
func registryList(to *[]registries.Registry) value {
	return value{
		schema: func() schema {
			return arrayOf(objectSchema(registryKeys(new(registries.Registry))).required("url", "form"))
		},
		show: func() any { return shownRegistries(*to) },
		read: func(n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode {
				return errorf(n, "registries must be a list of mappings with url and form")
			}
			*to = nil
			for _, item := range n.Content {
				var r registries.Registry
				if err := mapping(item, "registries", registryKeys(&r)); err != nil {
					return err
				}
				if r.Form == "" {
					return errorf(item, `registries: form is missing; "skills root add --registry URL" finds it out`)
				}
				if err := r.Check(); err != nil {
					return errorf(item, "registries: %w", err)
				}
				if slices.ContainsFunc(*to, func(other registries.Registry) bool { return other.Name == r.Name }) {
					return errorf(item, "registries: another one has the name %s; give one of them another name", r.Name)
				}
				*to = append(*to, r)
			}
			return nil
		},
	}
}

// RegistryClient returns what asks the registries of the settings. Answers are kept in the cache
// folder, if there is one.
func (s *Settings) RegistryClient() *registries.Client {
	o := new(registries.Options)
	if dir, err := CacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "registries")
	}
	return registries.New(s.Registries, o)
}

func registryKeys(r *registries.Registry) keys {
	return keys{
		"url":     text(&r.URL).doc("base of the registry", nil),
		"form":    choice(&r.Form, registries.Forms()).doc("what it speaks", nil),
		"name":    text(&r.Name).doc("what commands call it, instead of its host", nil),
		"key_env": text(&r.KeyEnv).doc("variable with its key", nil),
		"alone":   boolean(&r.Alone).doc("do not ask the registries that it refers to", false),
	}
}

// shownRegistries returns registries as "skills config show" has them; nil for none.
func shownRegistries(list []registries.Registry) any {
	var shown []map[string]any
	for _, r := range list {
		one := map[string]any{"url": r.URL, "form": r.Form, "name": r.Name}
		if r.KeyEnv != "" {
			one["key_env"] = r.KeyEnv
		}
		if r.Alone {
			one["alone"] = true
		}
		shown = append(shown, one)
	}
	if shown == nil {
		return nil
	}
	return shown
}

// AddRegistry adds a registry; done is false if the file has one with its URL already.
func (e *Editor) AddRegistry(r registries.Registry) (done bool, err error) {
	s, err := e.settings()
	if err != nil || slices.ContainsFunc(s.Registries, func(other registries.Registry) bool { return other.URL == r.URL }) {
		return false, err
	}
	item := edit.Object{{Key: "url", Value: r.URL}, {Key: "form", Value: r.Form}, {Key: "name", Value: r.Name}}
	if r.KeyEnv != "" {
		item = append(item, edit.Member{Key: "key_env", Value: r.KeyEnv})
	}
	return true, e.add([]string{"registries"}, item)
}

// RemoveRegistry removes the registry with a name or a URL.
func (e *Editor) RemoveRegistry(name string) error {
	s, err := e.settings()
	if err != nil {
		return err
	}
	var known []string
	for i, r := range s.Registries {
		if known = append(known, r.Name); r.Name == name || r.URL == name {
			return e.removeAt([]string{"registries"}, i, s.Places["registries"].Line)
		}
	}
	return fmt.Errorf("%s has no registry %q%s", e.File, name, words.Suggest(name, known))
}

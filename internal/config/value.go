package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// scalar returns the text of a value. what names the expected value in errors.
func scalar(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return "", errorf(n, "expected %s", what)
	}
	return n.Value, nil
}

// shown returns what show returns for a setting whose zero value means the default.
func shown[T comparable](to *T) func() any {
	return func() any {
		var zero T
		if *to == zero {
			return nil
		}
		return *to
	}
}

func text(to *string) value {
	return value{schema: textSchema, show: shown(to), read: func(n *yaml.Node) (err error) {
		*to, err = scalar(n, "a text")
		return err
	}}
}

// secret is text for a URL that may hold a password, which is not shown.
func secret(to *string) value {
	v := text(to)
	v.show = func() any {
		if *to == "" {
			return nil
		}
		return endpoint.Shown(*to)
	}
	return v
}

func optional(to **string) value {
	return value{schema: textSchema, read: func(n *yaml.Node) error {
		*to = new(string)
		return text(*to).read(n)
	}}
}

// path reads a path. It may start with ~; a relative path starts at the folder of
// the file.
func (p *parser) path(to *string) value {
	return value{schema: pathSchema, show: shown(to), read: func(n *yaml.Node) error {
		s, err := scalar(n, "a path")
		if err != nil {
			return err
		}
		if rest, ok := strings.CutPrefix(s, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
			home, err := os.UserHomeDir()
			if err != nil {
				return errorf(n, "%s: %v", s, err)
			}
			s = filepath.Join(home, rest)
		}
		if s != "" && !filepath.IsAbs(s) {
			s = filepath.Join(p.dir, s)
		}
		*to = s
		return nil
	}}
}

// parsed returns a value that parse reads. what names the expected value in errors.
func parsed[T comparable](to *T, what string, describe func() schema, parse func(string) (v T, ok bool)) value {
	return value{schema: describe, show: shown(to), read: func(n *yaml.Node) error {
		v, ok := parse(n.Value)
		if n.Kind != yaml.ScalarNode || !ok {
			return errorf(n, "expected %s, not %q", what, n.Value)
		}
		*to = v
		return nil
	}}
}

func boolean(to *bool) value {
	v := parsed(to, "true or false", booleanSchema, func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" })
	v.show = func() any { return *to }
	return v
}

func number[T int | int64](to *T) value {
	describe := func() schema { return schema{"type": "integer", "minimum": 0} }
	return parsed(to, "a whole number", describe, func(s string) (T, bool) {
		v, err := strconv.ParseInt(s, 10, 64)
		return T(v), err == nil && v >= 0 && int64(T(v)) == v
	})
}

func duration(to *time.Duration) value {
	describe := func() schema { return schema{"type": "string", "pattern": "^[0-9.]+(ns|us|µs|ms|s|m|h)"} }
	v := parsed(to, "a duration such as 250ms or 2s", describe, func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d > 0
	})
	v.show = func() any {
		if *to == 0 {
			return nil
		}
		return to.String()
	}
	return v
}

// share reads a number from 0 to 1. It turns 0 into zero, because 0 means the default
// elsewhere. what names the expected value in errors.
func share(what string, to *float64, zero float64) value {
	describe := func() schema { return schema{"type": "number", "minimum": 0, "maximum": 1} }
	v := parsed(to, what, describe, func(s string) (float64, bool) {
		v, err := strconv.ParseFloat(s, 64)
		ok := err == nil && v >= 0 && v <= 1
		if v == 0 {
			v = zero
		}
		return v, ok
	})
	v.show = func() any {
		switch *to {
		case 0:
			return nil
		case zero:
			return 0.0
		}
		return *to
	}
	return v
}

// choice reads one of some texts.
func choice(to *string, of []string) value {
	return parsed(to, strings.Join(of, " or "), func() schema { return enumSchema(of) },
		func(s string) (string, bool) { return s, slices.Contains(of, s) })
}

// list reads a list of texts; a single text is a list of one.
func list(to *[]string) value {
	return value{
		schema: listSchema,
		show:   shownList(to),
		read: func(n *yaml.Node) error {
			items, err := items(n)
			if err != nil {
				return err
			}
			for _, item := range items {
				*to = append(*to, item.Value)
			}
			return nil
		},
	}
}

// shownList is shown for a list.
func shownList(to *[]string) func() any {
	return func() any {
		if *to == nil {
			return nil
		}
		return *to
	}
}

// items returns the texts of a list; a single text is a list of one.
func items(n *yaml.Node) ([]*yaml.Node, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return []*yaml.Node{n}, nil
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if _, err := scalar(item, "a text"); err != nil {
				return nil, err
			}
		}
		return n.Content, nil
	}
	return nil, errorf(n, "expected a list of texts")
}

// names reads a mapping of texts to texts.
func names(what string, to *map[string]string) value {
	return value{
		schema: func() schema { return mapOf(textSchema()) },
		show: func() any {
			if *to == nil {
				return nil
			}
			return maps.Clone(*to)
		},
		read: func(n *yaml.Node) error {
			*to = make(map[string]string)
			return pairs(n, what, func(key, value *yaml.Node) (err error) {
				(*to)[key.Value], err = scalar(value, "a text")
				return err
			})
		},
	}
}

package config

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// scalar returns the text of a value. what names the expected value in errors.
func (p *parser) scalar(n *yaml.Node, what string) (string, error) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return "", p.errorf(n, "expected %s", what)
	}
	return n.Value, nil
}

func (p *parser) text(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) (err error) {
		*to, err = p.scalar(n, "a text")
		return err
	}
}

func (p *parser) optional(to **string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		*to = new(string)
		return p.text(*to)(n)
	}
}

// path reads a path. It may start with ~; a relative path starts at the folder of
// the file.
func (p *parser) path(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		s, err := p.scalar(n, "a path")
		if err != nil {
			return err
		}
		if rest, ok := strings.CutPrefix(s, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
			home, err := os.UserHomeDir()
			if err != nil {
				return p.errorf(n, "%s: %v", s, err)
			}
			s = filepath.Join(home, rest)
		}
		if s != "" && !filepath.IsAbs(s) {
			s = filepath.Join(p.dir, s)
		}
		*to = s
		return nil
	}
}

// parsed returns a function that reads a value with parse. what names the expected value
// in errors.
func parsed[T any](p *parser, to *T, what string, parse func(string) (v T, ok bool)) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		v, ok := parse(n.Value)
		if n.Kind != yaml.ScalarNode || !ok {
			return p.errorf(n, "expected %s, not %q", what, n.Value)
		}
		*to = v
		return nil
	}
}

func (p *parser) boolean(to *bool) func(*yaml.Node) error {
	return parsed(p, to, "true or false", func(s string) (bool, bool) { return s == "true", s == "true" || s == "false" })
}

func number[T int | int64](p *parser, to *T) func(*yaml.Node) error {
	return parsed(p, to, "a whole number", func(s string) (T, bool) {
		v, err := strconv.ParseInt(s, 10, 64)
		return T(v), err == nil && v >= 0
	})
}

func (p *parser) duration(to *time.Duration) func(*yaml.Node) error {
	return parsed(p, to, "a duration such as 250ms or 2s", func(s string) (time.Duration, bool) {
		d, err := time.ParseDuration(s)
		return d, err == nil && d > 0
	})
}

// share reads a number from 0 to 1. It turns 0 into zero, because 0 means the default
// elsewhere. what names the expected value in errors.
func (p *parser) share(what string, to *float64, zero float64) func(*yaml.Node) error {
	return parsed(p, to, what, func(s string) (float64, bool) {
		v, err := strconv.ParseFloat(s, 64)
		ok := err == nil && v >= 0 && v <= 1
		if v == 0 {
			v = zero
		}
		return v, ok
	})
}

// choice reads one of some texts.
func (p *parser) choice(to *string, of []string) func(*yaml.Node) error {
	return parsed(p, to, strings.Join(of, " or "), func(s string) (string, bool) { return s, slices.Contains(of, s) })
}

// list reads a list of texts; a single text is a list of one.
func (p *parser) list(to *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode {
			*to = []string{n.Value}
			return nil
		}
		if n.Kind != yaml.SequenceNode {
			return p.errorf(n, "expected a list of texts")
		}
		for _, item := range n.Content {
			s, err := p.scalar(item, "a text")
			if err != nil {
				return err
			}
			*to = append(*to, s)
		}
		return nil
	}
}

// names reads a mapping of texts to texts.
func (p *parser) names(what string, to *map[string]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		*to = make(map[string]string)
		return p.pairs(n, what, func(key, value *yaml.Node) (err error) {
			(*to)[key.Value], err = p.scalar(value, "a text")
			return err
		})
	}
}

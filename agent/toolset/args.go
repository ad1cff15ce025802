package toolset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/agent/tool"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// maxExact is the largest integer up to which the numbers of JSON are exact in all programs.
const maxExact = 1<<53 - 1

// maxArg bounds one argument, in bytes: systems allow no more.
const maxArg = 128<<10 - 1

// Args returns the arguments of the script for the arguments of a call, each as it is. It
// checks them against Parameters.
func (s *Script) Args(call []tool.Field) ([]string, error) {
	values := make(map[string]any)
	for _, f := range call {
		p := s.param(f.Key)
		if p == nil {
			return nil, fmt.Errorf("there is no argument %s%s", tool.Quoted(f.Key), words.Suggest(f.Key, s.names()))
		}
		v, given, err := p.read(f.Value)
		if err != nil {
			return nil, fmt.Errorf("argument %s %w", p.name, err)
		}
		if given {
			values[p.name] = v
		}
	}
	for i := range s.params {
		if p := &s.params[i]; p.required && values[p.name] == nil {
			return nil, fmt.Errorf("argument %s is missing", p.name)
		}
	}
	if err := s.schema.Validate(values); err != nil {
		return nil, fmt.Errorf("the arguments do not fit the schema: %s", tidy.Shorten(tidy.Line(strings.TrimPrefix(err.Error(), "validating root: ")), 300))
	}
	return s.argv(values)
}

func (s *Script) names() []string {
	var names []string
	for i := range s.params {
		if s.params[i].name != "" {
			names = append(names, s.params[i].name)
		}
	}
	return names
}

// param finds a parameter; case, "_" and "-" make no difference.
func (s *Script) param(key string) *param {
	for _, equal := range []func(name string) bool{
		func(name string) bool { return name == key },
		func(name string) bool { return name != "" && tool.SameName(name, key) },
	} {
		if i := slices.IndexFunc(s.params, func(p param) bool { return p.flag != "--" && equal(p.name) }); i >= 0 {
			return &s.params[i]
		}
	}
	return nil
}

// read reads a value. Models write numbers as texts and texts as numbers; what is meant is
// certain, because the parameter says what it is. null means that it is left out.
func (p *param) read(raw json.RawMessage) (value any, given bool, err error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, false, errors.New("is malformed JSON")
	}
	if v == nil {
		return nil, false, nil
	}
	if !p.list {
		v, err = p.one(v, raw)
		return v, true, err
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil, false, errors.New("is not a list")
	}
	list := make([]any, len(items))
	for i, item := range items {
		var v any
		if err := json.Unmarshal(item, &v); err != nil {
			return nil, false, errors.New("is malformed JSON")
		}
		if list[i], err = p.one(v, item); err != nil {
			return nil, false, err
		}
	}
	return list, true, nil
}

// one reads one value.
func (p *param) one(v any, raw json.RawMessage) (any, error) {
	text, isText := v.(string)
	switch p.kind {
	case "string":
		if _, isNumber := v.(float64); isNumber {
			return strings.TrimSpace(string(raw)), nil
		}
		if !isText {
			return nil, errors.New("is not a text")
		}
	case "boolean":
		if isText {
			b, err := strconv.ParseBool(strings.ToLower(text))
			if err != nil {
				return nil, errors.New("is neither true nor false")
			}
			return b, nil
		}
		if _, ok := v.(bool); !ok {
			return nil, errors.New("is neither true nor false")
		}
	default:
		if isText {
			if json.Unmarshal([]byte(text), &v) != nil {
				return nil, errors.New("is not a number")
			}
		}
		n, ok := v.(float64)
		switch {
		case !ok || p.kind == "integer" && n != math.Trunc(n):
			return nil, fmt.Errorf("is not of the type %s", p.kind)
		case p.kind == "integer" && math.Abs(n) > maxExact:
			return nil, errors.New("is too large to be exact")
		}
		return n, nil
	}
	return v, nil
}

// argv writes the arguments in the order of the parameters.
func (s *Script) argv(values map[string]any) ([]string, error) {
	argv := []string{}
	ended := false // after "--" nothing is an option
	for i := range s.params {
		p := &s.params[i]
		if p.flag == "--" {
			argv, ended = append(argv, "--"), true
			continue
		}
		list, ok := values[p.name].([]any)
		if v, given := values[p.name]; given && !ok {
			list = []any{v}
		}
		for _, v := range list {
			args, err := p.args(v, ended)
			if err != nil {
				return nil, fmt.Errorf("argument %s %w", p.name, err)
			}
			argv = append(argv, args...)
		}
	}
	return argv, nil
}

// args writes one value.
func (p *param) args(v any, ended bool) ([]string, error) {
	if on, ok := v.(bool); ok {
		if on {
			return []string{p.flag}, nil
		}
		return nil, nil
	}
	text, ok := v.(string)
	if n, isNumber := v.(float64); isNumber {
		text, ok = strconv.FormatFloat(n, 'f', -1, 64), true
	}
	switch {
	case !ok:
		return nil, errors.New("is no text or number")
	case strings.ContainsRune(text, 0):
		return nil, errors.New("holds a NUL character")
	case len(text) > maxArg:
		return nil, fmt.Errorf("has more than %d bytes; pass it in a file", maxArg)
	case p.equals, strings.HasPrefix(text, "-") && strings.HasPrefix(p.flag, "--"):
		return []string{p.flag + "=" + text}, nil
	case strings.HasPrefix(text, "-") && text != "-" && !ended:
		return nil, errors.New("starts with -, so the script would take it for an option; write a path as ./-name")
	case p.flag == "":
		return []string{text}, nil
	}
	return []string{p.flag, text}, nil
}

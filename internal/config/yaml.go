package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rerank/remote"
	"github.com/repertoire-skills/repertoire/search"
)

// decode returns the top node of a file with one YAML document; nil means that the file
// has none.
func decode(name string, data []byte) (top *yaml.Node, err error) {
	// The library panics on some malformed comments and anchors.
	defer func() {
		if r := recover(); r != nil {
			top, err = nil, &Error{File: name, Err: fmt.Errorf("malformed YAML: %v", r)}
		}
	}()
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err = decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		err = decoder.Decode(&more)
	}
	switch {
	case err == nil:
		return nil, &Error{name, more.Line, errors.New("a second document; a configuration is one")}
	case !errors.Is(err, io.EOF):
		return nil, yamlError(name, err)
	case len(doc.Content) == 0 || isNull(doc.Content[0]):
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlMessage = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

// yamlError rewrites a syntax error so that it begins with file and line, like other
// errors.
func yamlError(name string, err error) error {
	message, line := err.Error(), 0
	if found := yamlMessage().FindStringSubmatch(message); found != nil {
		message = message[len(found[0]):]
		line, _ = strconv.Atoi(found[1]) // 0 without a line
	}
	return &Error{name, line, errors.New(message)}
}

// parser reads one file; its errors name the line and the key.
type parser struct {
	file     string
	dir      string // folder that relative paths start at
	user     bool   // the file is the user's own, not a project's
	fence    *fence // of the project; nil for the file of a user
	settings *Settings
}

func (p *parser) errorf(n *yaml.Node, format string, args ...any) error {
	return &Error{p.file, n.Line, fmt.Errorf(format, args...)}
}

// isNull reports whether a value is missing, for example because everything below
// its key is commented out.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// pairs calls read for each key of a mapping. A key that occurs twice is an error.
func (p *parser) pairs(n *yaml.Node, what string, read func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "%s must be a mapping of keys to values", what)
	}
	seen := make(map[string]bool)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "":
			return p.errorf(key, "%s: a key must be a text", what)
		case seen[key.Value]:
			return p.errorf(key, "%s: key %q stands here twice", what, key.Value)
		}
		seen[key.Value] = true
		if err := read(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// keys maps each key of a mapping to the function that reads its value.
type keys map[string]func(*yaml.Node) error

// mapping reads a mapping. A key that is not in known is an error that lists the
// known keys.
func (p *parser) mapping(n *yaml.Node, what string, known keys) error {
	return p.pairs(n, what, func(key, value *yaml.Node) error {
		read, ok := known[key.Value]
		switch {
		case !ok:
			return p.errorf(key, "%s: no key %q%s", what, key.Value, words.Suggest(key.Value, slices.Sorted(maps.Keys(known))))
		case isNull(value):
			// Do not treat this as a missing key: an agent with an empty include
			// would see everything.
			return p.errorf(key, "%s: key %q has no value", what, key.Value)
		}
		return read(value)
	})
}

func (p *parser) top(n *yaml.Node) error {
	s := p.settings
	known := keys{"roots": p.roots, "agents": p.agents}
	personal := keys{
		"project":   p.boolean(&s.Project),
		"user":      p.boolean(&s.User),
		"bundled":   p.boolean(&s.Bundled),
		"db":        p.path(&s.DB),
		"schedule":  p.text(&s.Schedule),
		"max_file":  number(p, &s.MaxFile),
		"embedder":  p.embedder,
		"deadline":  p.duration(&s.Deadline),
		"disturb":   p.share("a share from 0 to 1", &s.Disturb, search.OnlyNamed),
		"threshold": p.share("a probability from 0 to 1", &s.Threshold, search.Always),
		"form":      p.choice(&s.Form, Forms()),
		"reranker":  p.reranker,
	}
	for key, read := range personal {
		if p.user {
			known[key] = read
			continue
		}
		known[key] = func(n *yaml.Node) error {
			return p.errorf(n, "%s: a project's configuration cannot set this; move it to your own", key)
		}
	}
	if err := p.mapping(n, "configuration", known); err != nil {
		return err
	}
	return p.oneLevel(n)
}

// oneLevel returns an error if a mapping has both disturb and threshold.
func (p *parser) oneLevel(n *yaml.Node) error {
	var first *yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Value != "disturb" && key.Value != "threshold" {
			continue
		}
		if first != nil {
			return p.errorf(key, "%s: line %d sets %s, which decides the same; keep one of the two", key.Value, first.Line, first.Value)
		}
		first = key
	}
	return nil
}

func (p *parser) embedder(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Value != EmbedderStatic && n.Value != EmbedderNone {
			return p.errorf(n, "no embedder %q; there are: static, none, openai (a mapping with base_url and model)", n.Value)
		}
		p.settings.Embedder = Embedder{Name: n.Value}
		return nil
	}
	return p.mapping(n, "embedder", keys{"openai": p.openai})
}

func (p *parser) openai(n *yaml.Node) error {
	e := new(openai.Config)
	err := p.mapping(n, "embedder openai", keys{
		"base_url": p.text(&e.BaseURL), "model": p.text(&e.Model), "key_env": p.text(&e.KeyEnv),
		"azure": p.boolean(&e.Azure), "allow_insecure": p.boolean(&e.AllowInsecure), "headers": p.names("headers", &e.Headers),
		"dimensions": number(p, &e.Dimensions), "encoding": p.text(&e.Encoding),
		"query_prefix": p.optional(&e.QueryPrefix), "document_prefix": p.optional(&e.DocumentPrefix),
		"max_batch": number(p, &e.MaxBatch), "max_chars": number(p, &e.MaxChars), "timeout": p.duration(&e.Timeout),
	})
	if err == nil && (e.BaseURL == "" || e.Model == "") {
		err = p.errorf(n, "embedder openai: base_url and model are needed")
	}
	if err == nil {
		check := *e
		check.KeyEnv, check.AllowInsecure = "-", true // the environment is no part of the file
		if _, bad := openai.New(check, nil); bad != nil {
			err = p.errorf(n, "embedder openai: %w", bad)
		}
	}
	p.settings.Embedder = Embedder{Name: EmbedderOpenAI, OpenAI: e}
	return err
}

// reranker reads a mapping with one key, a protocol, whose value is the settings
// of a server.
func (p *parser) reranker(n *yaml.Node) error {
	known := make(keys)
	var names []string
	for _, api := range remote.APIs() {
		names = append(names, string(api))
		known[string(api)] = func(n *yaml.Node) error { return p.rerankServer(n, api) }
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "none":
		p.settings.Reranker = nil
		return nil
	case n.Kind != yaml.MappingNode:
		return p.errorf(n, "no reranker %q; there are: none, %s (a mapping with base_url and model)", n.Value, strings.Join(names, ", "))
	case len(n.Content) != 2:
		return p.errorf(n, "reranker: one protocol is needed, of: %s", strings.Join(names, ", "))
	}
	return p.mapping(n, "reranker", known)
}

func (p *parser) rerankServer(n *yaml.Node, api remote.API) error {
	s := &Reranker{Config: remote.Config{API: api}}
	what := "reranker " + string(api)
	err := p.mapping(n, what, keys{
		"base_url": p.text(&s.BaseURL), "model": p.text(&s.Model), "key_env": p.text(&s.KeyEnv),
		"max_chars": number(p, &s.MaxChars), "deadline": p.duration(&s.Deadline), "candidates": number(p, &s.Candidates),
	})
	switch {
	case err != nil:
		return err
	case s.BaseURL == "":
		return p.errorf(n, "%s: base_url is needed", what)
	case s.Model == "" && api != remote.TEI:
		return p.errorf(n, "%s: model is needed", what)
	}
	check := s.Config
	check.KeyEnv = "" // the environment is no part of the file
	if _, err := remote.New(check, nil); err != nil {
		return p.errorf(n, "%w", err)
	}
	p.settings.Reranker = s
	return nil
}

package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/rerank/remote"
)

// embedder reads the name of an embedder, or a mapping with the settings of a server.
func (p *parser) embedder() value {
	e := &p.settings.Embedder
	inside := func() keys { return keys{"openai": p.openai()} }
	return value{
		schema: func() schema {
			return anyOf(enumSchema([]string{EmbedderStatic, EmbedderNone}), objectSchema(inside()).required("openai"))
		},
		show: func() any { return e.Name },
		read: func(n *yaml.Node) error {
			if n.Kind != yaml.ScalarNode {
				return p.mapping(n, "embedder", inside())
			}
			if n.Value != EmbedderStatic && n.Value != EmbedderNone {
				return p.errorf(n, "no embedder %q; there are: static, none, openai (a mapping with base_url and model)", n.Value)
			}
			*e = Embedder{Name: n.Value}
			return nil
		},
	}
}

// openai reads the settings of an embeddings server.
func (p *parser) openai() value {
	return value{
		schema: func() schema { return objectSchema(p.openaiKeys(new(openai.Config))).required("base_url", "model") },
		read: func(n *yaml.Node) error {
			e := new(openai.Config)
			err := p.mapping(n, "embedder openai", p.openaiKeys(e))
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
		},
	}
}

func (p *parser) openaiKeys(e *openai.Config) keys {
	return keys{
		"base_url": p.text(&e.BaseURL), "model": p.text(&e.Model), "key_env": p.text(&e.KeyEnv),
		"azure": p.boolean(&e.Azure), "allow_insecure": p.boolean(&e.AllowInsecure), "headers": p.names("headers", &e.Headers),
		"dimensions": number(p, &e.Dimensions), "encoding": p.text(&e.Encoding),
		"query_prefix": p.optional(&e.QueryPrefix), "document_prefix": p.optional(&e.DocumentPrefix),
		"max_batch": number(p, &e.MaxBatch), "max_chars": number(p, &e.MaxChars), "timeout": p.duration(&e.Timeout),
	}
}

// reranker reads "none", or a mapping with one key, a protocol, whose value is the settings
// of a server.
func (p *parser) reranker() value {
	inside := func() keys {
		known := make(keys)
		for _, api := range remote.APIs() {
			known[string(api)] = p.rerankServer(api)
		}
		return known
	}
	return value{
		schema: func() schema {
			servers := objectSchema(inside())
			servers["minProperties"], servers["maxProperties"] = 1, 1
			return anyOf(enumSchema([]string{"none"}), servers)
		},
		show: func() any {
			if p.settings.Reranker == nil {
				return nil
			}
			return string(p.settings.Reranker.API)
		},
		read: func(n *yaml.Node) error { return p.readReranker(n, inside()) },
	}
}

func (p *parser) readReranker(n *yaml.Node, known keys) error {
	var names []string
	for _, api := range remote.APIs() {
		names = append(names, string(api))
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

// rerankServer reads the settings of a reranker that speaks a protocol.
func (p *parser) rerankServer(api remote.API) value {
	return value{
		schema: func() schema { return objectSchema(p.rerankKeys(new(Reranker))).required("base_url") },
		read: func(n *yaml.Node) error {
			s := &Reranker{Config: remote.Config{API: api}}
			what := "reranker " + string(api)
			err := p.mapping(n, what, p.rerankKeys(s))
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
		},
	}
}

func (p *parser) rerankKeys(s *Reranker) keys {
	return keys{
		"base_url": p.text(&s.BaseURL), "model": p.text(&s.Model), "key_env": p.text(&s.KeyEnv),
		"max_chars": number(p, &s.MaxChars), "deadline": p.duration(&s.Deadline), "candidates": number(p, &s.Candidates),
	}
}

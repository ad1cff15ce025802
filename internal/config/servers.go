package config

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/rerank/remote"
)

// embedder reads the name of an embedder, or a mapping with the settings of a server.
func embedder(to *Embedder) value {
	inside := func() keys { return keys{"openai": openaiServer(to)} }
	return value{
		schema: func() schema {
			return anyOf(enumSchema([]string{EmbedderStatic, EmbedderNone}), objectSchema(inside()).required("openai"))
		},
		show: func() any { return to.Name },
		read: func(n *yaml.Node) error {
			if n.Kind != yaml.ScalarNode {
				return mapping(n, "embedder", inside())
			}
			if n.Value != EmbedderStatic && n.Value != EmbedderNone {
				return errorf(n, "no embedder %q; there are: static, none, openai (a mapping with base_url and model)", n.Value)
			}
			*to = Embedder{Name: n.Value}
			return nil
		},
	}
}

// openaiServer reads the settings of an embeddings server.
func openaiServer(to *Embedder) value {
	return value{
		schema: func() schema { return objectSchema(openaiKeys(new(openai.Config))).required("base_url", "model") },
		read: func(n *yaml.Node) error {
			e := new(openai.Config)
			err := mapping(n, "embedder openai", openaiKeys(e))
			if err == nil && (e.BaseURL == "" || e.Model == "") {
				err = errorf(n, "embedder openai: base_url and model are needed")
			}
			if err == nil {
				check := *e
				check.KeyEnv, check.AllowInsecure = "-", true // the environment is no part of the file
				if _, bad := openai.New(check, nil); bad != nil {
					err = errorf(n, "embedder openai: %w", bad)
				}
			}
			*to = Embedder{Name: EmbedderOpenAI, OpenAI: e}
			return err
		},
	}
}

func openaiKeys(e *openai.Config) keys {
	return keys{
		"base_url": text(&e.BaseURL), "model": text(&e.Model), "key_env": text(&e.KeyEnv),
		"azure": boolean(&e.Azure), "allow_insecure": boolean(&e.AllowInsecure), "headers": names("headers", &e.Headers),
		"dimensions": number(&e.Dimensions), "encoding": text(&e.Encoding),
		"query_prefix": optional(&e.QueryPrefix), "document_prefix": optional(&e.DocumentPrefix),
		"max_batch": number(&e.MaxBatch), "max_chars": number(&e.MaxChars), "timeout": duration(&e.Timeout),
	}
}

// reranker reads "none", or a mapping with one key, a protocol, whose value is the settings
// of a server.
func reranker(to **Reranker) value {
	inside := func() keys {
		known := make(keys)
		for _, api := range remote.APIs() {
			known[string(api)] = rerankServer(api, to)
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
			if *to == nil {
				return nil
			}
			return string((*to).API)
		},
		read: func(n *yaml.Node) error { return readReranker(n, to, inside()) },
	}
}

func readReranker(n *yaml.Node, to **Reranker, known keys) error {
	var names []string
	for _, api := range remote.APIs() {
		names = append(names, string(api))
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "none":
		*to = nil
		return nil
	case n.Kind != yaml.MappingNode:
		return errorf(n, "no reranker %q; there are: none, %s (a mapping with base_url and model)", n.Value, strings.Join(names, ", "))
	case len(n.Content) != 2:
		return errorf(n, "reranker: one protocol is needed, of: %s", strings.Join(names, ", "))
	}
	return mapping(n, "reranker", known)
}

// rerankServer reads the settings of a reranker that speaks a protocol.
func rerankServer(api remote.API, to **Reranker) value {
	return value{
		schema: func() schema { return objectSchema(rerankKeys(new(Reranker))).required("base_url") },
		read: func(n *yaml.Node) error {
			s := &Reranker{Config: remote.Config{API: api}}
			what := "reranker " + string(api)
			err := mapping(n, what, rerankKeys(s))
			switch {
			case err != nil:
				return err
			case s.BaseURL == "":
				return errorf(n, "%s: base_url is needed", what)
			case s.Model == "" && api != remote.TEI:
				return errorf(n, "%s: model is needed", what)
			}
			check := s.Config
			check.KeyEnv = "" // the environment is no part of the file
			if _, err := remote.New(check, nil); err != nil {
				return errorf(n, "%w", err)
			}
			*to = s
			return nil
		},
	}
}

func rerankKeys(s *Reranker) keys {
	return keys{
		"base_url": text(&s.BaseURL), "model": text(&s.Model), "key_env": text(&s.KeyEnv),
		"max_chars": number(&s.MaxChars), "deadline": duration(&s.Deadline), "candidates": number(&s.Candidates),
	}
}

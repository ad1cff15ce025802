package detect

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// How well a name fits: models made to retrieve texts come first. Which of these is best
// depends on the catalog: "skills bench" shows it.
const (
	known = iota
	named // the name says that the model embeds
	other
)

// preference returns how well a name fits.
func preference(name string) int {
	name = strings.ToLower(name)
	has := func(part string) bool { return strings.Contains(name, part) }
	switch {
	case has("rerank"):
		return other
	case slices.ContainsFunc([]string{
		"nomic-embed", "bge-", "e5-", "gte-", "mxbai-embed", "arctic-embed", "qwen3-embedding", "embeddinggemma", "embedding-gemma",
	}, has):
		return known
	case slices.ContainsFunc([]string{"embed", "minilm", "mpnet"}, has):
		return named
	}
	return other
}

// A Choice is a model that can be configured.
type Choice struct {
	Kind    string // of its server
	Address string // base URL
	Model
}

// Choices returns the models of servers. The model in use comes first, then the models whose
// names are known.
func Choices(servers []Server) []Choice {
	var list []Choice
	for _, s := range servers {
		for _, m := range s.Models {
			list = append(list, Choice{s.Kind, s.Address, m})
		}
	}
	order := func(c Choice) int {
		if c.InUse {
			return -1
		}
		return preference(c.Name)
	}
	slices.SortStableFunc(list, func(a, b Choice) int { return cmp.Compare(order(a), order(b)) })
	return list
}

// Choose returns the model with this name (Ollama's ":latest" may be left out), or without
// a name the first of Choices.
func Choose(servers []Server, name string) (Choice, error) {
	var names []string
	list := Choices(servers)
	for _, c := range list {
		if name == "" || c.Name == name || c.Name == name+":latest" {
			return c, nil
		}
		names = append(names, c.Name)
	}
	if len(list) == 0 {
		return Choice{}, errors.New("no server with a model that embeds answers on this machine; start one (for example with \"ollama pull nomic-embed-text\"), or name its port with --port")
	}
	return Choice{}, fmt.Errorf("no server on this machine has a model %q that embeds%s", name, words.Suggest(name, names))
}

// Mark sets which of the models a configuration names; a nil one names none.
func Mark(servers []Server, cfg *openai.Config) {
	if cfg == nil {
		return
	}
	theirs, err := url.Parse(cfg.BaseURL)
	if err != nil || theirs.Scheme != "http" || endpoint.Exposed(theirs) {
		return // not on this machine
	}
	for _, s := range servers {
		ours, err := url.Parse(s.Address)
		for i, m := range s.Models {
			s.Models[i].InUse = err == nil && ours.Port() == theirs.Port() && (m.Name == cfg.Model || m.Name == cfg.Model+":latest")
		}
	}
}

// Embedder returns the embedder that Config describes. It connects to this machine only.
func (c Choice) Embedder() (*openai.Embedder, error) {
	client := localClient()
	return openai.New(c.Config(), &openai.Options{HTTPClient: &client})
}

// Config returns the configuration of the model. It sends no key: OPENAI_API_KEY, if it is
// set, is meant for another server.
func (c Choice) Config() openai.Config {
	cfg := openai.Config{BaseURL: c.Address, Model: c.Name, KeyEnv: "-"}
	query, document := openai.Prefixes(c.Name)
	if query != "" {
		cfg.QueryPrefix = &query
	}
	if document != "" {
		cfg.DocumentPrefix = &document
	}
	return cfg
}

package remote

import (
	"encoding/json"
	"fmt"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// An API is a protocol of reranking servers. The protocols differ in their requests;
// answers are accepted in any of their forms.
type API string

// The protocols. Most servers speak Jina's.
const (
	Jina   API = "jina"
	Cohere API = "cohere"
	Voyage API = "voyage"
	TEI    API = "tei"
)

// APIs returns all protocols.
func APIs() []API { return []API{Jina, Cohere, Voyage, TEI} }

func (a API) check() error {
	var names []string
	for _, api := range APIs() {
		if api == a {
			return nil
		}
		names = append(names, string(api))
	}
	return fmt.Errorf("no protocol %q%s", a, words.Suggest(string(a), names))
}

// request returns the body of a request. It asks for the scores of all documents but not
// for their texts, which some servers would send back.
func (a API) request(model, query string, documents []string) ([]byte, error) {
	body := map[string]any{"query": query}
	if model != "" {
		body["model"] = model
	}
	switch a {
	case TEI:
		body["texts"], body["truncate"] = documents, true
	case Voyage:
		body["documents"], body["top_k"] = documents, len(documents)
	case Jina:
		body["documents"], body["top_n"], body["return_documents"] = documents, len(documents), false
	default:
		body["documents"], body["top_n"] = documents, len(documents)
	}
	return json.Marshal(body)
}

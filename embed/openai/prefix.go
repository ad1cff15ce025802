package openai

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
)

// minChars is the length below which a text is not shortened further, because so short a
// part would not represent the text.
const minChars = 128

// prefixes returns the prefixes of queries and documents.
func prefixes(cfg *Config) (query, doc string) {
	query, doc = modelPrefixes(cfg.Model)
	return *cmp.Or(cfg.QueryPrefix, &query), *cmp.Or(cfg.DocumentPrefix, &doc)
}

// modelPrefixes returns the prefixes of queries and documents that the model's card asks for,
// because servers do not add them. It uses the first row whose words all occur in the
// model's name; it knows no prefixes for other models.
func modelPrefixes(model string) (query, doc string) {
	const (
		instruct = "Instruct: Given a request, retrieve the instructions that help with it\nQuery:"
		passages = "Represent this sentence for searching relevant passages: "
	)
	rows := []struct{ words, query, doc string }{
		{"e5 mistral", instruct + " ", ""},
		{"e5 instruct", instruct + " ", ""},
		{"e5-", "query: ", "passage: "},
		{"qwen3 embedding", instruct, ""},
		{"nomic-embed-text", "search_query: ", "search_document: "},
		{"bge -en", passages, ""},
		{"arctic-embed2", "query: ", ""}, // Ollama's name of v2
		{"arctic-embed -v2", "query: ", ""},
		{"arctic-embed", passages, ""},
		{"mxbai-embed-large", passages, ""},
		{"embeddinggemma", "task: search result | query: ", "title: none | text: "},
		{"embedding-gemma", "task: search result | query: ", "title: none | text: "},
		{"voyage-", "Represent the query for retrieving supporting documents: ", "Represent the document for retrieval: "},
	}
	model = strings.ToLower(model)
	for _, row := range rows {
		lacks := func(word string) bool { return !strings.Contains(model, word) }
		if !slices.ContainsFunc(strings.Fields(row.words), lacks) {
			return row.query, row.doc
		}
	}
	return "", ""
}

// inputs returns the texts to send: a prefix and at most chars characters of each text.
func (e *Embedder) inputs(kind embed.Kind, texts []string, chars int) []string {
	prefix := e.doc
	if kind == embed.Query {
		prefix = e.query
	}
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = prefix + endpoint.Clip(text, chars)
	}
	return out
}

// shorter halves the number of characters of text to send. It returns false if too few
// would be left.
func shorter(text string, chars *int) bool {
	*chars = min(*chars, utf8.RuneCountInString(text)) / 2
	return *chars >= minChars
}

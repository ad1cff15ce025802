// Package query owns the query language: FTS5's, for every store. It parses a query into the
// terms of the index, and either prints it for FTS5 or matches it against the snapshots, which
// read a text only where they do not decide.
package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// maxQuoted is how many characters of a query an error quotes.
const maxQuoted = 40

// A SyntaxError says what is wrong with a query. Its text is
// "query:COLUMN: what is wrong; what to do".
type SyntaxError struct {
	Column  int    // from 1, in characters as a reader counts them
	Offset  int    // in bytes, from 0
	Message string // what is wrong, and what to do
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("query:%d: %s", e.Column, e.Message) }

// syntaxError returns the error at an offset of a query.
func syntaxError(query string, at int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Column: 1 + uniseg.GraphemeClusterCount(query[:at]), Offset: at, Message: fmt.Sprintf(format, args...)}
}

// A Query is a parsed query, in the terms of the index.
type Query struct {
	Sought []Sought // what the query asks for and does not exclude
	root   expr
}

// Sought is one thing that a query asks for: a term, or words that begin with a prefix.
type Sought struct {
	Term    string
	Prefix  string   // not stemmed; "" means that a term is sought
	Columns []string // in which of name, description, tags and body
	stems   []string // stems of words that begin with Prefix, if the stems do not
}

// matches reports whether a term of the index is what the query asks for.
func (s *Sought) matches(term string) bool {
	return term == s.Term || s.Prefix != "" && (strings.HasPrefix(term, s.Prefix) || slices.Contains(s.stems, term))
}

// Parse parses a query and translates it into the terms of the index. Its errors are of type
// *SyntaxError.
func Parse(query string) (*Query, error) {
	t := &translator{analyzer: new(words.Analyzer)}
	root, err := parseSyntax(query, t)
	if err != nil {
		return nil, err
	}
	if root == nil {
		return nil, nothingLeft(query, t.unindexed)
	}
	return &Query{Sought: t.sought, root: root}, nil
}

// nothingLeft is the error for a query whose words are all too common to be indexed.
func nothingLeft(query string, unindexed []part) error {
	p := unindexed[0] // there is one: every word of the query is among them
	text := strings.TrimSpace(p.text)
	if !strings.ContainsFunc(text, words.IsLetter) {
		return syntaxError(query, p.at, "there is no word between the quotes; write one")
	}
	return syntaxError(query, p.at, "nothing is left to search for: %q is too common to be in the index; add a word that says more", tidy.Shorten(text, maxQuoted))
}

// FTS returns the query in the language of FTS5.
func (q *Query) FTS() string { return q.root.fts() }

// Matched returns the terms of list that the query asks for in a column.
func (q *Query) Matched(column string, list []string) []string {
	var out []string
	for _, s := range q.Sought {
		if !slices.Contains(s.Columns, column) {
			continue
		}
		for _, t := range list {
			if s.matches(t) && !slices.Contains(out, t) {
				out = append(out, t)
			}
		}
	}
	return out
}

// columnNames returns the columns of the full-text index.
func columnNames() []string { return []string{"name", "description", "tags", "body"} }

package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/snapshot"
)

// An expr is a query in the terms of the index. Each is one part of one query. columns are
// the columns in which to search.
type expr interface {
	fts() string                                            // in the language of FTS5
	bounds(m *Matcher, columns []string) *bounds            // which skills may match
	score(m *Matcher, columns []string, in snapshot.Skills) // notes what counts in these skills
	holds(t *skillText, columns []string) bool              // whether a text matches
}

type (
	joinedExpr struct {
		operator operator
		of       []expr
	}
	exceptExpr struct{ keep, drop expr }
	columnExpr struct {
		columns []string
		of      expr
	}
	// nearExpr has one sequence without NEAR, or any number with NEAR.
	nearExpr struct {
		of       []sequence
		distance int // in terms
	}
)

// An operator joins parts of a query.
type operator string

const (
	and operator = " AND "
	or  operator = " OR "
)

// A sequence is a phrase: terms that follow each other.
type sequence struct {
	initial bool // only at the start of a column
	terms   []indexTerm
}

// An indexTerm is a term of the index, or the start of terms. It holds letters, digits and
// marks only.
type indexTerm struct {
	text   string
	prefix bool
}

// joined joins expressions with an operator, without those that are nil; nil means that there
// are no others.
func joined(o operator, of []expr) expr {
	of = slices.DeleteFunc(slices.Clone(of), func(e expr) bool { return e == nil })
	switch len(of) {
	case 0:
		return nil
	case 1:
		return of[0]
	}
	return &joinedExpr{o, of}
}

func (e *joinedExpr) fts() string {
	list := make([]string, len(e.of))
	for i, x := range e.of {
		list[i] = x.fts()
	}
	return "(" + strings.Join(list, string(e.operator)) + ")"
}

func (e *exceptExpr) fts() string { return "(" + e.keep.fts() + " NOT " + e.drop.fts() + ")" }

func (e *columnExpr) fts() string {
	of := e.of.fts()
	if !strings.HasPrefix(of, "(") { // an expression that begins with "(" is enclosed as a whole
		of = "(" + of + ")"
	}
	return "{" + strings.Join(e.columns, " ") + "} : " + of
}

func (e *nearExpr) fts() string {
	list := make([]string, len(e.of))
	for i, s := range e.of {
		list[i] = s.fts()
	}
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("NEAR(%s, %d)", strings.Join(list, " "), e.distance)
}

func (s sequence) fts() string {
	list := make([]string, len(s.terms))
	for i, t := range s.terms {
		list[i] = t.fts()
	}
	text := strings.Join(list, " + ")
	if s.initial {
		return "^ " + text
	}
	return text
}

func (t indexTerm) fts() string {
	if t.prefix {
		return `"` + t.text + `" *`
	}
	return `"` + t.text + `"`
}

package query

import (
	"fmt"
	"strings"
)

// FTS returns a query in the language of FTS5.
func FTS(q *Query) string { return fts(q.root) }

func fts(e expr) string {
	list := func(of []expr) (list []string) {
		for _, x := range of {
			list = append(list, fts(x))
		}
		return list
	}
	switch e := e.(type) {
	case *joinedExpr:
		return "(" + strings.Join(list(e.of), string(e.operator)) + ")"
	case *exceptExpr:
		return "(" + fts(e.keep) + " NOT " + fts(e.drop) + ")"
	case *columnExpr:
		of := fts(e.of)
		if !strings.HasPrefix(of, "(") { // an expression that begins with "(" is enclosed as a whole
			of = "(" + of + ")"
		}
		return "{" + strings.Join(e.columns, " ") + "} : " + of
	case *nearExpr:
		return near(e)
	}
	return fmt.Sprint(e)
}

func near(e *nearExpr) string {
	list := make([]string, len(e.of))
	for i, s := range e.of {
		var terms []string
		for _, t := range s.terms {
			text := `"` + t.text + `"`
			if t.prefix {
				text += " *"
			}
			terms = append(terms, text)
		}
		if list[i] = strings.Join(terms, " + "); s.initial {
			list[i] = "^ " + list[i]
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("NEAR(%s, %d)", strings.Join(list, " "), e.distance)
}

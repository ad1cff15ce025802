package repertoire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
)

// aliases are the types of types.go.
var aliases = []any{
	repertoire.Agent{}, repertoire.Policy{}, repertoire.ListOptions{}, repertoire.Rules{}, repertoire.Rule{}, repertoire.Place{},
	repertoire.Query{}, repertoire.Answer{}, repertoire.Background{}, repertoire.Hit{}, repertoire.Entry{},
	repertoire.Script{}, repertoire.ScriptRule{}, repertoire.Explanation{}, repertoire.Snippet{}, repertoire.SyntaxError{}, repertoire.Budget{}, repertoire.Block{},
	repertoire.Body{}, repertoire.File{}, repertoire.Report{},
}

// item matches the fields that an item of a list is about.
var item = regexp.MustCompile(`(?m)^ +- ([A-Z]\w*(?:, [A-Z]\w*)*):`)

// TestFieldsAreExplained: "go doc" shows only the comment of an alias, so that
// comment explains each field of the type: by itself, or by the name of an alias
// whose fields the type has too.
func TestFieldsAreExplained(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, parser.ParseComments)
	try(t, err)
	docs := make(map[string]string)
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			docs[g.Specs[0].(*ast.TypeSpec).Name.Name] = g.Doc.Text()
		}
	}
	explained := make(map[string][]string) // fields, by alias
	for name, doc := range docs {
		for _, m := range item.FindAllStringSubmatch(doc, -1) {
			explained[name] = append(explained[name], strings.Split(m[1], ", ")...)
		}
	}
	var seen []string
	for _, v := range aliases {
		typ := reflect.TypeOf(v)
		name := typ.Name()
		seen = append(seen, name)
		known := slices.Clone(explained[name])
		first, _, _ := strings.Cut(docs[name], "\n\n") // refers to other types
		for other := range docs {
			if strings.Contains(first, "["+other+"]") {
				known = append(known, explained[other]...)
			}
		}
		if strings.Contains(first, "[Hit]") { // a Hit is an Entry, too
			known = append(known, explained["Entry"]...)
		}
		for _, field := range reflect.VisibleFields(typ) {
			if field.IsExported() && !field.Anonymous && !slices.Contains(known, field.Name) {
				t.Errorf("the comment of %s does not explain %s", name, field.Name)
			}
		}
		for _, field := range explained[name] {
			if _, ok := typ.FieldByName(field); !ok {
				t.Errorf("%s has no field %s", name, field)
			}
		}
	}
	if len(seen) != len(docs) {
		t.Errorf("types.go declares %d types, of which %d are tested", len(docs), len(seen))
	}
}

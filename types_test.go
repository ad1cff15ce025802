package repertoire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// aliases are the types of types.go.
var aliases = []any{
	repertoire.Agent{}, repertoire.Policy{}, repertoire.ListOptions{}, repertoire.Rules{}, repertoire.Rule{}, repertoire.Place{},
	repertoire.Query{}, repertoire.Answer{}, repertoire.Background{}, repertoire.Hit{}, repertoire.Entry{},
	repertoire.Script{}, repertoire.ScriptRule{}, repertoire.Explanation{}, repertoire.Snippet{}, repertoire.SyntaxError{}, repertoire.Budget{}, repertoire.Block{},
	repertoire.Body{}, repertoire.File{}, repertoire.Report{},
}

// TestFieldsAreExplained: the comments of the aliases lead to the types that they stand for,
// where "go doc" explains each field.
func TestFieldsAreExplained(t *testing.T) {
	testsize.Long(t)
	f, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, parser.ParseComments)
	must.Do(t, err)
	declared := 0
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			declared += len(g.Specs)
		}
	}
	if declared != len(aliases) {
		t.Errorf("types.go declares %d types, of which %d are tested", declared, len(aliases))
	}
	seen := make(map[reflect.Type]bool)
	for _, v := range aliases {
		checkFields(t, reflect.TypeOf(v), seen)
	}
}

// checkFields checks that the declaration of a struct, and of those that are embedded in it,
// has a comment for each field that other packages see, of its own or that of the field before.
func checkFields(t *testing.T, typ reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	if seen[typ] || !strings.HasPrefix(typ.PkgPath(), module) {
		return
	}
	seen[typ] = true
	group := "" // the last comment
	for _, f := range declaration(t, typ).Fields.List {
		if own := f.Doc.Text() + f.Comment.Text(); own != "" {
			group = own
		}
		for _, name := range f.Names {
			if name.IsExported() && f.Doc == nil && f.Comment == nil && !strings.Contains(group, name.Name) && !strings.Contains(group, "next three") {
				t.Errorf("%v does not explain %s", typ, name)
			}
		}
	}
	for i := range typ.NumField() {
		if f := typ.Field(i); f.Anonymous && f.Type.Kind() == reflect.Struct {
			checkFields(t, f.Type, seen)
		}
	}
}

// declaration returns where a struct is declared.
func declaration(t *testing.T, typ reflect.Type) (found *ast.StructType) {
	t.Helper()
	names, err := filepath.Glob(filepath.FromSlash(strings.TrimPrefix(typ.PkgPath(), module+"/") + "/*.go"))
	must.Do(t, err)
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		must.Do(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == typ.Name() {
				if body, ok := s.Type.(*ast.StructType); ok {
					found = body
				}
			}
			return true
		})
	}
	if found == nil {
		t.Fatalf("%v is not declared as a struct", typ)
	}
	return found
}

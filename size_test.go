package repertoire_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestSize holds the size of the whole to testdata/size.txt: lines, methods of a type and
// exported names of a package. Whoever raises a bound there says why.
func TestSize(t *testing.T) {
	bounds := readBounds(t)
	methods, names, lines := make(map[string]int), make(map[string]int), 0
	for _, f := range sourceFiles(t) {
		if isTestKit(f.dir) {
			continue
		}
		lines += f.fset.Position(f.ast.FileEnd).Line
		for _, d := range f.ast.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil {
				methods[f.dir+"."+receiver(m)]++
			} else {
				names[f.dir] += exported(d)
			}
		}
	}
	bounds.check(t, "lines", map[string]int{"all": lines})
	bounds.check(t, "methods", methods)
	bounds.check(t, "names", names)
}

// isTestKit reports whether a package only serves tests, or is a module of its own.
func isTestKit(dir string) bool {
	return strings.HasSuffix(dir, "test") || dir == "internal/must" || dir == "internal/testsize" || dir == "packaging" || strings.HasPrefix(dir, "web/browsertest") ||
		strings.HasPrefix(dir, "deploy") || strings.HasPrefix(dir, "bench/peers/")
}

func receiver(d *ast.FuncDecl) string {
	x := d.Recv.List[0].Type
	for {
		switch e := x.(type) {
		case *ast.StarExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.IndexListExpr:
			x = e.X
		case *ast.Ident:
			return e.Name
		default:
			return fmt.Sprintf("%T", e)
		}
	}
}

// exported returns how many names a declaration adds to its package.
func exported(d ast.Decl) int {
	n := 0
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			count(d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				count(s.Name)
			case *ast.ValueSpec:
				if d.Tok == token.CONST || d.Tok == token.VAR {
					count(s.Names...)
				}
			}
		}
	}
	return n
}

// bounds are the lines of testdata/size.txt: what is bounded, what of it ("*" is everything
// without a line of its own, "index.*" every type of index), and how much it may be.
type bounds map[string]map[string]int

func readBounds(t *testing.T) bounds {
	t.Helper()
	text := must.Read(t, "testdata/size.txt")
	b := make(bounds)
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 {
			t.Fatalf("testdata/size.txt:%d: want KIND NAME BOUND REASON…", i+1)
		}
		n, err := strconv.Atoi(fields[2])
		must.Do(t, err)
		if b[fields[0]] == nil {
			b[fields[0]] = make(map[string]int)
		}
		b[fields[0]][fields[1]] = n
	}
	return b
}

// check compares what is there with the bounds of a kind. An exception that is no longer
// needed has to go, so that nobody grows into it.
func (b bounds) check(t *testing.T, kind string, found map[string]int) {
	t.Helper()
	usual := func(name string) int {
		dir := name[:strings.LastIndex(name, ".")+1]
		if n, ok := b[kind][dir+"*"]; ok {
			return n
		}
		return b[kind]["*"]
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		bound, exception := b[kind][name]
		if !exception {
			bound = usual(name)
		}
		if found[name] > bound {
			t.Errorf("%s of %s: %d, more than %d (testdata/size.txt): make it smaller, or say there why it may be larger", kind, name, found[name], bound)
		}
	}
	for name := range b[kind] {
		if !strings.HasSuffix(name, "*") && found[name] <= usual(name) {
			t.Errorf("%s of %s: %d, which every one may have: remove the line from testdata/size.txt", kind, name, found[name])
		}
	}
}

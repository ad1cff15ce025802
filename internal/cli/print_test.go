package cli

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// exact are the functions that may write to standard output or error past the printer,
// and why nothing in what they write can be taken for a command of a terminal.
var exact = map[string]string{
	"Main":                 "hands them to execute",
	"terminal":             "looks, and writes nothing",
	"exact":                "in a pipe; on a terminal the printer is used",
	"rows":                 "styles cells that were made visible before",
	"progress":             "draws a bar, with constant words",
	"newChat":              "hands the terminal to the editor of lines, which shows what is typed without hidden characters",
	"aside":                "makes a line dim that was made visible before",
	"answer":               "a hook's answer, which is JSON for a client",
	"runMCP":               "messages of a protocol",
	"newCompletionCommand": "a script for a shell",
}

// TestExactOutput: all other functions print through a printer.
func TestExactOutput(t *testing.T) {
	used := make(map[string]bool)
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		must.Do(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if n, ok := n.(ast.Expr); ok && pastPrinter(n) {
					used[f.Name.Name] = true
					if exact[f.Name.Name] == "" {
						t.Errorf("%s: %s prints past the printer", fset.Position(n.Pos()), f.Name.Name)
					}
				}
				return true
			})
		}
	}
	for name := range exact {
		if !used[name] {
			t.Errorf("%s no longer prints past the printer", name)
		}
	}
}

// pastPrinter reports whether an expression is a way around the printers.
func pastPrinter(n ast.Expr) bool {
	if call, ok := n.(*ast.CallExpr); ok {
		f, ok := call.Fun.(*ast.Ident)
		return ok && f.Name == "bare"
	}
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if s.Sel.Name == "raw" {
		return true
	}
	of, ok := s.X.(*ast.Ident)
	return ok && (of.Name == "os" && slices.Contains([]string{"Stdout", "Stderr"}, s.Sel.Name) ||
		of.Name == "fmt" && slices.Contains([]string{"Print", "Printf", "Println"}, s.Sel.Name))
}

func TestPrinter(t *testing.T) {
	var out bytes.Buffer
	p := printer{Writer: &out}
	const text = "a\x1b[31m\u202e\r\n\tb\n"
	if n, err := p.Write([]byte(text)); n != len(text) || err != nil || out.String() != `a\x1b[31m\u202e\r`+"\n\tb\n" {
		t.Errorf("%d, %v, %q", n, err, out.String())
	}
	if n, err := (printer{Writer: closed{}}).Write([]byte("a")); n != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("%d, %v", n, err)
	}
	if got, want := lineOf("  %s", "a\nb  c"), `  a\nb  c`+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := message("a\nb\x1b  c"), `a; b\x1b c`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// closed is a writer that fails.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestSomeLines: a diff that fills several screens is shown in part, and says so.
func TestSomeLines(t *testing.T) {
	short := strings.Repeat("+line\n", 46)
	if got := someLines(short); got != short {
		t.Errorf("a short diff is cut: %q", got)
	}
	if got, want := someLines(short+short), strings.Repeat("+line\n", 45)+"… and 47 more lines (--dry-run shows all)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

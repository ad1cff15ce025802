package repertoire_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/format"
	"go/token"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/repertoire-skills/repertoire/internal/must"
)

var update = flag.Bool("update", false, "write testdata/api.txt, and figures where they are quoted")

// TestAPI: a change of what programs can use shows in a review, as a change of testdata/api.txt.
func TestAPI(t *testing.T) {
	lines := make(map[string]bool)
	for _, f := range sourceFiles(t) {
		if !slices.Contains([]string{".", "agent", "contextprovider", "embed", "sandbox", "search", "source", "store"}, f.dir) {
			continue
		}
		for _, d := range f.ast.Decls {
			for _, name := range exportedOf(t, f.fset, d) {
				lines[strings.TrimPrefix(f.dir+": ", ".: ")+name] = true
			}
		}
	}
	var all []string
	for line := range lines {
		all = append(all, line)
	}
	slices.Sort(all)
	got := strings.Join(all, "\n") + "\n"
	if *update {
		must.Do(t, os.WriteFile("testdata/api.txt", []byte(got), 0o644))
	}
	if diff := cmp.Diff(strings.Split(must.Read(t, "testdata/api.txt"), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("programs can use other names than before; if you mean it, run: go test . -run TestAPI -update\n%s", diff)
	}
}

// exportedOf returns a line for each exported name of a declaration, and for each exported field
// and method of a type.
func exportedOf(t *testing.T, fset *token.FileSet, d ast.Decl) (lines []string) {
	t.Helper()
	text := func(n ast.Node) string {
		var b bytes.Buffer
		must.Do(t, format.Node(&b, fset, n))
		return strings.Join(strings.Fields(b.String()), " ")
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
			lines = append(lines, text(&ast.FuncDecl{Recv: d.Recv, Name: d.Name, Type: d.Type}))
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						lines = append(lines, d.Tok.String()+" "+name.Name)
					}
				}
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					lines = append(lines, membersOf(s, text)...)
				}
			}
		}
	}
	return lines
}

// membersOf returns the lines of a type: its name, and its exported fields or methods.
func membersOf(s *ast.TypeSpec, text func(ast.Node) string) []string {
	var members *ast.FieldList
	kind := text(s.Type)
	switch of := s.Type.(type) {
	case *ast.StructType:
		members, kind = of.Fields, "struct"
	case *ast.InterfaceType:
		members, kind = of.Methods, "interface"
	}
	if s.Assign.IsValid() {
		kind = "= " + kind
	}
	lines := []string{"type " + s.Name.Name + " " + kind}
	if members == nil {
		return lines
	}
	for _, m := range members.List {
		if len(m.Names) == 0 {
			lines = append(lines, "type "+s.Name.Name+": "+text(m.Type))
		}
		for _, name := range m.Names {
			if name.IsExported() {
				lines = append(lines, "type "+s.Name.Name+": "+name.Name+" "+text(m.Type))
			}
		}
	}
	return lines
}

// TestModules: a program that imports the root links few modules, and none that draws on a
// terminal, speaks a protocol of tools, is the driver of a server's database or the SDK of a model.
func TestModules(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the program go")
	}
	out, err := exec.CommandContext(t.Context(), goTool, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	must.Do(t, err)
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	modules = slices.Compact(modules)
	if len(modules) < 2 || len(modules) > 20 {
		t.Errorf("%d modules with this one, want at most 20: %q", len(modules), modules)
	}
	for _, m := range modules {
		for _, part := range []string{"charm", "lipgloss", "bubble", "spf13", "progressbar", "x/term", "isatty", "pgx", "go-sdk", "openai-go", "go-openai", "anthropic", "mvdan.cc", "landlock"} {
			if strings.Contains(m, part) {
				t.Errorf("the root links %s", m)
			}
		}
	}
}

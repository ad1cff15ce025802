// Command typecheck finds what does not compile for other systems: it checks the types of all
// packages and tests of a module for each of its arguments, such as "windows/amd64".
//
// "go vet" would compile all dependencies for each system first, which takes minutes. This
// reads the dependencies as source, without the bodies of their functions.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	failed := false
	for _, target := range os.Args[1:] {
		problems, err := check(target)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, p := range problems {
			fmt.Printf("%s: %s\n", target, p)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check returns what does not compile in the module of the working folder.
func check(target string) (problems []string, err error) {
	system, machine, ok := strings.Cut(target, "/")
	if !ok {
		return nil, fmt.Errorf("not a system and a machine, such as windows/amd64")
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	all, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0"),
		Tests: true,
		ParseFile: func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
			f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
			// The go command makes the main packages of tests, in a folder of its own.
			if f != nil && f.Name.Name != "main" && !strings.HasPrefix(name, here) {
				for _, d := range f.Decls {
					if d, ok := d.(*ast.FuncDecl); ok {
						d.Body = nil
					}
				}
			}
			return f, err
		},
	}, "./...")
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool) // a package is there once more for its tests
	for _, p := range all {
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] {
				seen[text] = true
				problems = append(problems, text)
			}
		}
	}
	if len(all) < 2 {
		problems = append(problems, "found no packages")
	}
	return problems, nil
}

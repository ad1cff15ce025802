package repertoire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

const module = "github.com/repertoire-skills/repertoire"

// layers says what each package may import of this module; "*" is everything.
// A new edge is a design decision. The root façade is ".".
var layers = map[string][]string{
	"skill":               {"internal/words", "internal/lazyregexp", "internal/tidy"},
	"internal/access":     {"store", "internal/atomicfile", "internal/regular", "internal/words"},
	"internal/api":        {},
	"internal/ard":        {"internal/lazyregexp"},
	"internal/apiclient":  {"internal/api", "internal/endpoint"},
	"internal/atomicfile": {},
	"internal/audit":      {"internal/access", "internal/tidy", "usage"},
	"internal/disjoint":   {},
	"internal/endpoint":   {"internal/tidy"},
	"internal/openai":     {"internal/endpoint"},
	"internal/figures":    {},
	"internal/sqlfile":    {},
	"internal/markdown":   {},
	"internal/inspect":    {"skill", "internal/words", "internal/lazyregexp", "internal/tidy"},
	"internal/gloss":      {"internal/words", "internal/tidy"},
	"internal/gloss/make": {"internal/gloss"},
	"internal/intent":     {"internal/words", "internal/lazyregexp", "internal/tidy"},
	"internal/lazyregexp": {},
	"internal/memo":       {},
	"internal/regular":    {},
	"internal/registries": {"install/remote", "internal/ard", "internal/atomicfile", "internal/endpoint", "internal/lazyregexp", "internal/regular", "internal/tidy", "internal/words"},
	"internal/pushback":   {"install/git", "internal/push", "internal/words", "proposal", "source", "store"},
	"internal/registry":   {"contextprovider", "internal/access", "internal/ard", "internal/memo", "internal/wellknown", "search", "skill", "usage"},
	"internal/scratch":    {},
	"internal/slots":      {},
	"internal/steps":      {},
	"internal/sections":   {"embed", "embed/static", "internal/memo", "internal/tidy", "internal/words"},
	"internal/scripts":    {"agent", "contextprovider", "internal/trust", "internal/tidy", "sandbox", "sandbox/executors", "search", "skill", "source", "usage"},
	"internal/chat":       {"agent", "agent/openai", "internal/atomicfile", "internal/config", "internal/words", "internal/endpoint", "internal/tidy"},
	"internal/client":     {"internal/regular", "internal/words"},
	"internal/commands":   {"skill"},
	"internal/config":     {"install", "install/remote", "install/unpack", "embed", "embed/contextual", "embed/openai", "embed/static", "rerank", "rerank/remote", "rank", "search", "skill", "source", "internal/atomicfile", "internal/client", "internal/endpoint", "internal/words", "internal/edit", "internal/lazyregexp", "internal/registries", "internal/regular", "internal/trust"},
	"internal/discover":   {".", "embed", "internal/config", "internal/figures", "internal/origins", "internal/registries", "internal/tidy", "internal/words", "skill", "source"},
	"internal/doctor":     {".", "contextprovider", "embed", "internal/config", "internal/endpoint", "internal/registries", "internal/evals", "internal/inspect", "internal/wellknown", "search", "skill", "source", "internal/atomicfile", "internal/lazyregexp", "internal/regular", "internal/words", "internal/figures", "internal/tidy", "internal/disjoint"},
	"agent":               {"usage", "agent/tool", "agent/toolset", "skill", "search", "contextprovider", "sandbox", "internal/intent", "internal/sections", "internal/lazyregexp", "internal/words", "internal/figures", "internal/tidy"},
	"agent/tool":          {"internal/words", "internal/tidy"},
	"agent/toolset":       {"agent/tool", "skill", "internal/words", "internal/tidy"},
	"agent/skilltest":     {"agent", "agent/agenttest", "contextprovider", "sandbox", "internal/tidy"},
	"agent/openai":        {"agent", "internal/endpoint", "internal/openai", "internal/words"},
	"agent/agenttest":     {"agent"},
	"sandbox":             {"skill", "internal/regular", "internal/tidy"},
	"sandbox/sandboxtest": {"sandbox"},
	"sandbox/bubblewrap":  {"sandbox", "internal/regular"},
	"sandbox/container":   {"sandbox"},
	"sandbox/virtual":     {"sandbox", "internal/tidy"},
	"sandbox/executors":   {"sandbox", "sandbox/bubblewrap", "sandbox/container", "sandbox/virtual", "internal/words"},
	"install/git":         {"skill", "internal/regular", "internal/words", "internal/tidy"},
	"install/remote":      {"skill", "source", "install/git", "install/unpack", "internal/atomicfile", "internal/regular", "internal/tidy", "internal/endpoint"},
	"install/unpack":      {"skill", "internal/regular", "internal/tidy"},
	"internal/evals":      {".", "contextprovider", "embed", "internal/config", "internal/scratch", "internal/tidy", "source", "search", "skill", "internal/words", "internal/figures"},
	"internal/hook":       {".", "contextprovider", "internal/api", "internal/client", "internal/endpoint", "internal/hook/event", "internal/session", "internal/slots", "internal/steps", "internal/tidy", "search", "usage"},
	"internal/hook/event": {"internal/client", "internal/intent", "internal/lazyregexp"},
	"internal/serve":      {},
	"internal/server":     {".", "agent", "internal/words", "contextprovider", "internal/access", "internal/api", "internal/audit", "internal/client", "internal/config", "internal/discover", "internal/endpoint", "internal/intent", "internal/registry", "internal/scripts", "internal/serve", "internal/session", "internal/trust", "mcpserver", "proposal", "proposal/check", "search", "skill", "store", "usage", "web"},
	"internal/session":    {"internal/api", "internal/regular", "rank", "search", "skill", "contextprovider", "internal/atomicfile", "internal/intent", "internal/steps", "internal/words", "internal/tidy"},
	"internal/setup":      {"embed/openai", "skill", "internal/atomicfile", "internal/client", "internal/edit", "internal/lazyregexp", "internal/regular", "internal/figures"},
	"internal/site":       {},
	"internal/status":     {".", "internal/config", "internal/doctor", "internal/hook", "internal/setup", "proposal", "search", "skill", "source", "usage"},
	"internal/origins":    {"install", "internal/client", "internal/endpoint", "internal/figures", "internal/regular", "internal/tidy", "skill"},
	"internal/push":       {"embed", "index", "internal/config", "skill", "source", "store", "store/cache", "internal/atomicfile", "internal/regular", "internal/tidy", "internal/figures"},
	"internal/trial":      {".", "contextprovider", "internal/client", "internal/endpoint", "internal/evals", "internal/hook", "internal/hook/event", "internal/lazyregexp", "internal/setup", "internal/words", "search", "source", "internal/figures", "internal/tidy"},
	"internal/trust":      {"skill", "internal/atomicfile", "internal/regular"},
	"internal/wellknown":  {"skill", "search", "contextprovider", "internal/ard", "internal/endpoint", "internal/tidy"},
	"internal/words":      {"internal/tidy"},
	"internal/tidy":       {},
	"internal/turns":      {},
	"usage":               {"embed", "search", "store", "internal/atomicfile", "internal/tidy", "internal/words"},
	"internal/edit":       {"internal/client", "internal/lazyregexp"},
	"proposal":            {"skill", "search", "source", "store", "internal/atomicfile", "internal/regular", "internal/words", "internal/tidy"},
	"proposal/check":      {".", "index", "store", "store/sqlite", "internal/config", "internal/doctor", "internal/evals", "internal/scratch", "internal/words", "proposal", "skill", "source"},
	"embed":               {},
	"embed/embedtest":     {"embed"},
	"embed/openai":        {"embed", "internal/endpoint", "internal/openai"},
	"embed/static":        {"embed", "internal/words"},
	"embed/contextual":    {"embed", "internal/tidy", "internal/turns"},
	"source":              {"skill", "internal/regular", "internal/words", "internal/lazyregexp", "internal/figures", "internal/tidy"},
	"source/shared":       {"skill", "source", "store", "internal/atomicfile", "internal/regular", "internal/words"},
	"source/sourcetest":   {"skill", "source", "internal/must"},
	"store":               {"skill"},
	"store/storetest":     {"skill", "store"},
	"store/postgres":      {"skill", "store", "internal/sqlfile"},
	"store/cache":         {"store/sqlite", "internal/regular", "internal/sqlfile"},
	"store/sqlite":        {"skill", "store", "internal/regular", "internal/sqlfile"},
	"snapshot":            {"skill", "store", "internal/words", "internal/atomicfile", "internal/regular", "internal/disjoint"},
	"rank":                {},
	"rerank":              {},
	"rerank/remote":       {"rerank", "internal/endpoint", "internal/words"},
	"index":               {"skill", "embed", "source", "snapshot", "store", "internal/atomicfile", "internal/regular", "internal/words", "internal/figures"},
	"search":              {"skill", "embed", "rank", "rerank", "search/query", "snapshot", "store", "internal/gloss", "internal/intent", "internal/steps", "internal/words", "internal/figures", "internal/tidy", "internal/disjoint"},
	"search/query":        {"skill", "snapshot", "store", "internal/words", "internal/tidy"},
	"contextprovider":     {"skill", "search", "internal/sections", "internal/words", "internal/lazyregexp", "internal/tidy"},
	"install":             {"skill", "source", "install/git", "install/unpack", "install/remote", "internal/atomicfile", "internal/regular", "internal/scratch", "internal/words", "internal/endpoint"},
	"mcpserver":           {"agent", "agent/tool", "usage", "skill", "search", "contextprovider", "proposal", "internal/access", "internal/api", "internal/ard", "internal/registry", "internal/intent", "internal/serve", "internal/session", "internal/turns", "internal/words", "internal/tidy"},
	".":                   {"skill", "embed", "rerank", "source", "source/shared", "store", "store/cache", "store/sqlite", "snapshot", "index", "search", "search/query", "contextprovider", "internal/atomicfile", "internal/client", "internal/commands", "internal/config", "internal/regular", "internal/scratch", "internal/turns", "internal/words", "internal/endpoint"},
	"internal/cli":        {"*"},
	"cmd/skills":          {"internal/cli"},
	"cmd/repertoire":      {"internal/cli"},
	"cmd/skills-docs":     {"internal/cli", "internal/serve", "internal/site"},
	"cmd/skills-encoder":  {"bench", "embed/contextual", "embed/static", "search", "skill"},
	"cmd/skills-fit":      {"*"},
	"cmd/skills-train":    {"*"},
	"bench":               {"*"},
	"bench/peers/ask":     {}, // a module of its own, as are the next two
	"bench/peers/bleve":   {"bench/peers/ask"},
	"bench/peers/ours":    {".", "bench", "bench/peers/ask", "embed", "source"},
	"packaging":           {}, // a module of its own
	"web":                 {".", "contextprovider", "internal/access", "internal/config", "internal/doctor", "internal/markdown", "internal/words", "proposal", "rank", "search", "skill", "source", "usage", "internal/figures", "internal/tidy"},
	"web/browsertest":     {}, // a module of its own

	// For tests only.
	"web/browsertest/screenshots":   {"web/browsertest"},
	"internal/atomicfile/crashtest": {"internal/atomicfile"},
	"internal/pgtest":               {},
	"internal/registrytest":         {"internal/ard"},
	"internal/clientstest":          {},
	"internal/catalogtest":          {".", "internal/must", "source", "source/sourcetest"},
	"internal/must":                 {},
	"internal/testsize":             {},
	"internal/words/wordstest":      {},
	"store/memorytest":              {"skill", "store"},
	"search/searchtest":             {"skill", "embed", "embed/embedtest", "snapshot", "store", "store/sqlite", "index", "search", "rank", "internal/words", "internal/must", "internal/testsize"},
}

// sourceFile is one Go file of a package that is not a test.
type sourceFile struct {
	dir  string // slash-separated
	name string
	ast  *ast.File
	fset *token.FileSet
}

func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	testsize.Long(t) // to read them all takes a second, ten under the race detector
	var files []sourceFile
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		files = append(files, sourceFile{path.Dir(filepath.ToSlash(name)), filepath.ToSlash(name), f, fset})
		return err
	})
	must.Do(t, err)
	if len(files) < 30 {
		t.Fatalf("found %d files only", len(files))
	}
	return files
}

func TestLayers(t *testing.T) {
	seen := make(map[string]bool)
	for _, f := range sourceFiles(t) {
		allowed, ok := layers[f.dir]
		if !ok {
			t.Errorf("%s: package %s is not in the table of layers", f.name, f.dir)
			continue
		}
		seen[f.dir] = true
		for _, imp := range f.ast.Imports {
			p := strings.Trim(imp.Path.Value, `"`)
			if p == "github.com/spf13/cobra/doc" && f.dir != "cmd/skills-docs" {
				t.Errorf("%s imports the maker of man pages, which the program does not need", f.name)
			}
			if p == module+"/internal/site" && f.dir != "cmd/skills-docs" {
				t.Errorf("%s imports the maker of the site, which the program does not need", f.name)
			}
			if strings.HasPrefix(p, "github.com/yuin/goldmark") && f.dir != "internal/site" {
				t.Errorf("%s imports a renderer of Markdown, whose tables each start of the program would make", f.name)
			}
			if p != module && !strings.HasPrefix(p, module+"/") {
				continue
			}
			p = strings.TrimPrefix(strings.TrimPrefix(p, module), "/")
			if p == "" {
				p = "."
			}
			if !slices.Contains(allowed, p) && !slices.Contains(allowed, "*") {
				t.Errorf("%s imports %s; %s may import only %v", f.name, p, f.dir, allowed)
			}
		}
	}
	for dir := range layers {
		if !seen[dir] {
			t.Errorf("the table of layers has %s, which does not exist", dir)
		}
	}
}

// TestPackageComments: every package says in its first sentence what it owns,
// and nearly all of them in a few lines.
func TestPackageComments(t *testing.T) {
	docs := make(map[string]string)
	for _, f := range sourceFiles(t) {
		if f.ast.Doc != nil {
			docs[f.dir] += f.ast.Doc.Text()
		}
	}
	for dir := range layers {
		want := "Package " + path.Base(dir) + " "
		switch {
		case dir == ".":
			want = "Package repertoire "
		case strings.HasPrefix(dir, "cmd/") || dir == "packaging" || dir == "internal/gloss/make" || dir == "web/browsertest/screenshots" || dir == "bench/peers/bleve" || dir == "bench/peers/ours":
			want = "Command " + path.Base(dir) + " "
		}
		doc := docs[dir]
		if !strings.HasPrefix(doc, want) {
			t.Errorf("%s: its comment does not begin with %q", dir, want)
		}
		if lines := strings.Count(doc, "\n"); lines > 20 && dir != "." {
			t.Errorf("%s: its comment has %d lines", dir, lines)
		}
	}
}

// TestShape holds bounds that keep the code readable: no function over 80
// lines, no file over 700, no init, SQL in store/sqlite only.
func TestShape(t *testing.T) {
	for _, f := range sourceFiles(t) {
		line := func(p token.Pos) int { return f.fset.Position(p).Line }
		if n := line(f.ast.FileEnd); n > 700 {
			t.Errorf("%s has %d lines", f.name, n)
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := line(n.End()) - line(n.Pos()); lines > 80 {
					t.Errorf("%s:%d: %s has %d lines", f.name, line(n.Pos()), n.Name.Name, lines)
				}
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s:%d: init", f.name, line(n.Pos()))
				}
			case *ast.BasicLit:
				if n.Kind == token.STRING && f.dir != "store/sqlite" && isSQL(n.Value) {
					t.Errorf("%s:%d: SQL outside of package store/sqlite", f.name, line(n.Pos()))
				}
			}
			return true
		})
	}
}

func isSQL(literal string) bool {
	text := strings.TrimLeft(literal, "`\" \n\t")
	for _, verb := range []string{"SELECT ", "INSERT INTO ", "UPDATE ", "DELETE FROM ", "PRAGMA "} {
		if strings.HasPrefix(text, verb) {
			return true
		}
	}
	return false
}

package doctor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// made are the functions whose first argument is a rule, or the second one.
var made = map[string][]int{"warn": {0}, "fault": {0}, "report": {0}, "refuse": {0}, "fail": {0}, "add": {0}, "found": {0}, "problem": {1}, "note": {0, 1}, "stop": {1}}

// computed are the rules whose names are put together.
var computed = []string{"changed", "disabled", "untrusted", "fetch-failed", "fetch-refused", "empty-name", "invalid-utf8", "not-analysed", "hidden-bidi", "hidden-control", "hidden-invisible", "hidden-tag", "hidden-zero-width"}

// rulesIn calls use with each rule that a Go file names.
func rulesIn(t *testing.T, file string, use func(string)) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	must.Do(t, err)
	text := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil && regexp.MustCompile(`^[a-z]+[a-z0-9-]*[a-z0-9]$`).MatchString(s) {
				use(s)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && slices.Contains([]string{"Rule", "rule", "id"}, key.Name) {
				text(n.Value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if s, ok := left.(*ast.SelectorExpr); ok && s.Sel.Name == "Rule" && i < len(n.Rhs) {
					text(n.Rhs[i])
				}
			}
		case *ast.CallExpr:
			name := ""
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				name = f.Sel.Name
			case *ast.Ident:
				name = f.Name
			}
			for _, i := range made[name] {
				if len(n.Args) > 2 {
					text(n.Args[i])
				}
			}
		}
		return true
	})
}

// TestRules: each rule that any part names is in the table, which is in the order of IDs, and
// says something.
func TestRules(t *testing.T) {
	table := make(map[string]bool)
	if !slices.IsSortedFunc(doctor.Rules(), func(a, b doctor.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the table is not in the order of IDs, in which rules are looked up")
	}
	for _, r := range doctor.Rules() {
		if table[r.ID] || r.Severity == "" || !strings.HasSuffix(r.About, ".") || !strings.HasSuffix(r.Fix, ".") {
			t.Errorf("rule %+v is there twice, or is not described by sentences", r)
		}
		table[r.ID] = true
	}
	used := make(map[string]bool)
	for _, dir := range []string{"skill/", "source/", "index/", "search/", "install/", "internal/config/", "internal/evals/", "internal/inspect/", "internal/origins/", "internal/doctor/", "internal/setup/", "internal/cli/doctor"} {
		files, err := filepath.Glob("../../" + dir + "*.go")
		must.Do(t, err)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				rulesIn(t, file, func(rule string) {
					if used[rule] = true; !table[rule] {
						t.Errorf("%s reports %q, which the table of rules does not describe", file, rule)
					}
				})
			}
		}
	}
	if len(used) < 70 {
		t.Errorf("found %d rules in the code only: the test misses them", len(used))
	}
	for rule := range table {
		if !used[rule] && !slices.Contains(computed, rule) {
			t.Errorf("the table describes %q, which no part reports", rule)
		}
	}
}

package repertoire_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestArchitecture holds ARCHITECTURE.md to the tree: it names every room, no other, and each
// step of a way names a function that is in its file.
func TestArchitecture(t *testing.T) {
	text := must.Read(t, "ARCHITECTURE.md")
	rooms, steps := make(map[string]bool), 0
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		name := m[1]
		if _, ok := layers[name]; ok {
			rooms[name] = true
			continue
		}
		file, function, ok := strings.Cut(name, ": ")
		if !ok {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s is neither a room nor a file", name)
			}
			continue
		}
		steps++
		code, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// "f" is a function, "T.f" a method.
		receiver, method, isMethod := strings.Cut(function, ".")
		pattern := `(?m)^func ` + function + `\b`
		if isMethod {
			pattern = `(?m)^func \((\w+ )?\*?` + receiver + `(\[\w+\])?\) ` + method + `\b`
		}
		if !regexp.MustCompile(pattern).Match(code) {
			t.Errorf("%s has no function %s", file, function)
		}
	}
	for dir := range layers {
		if !rooms[dir] {
			t.Errorf("ARCHITECTURE.md lacks %s", dir)
		}
	}
	if steps < 10 {
		t.Errorf("the ways have %d steps", steps)
	}
}

package skill

import (
	"testing"
)

// FuzzCheckPattern: an accepted pattern compiles, is cheap, and does not match the empty
// prompt.
func FuzzCheckPattern(f *testing.F) {
	for _, p := range []string{`inv-\d{4}`, "(", "a*", "x{1000}", `\pL{500}`, "(?i)a|b", "(?-i)B", "[[:alpha:]]+ing", "a|", "^$", "\xff"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if len(p) > 4*maxTrigger {
			return
		}
		cost, err := CheckPattern(p)
		if err != nil {
			return
		}
		re, err := CompilePattern(p)
		if err != nil || cost < 1 || cost > maxPatternRun || re.MatchString("") {
			t.Errorf("%q: accepted, but costs %d, %v", p, cost, err)
		}
	})
}

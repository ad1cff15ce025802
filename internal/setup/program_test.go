package setup

import "testing"

func TestIsTemporary(t *testing.T) {
	for program, want := range map[string]bool{
		"/tmp/go-build2318796402/b001/exe/skills": true,
		"/home/me/go/bin/skills":                  false,
		"/home/me/bin/go-build":                   false,
	} {
		if got := IsTemporary(program); got != want {
			t.Errorf("%s: %t", program, got)
		}
	}
}

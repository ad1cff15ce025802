// Package testsize decides how long tests take: which of them "go test -short" leaves
// out, and how much they do. The lists of both are in short_test.go of the module.
package testsize

import (
	"os"
	"testing"
)

// Long skips a test that takes seconds when the tests are to be short, as under the race
// detector of .ci/run. Such a test starts nothing that could race and that a short test
// does not start too.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// Rounds returns how many rounds a test does, or how large it is: usual, and long when
// REPERTOIRE_LONG is 1, as in .ci/run-long.
func Rounds(usual, long int) int {
	if os.Getenv("REPERTOIRE_LONG") == "1" {
		return long
	}
	return usual
}

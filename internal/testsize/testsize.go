// Package testsize decides how long tests take: which of them "go test -short" leaves
// out, how much they do, and how often garbage is collected meanwhile. The lists of the
// first two are in short_test.go of the module.
package testsize

import (
	"os"
	"runtime/debug"
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

// Main is the TestMain of packages whose tests make much garbage and need little memory.
func Main(m *testing.M) {
	LetGarbageGather()
	os.Exit(m.Run())
}

// LetGarbageGather makes the collector run less often: it took a quarter of the time of
// some tests.
func LetGarbageGather() { debug.SetGCPercent(400) }

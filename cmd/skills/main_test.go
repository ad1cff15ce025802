package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
)

// TestInitialisation holds what the program allocates before main, which every hook pays, to
// testdata/init.txt. It does not depend on the machine, other than on its operating system.
func TestInitialisation(t *testing.T) {
	testsize.Long(t)                   // builds the program
	reasons := make(map[string]string) // by package; those that are not there may allocate the bound of "*"
	bound := make(map[string]int)
	list, err := os.ReadFile("testdata/init.txt")
	must.Do(t, err)
	for line := range strings.Lines(string(list)) {
		if name, rest, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" && name != "#" {
			size, reason, _ := strings.Cut(rest, " ")
			bound[name], err = strconv.Atoi(size)
			must.Do(t, err)
			reasons[name] = reason
		}
	}
	program := filepath.Join(t.TempDir(), "skills.exe")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	cmd := exec.Command(program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	must.Do(t, err)
	bytes, all := make(map[string]int), 0
	for line := range strings.Lines(string(out)) { // "init PACKAGE @.1 ms, .2 ms clock, 300 bytes, 4 allocs"
		if f := strings.Fields(line); len(f) == 11 && f[0] == "init" && f[8] == "bytes," {
			n, err := strconv.Atoi(f[7])
			must.Do(t, err)
			bytes[f[1]], all = n, all+n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bytes)) {
		most, known := bound[name]
		if !known {
			most = bound["*"]
		}
		if bytes[name] > most {
			t.Errorf("%s allocates %d bytes before main, more than %d (testdata/init.txt): let it begin when it is used, or say there why it may", name, bytes[name], most)
		}
	}
	if all > bound["all"] || all < 100_000 {
		t.Errorf("all packages allocate %d bytes before main; want at most %d", all, bound["all"])
	}
	for name := range reasons {
		if name != "*" && name != "all" && bytes[name] <= bound["*"] {
			t.Errorf("%s allocates %d bytes and needs no line in testdata/init.txt", name, bytes[name])
		}
		if reasons[name] == "" {
			t.Errorf("%s has no reason in testdata/init.txt", name)
		}
	}
}

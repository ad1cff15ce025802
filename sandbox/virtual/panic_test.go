package virtual

import (
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// TestPanic: a program on which the interpreter panics ends its run, and nothing else, also
// where a shell would use a process.
func TestPanic(t *testing.T) {
	for _, program := range []string{"declare -A x=(a)", "declare -A x=(a) | cat", "{ declare -A x=(a); } &", "echo $(declare -A x=(a))", "x=; [[ -v $x ]]"} {
		s := New(Options{})
		r, err := s.Run(t.Context(), program)
		if err != nil || !strings.HasPrefix(r.Stopped, "the shell cannot run this program: ") || r.ExitCode == 0 {
			t.Errorf("%s: %+v %v", program, r, err)
		}
		wants(t, s, sandbox.Request{Command: "echo next"}, "next\n")
	}
}

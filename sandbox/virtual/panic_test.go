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

// TestOddNumbers: no number makes the interpreter panic or stop.
func TestOddNumbers(t *testing.T) {
	for _, n := range []string{"-1", "0", "-0", "99999999999", "99999999999999999999", "-9223372036854775808", "x", "''", "1.5", "0x10", "' 1'"} {
		for _, program := range []string{
			"set a b; shift N", "exit N", "f() { return N; }; f", "for i in 1 2; do break N; done", "for i in 1 2; do for j in 1 2; do continue N; done; done",
			"echo abc | read -n N x", "echo abc | read -N N x", "echo a | read -t N x", "echo a | read -u N x", "printf '%*d' N 5", "printf '%.*f' N 5", "printf '%Ns' x", "printf %d N", "printf %c N", "printf %x N", "printf '\\x%s' N",
			"trap 'echo x' N", "trap - N", "OPTIND=N; set -- -a; getopts a o", "getopts N o -N", "set a b; getopts ab o N", "x=abc; echo ${x:N}", "x=abc; echo ${x:N:N}", "x=abc; echo ${x: N:1}", "x=abc; echo ${x: -1:N}", "set a b c; echo ${@:N}", "set a b c; echo ${@:1:N}", "set a b c; echo ${@: N:2}", "a=(1 2); echo ${a[N]}", "a=(1 2); a[N]=3", "a=(1 2); echo ${a[@]:N}", "a=(1 2); echo ${a[@]:0:N}", "a=(1 2); echo ${a[@]: N:1}",
			"a=(1 2); unset 'a[N]'", "echo $((1<<N))", "echo $((1>>N))", "echo $((1/N))", "echo $((1%N))", "echo $((2**N))", "echo $((N))", "let N", "let x=N", "wait N", "umask N", "pushd +N", "popd +N", "popd N", "dirs +N", "cd -N", "mapfile -n N x </dev/null", "mapfile -s N x </dev/null", "echo {1..3..N}", "printf -v 'a[N]' x", "echo ${N}", "declare -i x=N; echo $x", "test N -eq 1", "[[ N -lt 1 ]]", "x=N; (( x++ ))", "exec N>x", "echo a >&N", "hash -p N x", "head -n N /dev/null", "tail -n N /dev/null", "cut -c N /dev/null", "fold -w N /dev/null", "seq N 3", "seq 1 N 3", "sleep N",
			"echo a | split -l N", "echo a | head -c N", "echo a | tail -c N", "echo a | xargs -n N", "nl -w N /dev/null",
		} {
			if strings.Contains(program, "seq N") && strings.HasPrefix(n, "-9") {
				continue // which the meter ends, as it should
			}
			command := strings.ReplaceAll(program, "N", n)
			r, err := New(Options{}).Run(t.Context(), command)
			if strings.HasPrefix(r.Stopped, "the shell cannot run this program: ") { // an error is one of syntax
				t.Errorf("%s: %+v %v", command, r, err)
			}
		}
	}
	for command, want := range map[string]string{
		"set a b c; shift -1 || echo $? $#": "1 3\n", "set a b c; shift 99999999999 || echo $? $#": "1 3\n", "set a b c; shift 4 || echo $? $#": "1 3\n",
		"set a b c; shift 3; echo $? $#": "0 0\n", "set a b c; shift; echo $? $1": "0 b\n", "set a b c; shift 0; echo $? $1": "0 a\n", "f() { shift 2; echo $1; }; f a b c": "c\n",
		"set a; while shift; do echo x; done; echo $?": "x\n0\n", "shift || echo $?": "1\n",
		"while true; do break 0; done; echo $?": "0\n", "until false; do while true; do break x; done; echo never; done; echo out": "out\n", "while true; do break 1 2; done; echo out": "out\n",
		"for i in 1 2; do echo $i; continue -1; done; echo out": "1\nout\n", "for i in 1 2; do for j in 1 2; do break 2; done; echo never; done; echo out": "out\n",
		"n=0; while true; do n=$((n+1)); if [ $n -eq 3 ]; then break; fi; continue; done; echo $n": "3\n", "f() { break 99999999999999999999; }; while true; do f; done; echo out": "out\n",
	} {
		r, err := New(Options{}).Run(t.Context(), command)
		if err != nil || string(r.Stdout) != want {
			t.Errorf("%s: %+v %v, want %q", command, r, err, want)
		}
	}
}

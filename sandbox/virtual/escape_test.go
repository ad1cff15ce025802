package virtual

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/sandbox"
)

// An escape is an attempt to get out of the sandbox or beyond its bounds, and what stops it.
type escape struct {
	name    string
	command string
	says    string // in the error, in what stopped the run or in error output
}

// escapes are all attempts. Those that only a bound stops have small steps.
var escapes = []escape{
	// out
	{"passwords", "cat /etc/passwd", "cat: /etc/passwd: No such file or directory"},
	{"home", "cat ~root/.ssh/id_rsa $HOME/.profile", "cat: ~root/.ssh/id_rsa: No such file"},
	{"write outside", "echo x > /etc/cron.d/x", "no such file or directory"},
	{"above the root", "cd ../../../../../../..; pwd; cat ../etc/passwd", "cat: ../etc/passwd: No such file"},
	{"link", "ln -s /etc e", "sh: ln: command not found"},
	{"source", ". /etc/profile", "No such file"},
	{"source through PATH", "PATH=/etc; . passwd", "No such file"},
	{"fifo of the shell", "TMPDIR=/tmp; echo > /tmp/sh-interp-1", "no such file or directory"},
	{"program by path", "/bin/cp /etc/passwd x", "No such file"},
	{"program", "python3 -c 1", "command not found; the virtual executor has"},
	{"exec", "exec python3", "command not found"},
	{"command -p", "command -p python3", "command not found"},
	{"builtin", "builtin exec python3", "command not found"},
	{"connect", "echo > /dev/tcp/127.0.0.1/80", "no such file or directory"},
	{"process numbers", "echo $PPID", "$PPID is not available"},
	{"zero byte", "x=$(printf 'a\\0b'); echo hi > \"/dev/null/$x\"; cat $'a\\x00b'", "/dev/null/ab"},
	{"long name", "printf -v x 1; touch $(printf '%0300d' 0)", "File name too long"},
	{"deep folders", "d=x; for i in 1 2 3 4 5 6 7; do d=$d/$d; done; mkdir -p $d", "File name too long"},
	{"kill", "kill -9 1", "kill: not available"},

	// bounds of the run
	{"loop", "while true; do :; done", "steps"},
	{"loop without commands", "for ((;;)); do x=1; done", "steps"},
	{"fork bomb", ":(){ :|:& };:", "cannot have the name of a command"},
	{"fork bomb by name", "b(){ b|b& };b", "too deeply"},
	{"fork bomb of jobs", "b(){ b& b& };b", "too deeply"},
	{"fork bomb of scripts", "echo 'sh me' > me; sh me", "too deeply"},
	{"recursion", "f(){ f; }; f", "too deeply"},
	{"recursion of eval", "x='eval \"$x\"'; eval \"$x\"", "too deeply"},
	{"recursion of source", "echo '. ./me' > me; . ./me", "too deeply"},
	{"recursion of substitutions", "f(){ echo $(f); }; f", "too deeply"},
	{"recursion of traps", "trap 'exit' EXIT; f() { trap f EXIT; exit; }; f", ""},
	{"background child", "while true; do :; done & echo parent", "steps"},
	{"reader without input", "while ! read x; do :; done", "steps"},

	// memory
	{"doubling", "a=xx; while true; do a=$a$a; done", "larger than 1 MiB"},
	{"doubling in one command", "a=" + strings.Repeat("x", 1000) + strings.Repeat(" a=$a$a", 40), "larger than 1 MiB"},
	{"doubling by append", "a=xx; while true; do a+=$a; done", "larger than 1 MiB"},
	{"doubling of arguments", "set -- x y; while true; do set -- \"$@\" \"$@\"; done", "arguments of set"},
	{"squaring", "a=$(printf '%04096d' 0); a=$a$a$a$a; b=${a//0/$a}; b=${b//0/$b}", "MiB"},
	{"default value", ": ${a:=$(printf '%04096d' 0)}; : ${b:=" + strings.Repeat("$a", 300) + "}", "larger than 1 MiB"},
	{"braces", "echo {1..1000000000}", "brace expansion"},
	{"braces in braces", "echo " + strings.Repeat("{1..100}", 6), "brace expansion"},
	{"braces with text", "a=$(printf '%04096d' 0); echo {1..16000}$a", "MiB"},
	{"braces with substitutions", "echo {1..9000}$(printf '%04096d' 0)", "MiB"},
	{"printf", "printf '%1000000000s' x", "width"},
	{"printf many", "printf '" + strings.Repeat("%4000s", 400) + "' x", "more than 1 MiB"},
	{"substitution", "x=$(while true; do printf '%04096d' 0; done)", "yields more than 1 MiB"},
	{"substitution of a file", "printf '%04096d' 0 > f; for i in 1 2 3 4 5 6 7 8 9; do cat f f > g; mv g f; done; x=$(<f)", "yields more than 1 MiB"},
	{"line", "printf '%04096d' 0 > f; for i in 1 2 3 4 5 6 7; do cat f f > g; mv g f; done; read x < f", "a line is longer"},
	{"lines", "printf '%04096d' 0 | tr 0 '\\n' > f; for i in 1 2 3 4 5 6 7 8 9; do cat f f > g; mv g f; done; mapfile x < f", "reads more than 1 MiB"},
	{"here-document", "a=$(printf '%04096d' 0); cat <<E\n" + strings.Repeat("$a", 5000) + "\nE", "more than 16 MiB"},
	{"index of an array", "a[1000000000000]=x; echo ${#a[@]}", ""},
	{"arithmetic", "echo $((9999999999 ** 9999999999)) $((1 << 99999))", ""},
	{"nested brackets", strings.Repeat("(", 60000), ""},
	{"nested substitutions", strings.Repeat("$(", 30000), ""},
	{"nested braces", strings.Repeat("{ ", 30000), ""},
	{"nested expansions", "echo " + strings.Repeat("${a:-", 10000), ""},
	{"nested quotes", "echo " + strings.Repeat("\"$(", 15000), ""},
	{"nested arithmetic", "echo $((" + strings.Repeat("(", 60000), ""},
	{"nested test", "[[ " + strings.Repeat("( ", 30000), ""},
	{"nested not", strings.Repeat("! ", 30000) + "true", ""},
	{"nested test of test", "x='( ( ( ( ( '; x=$x$x$x$x$x; x=$x$x$x$x$x; x=$x$x$x$x$x; test $x", "test: too many arguments"},
	{"a long list", "true" + strings.Repeat(" && true", 8000), "nested too deeply"},
	{"a long program", strings.Repeat("true\n", 20000), "64 KiB"},

	// files
	{"disk", "printf '%04096d' 0 > f; while true; do cat f f > g; mv g f; done", ""},
	{"disk by append", "while true; do printf '%04096d' 0 >> f; done", ""},
	{"files", "i=0; while true; do i=$((i+1)); : > f$i; done", ""},
	{"folders", "i=0; while true; do i=$((i+1)); mkdir d$i; done", ""},
	{"copies", "mkdir a; echo > a/x; while true; do cp -r a b; mv b a; done", ""},
	{"copy to itself", "mkdir a; cp -r a a/b; cp -r . a", "itself"},
	{"expansion like a zip bomb", "printf '%04096d' 0 > f; for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do cat f >> g; done; mv g f; done", ""},
	{"output flood", "while true; do printf '%04096d' 0; done", ""},
	{"open files", "while true; do exec < /dev/null; done", "files are open"},

	// time
	{"pattern of grep", "printf '%04096d' 0 | tr 0 a > f; while true; do grep -E '(a*)*b' f; cat f f > g; mv g f; done", ""},
	{"repeats of grep", "echo a | grep -E '((a{100}){100}){100}'", "repeats too much"},
	{"pattern of test", "a=$(printf '%04096d' 0); a=$a$a$a$a; while true; do [[ $a =~ (0*)*(0*)*(0*)*(0*)*b ]]; done", ""},
}

// slowEscapes take long until a bound stops them.
func slowEscapes() []escape {
	return []escape{
		{"recursion of xargs", "echo 'echo x | xargs sh me' > me; sh me", "too deeply"},
		{"doubling of an array", "a=(x y); while true; do a=(\"${a[@]}\" \"${a[@]}\"); done", "MiB"},
		{"patterns of files", "mkdir a b c d e f; echo " + strings.Repeat("*/../", 30), "processed more than"},
		{"output of a pipe", "while true; do printf '%04096d%04096d%04096d%04096d' 0 0 0 0; done | cat", ""},
		{"sort", "printf '%04096d' 0 | tr 0 '\\n' > f; while true; do cat f f > g; mv g f; sort f; done", ""},
		{"pattern of case", "a=$(printf '%04096d' 0); p='*0*0*0*0'; p=$p$p$p$p$p; p=$p$p$p$p$p; p=$p$p$p$p$p; case $a in $p) ;; esac; while true; do case $a in $p) ;; esac; done", ""},
		{"pattern of an expansion", "a=$(printf '%04096d' 0); p='*0*0*0*0'; p=$p$p$p$p$p; p=$p$p$p$p$p; p=$p$p$p$p$p; while true; do b=${a##$p}; done", ""},
		{"pattern of sed", "printf '%04096d' 0 > f; while true; do sed -E 's/(0*)*(0*)*1/x/' f; done", ""},
		{"pattern of find", "while find . -name '" + strings.Repeat("*a", 1000) + "'; do :; done", ""},
		{"nested if", strings.Repeat("if ", 20000), ""},
		{"export to scripts", "for i in 1 2 3 4 5 6 7 8 9; do export v$i=x; done; f(){ sh -c 'echo $v1'; f; }; f", ""},
	}
}

// run tries an escape in a sandbox of its own and returns all that it says.
func (e escape) run(t testing.TB, limits sandbox.Limits) (sandbox.Result, string) {
	s := New(Options{Steps: 20_000, Disk: 4 << 20, Files: 1000})
	r, err := s.Execute(t.Context(), sandbox.Request{Skill: "demo", Files: demo(), Command: e.command, Limits: limits})
	said := r.Stopped + "\n" + string(r.Stderr)
	if err != nil {
		said = err.Error() + "\n" + said
	}
	if s.tree.size > 4<<20 || s.tree.files > 1000 {
		t.Errorf("%s: %d bytes in %d files", e.name, s.tree.size, s.tree.files)
	}
	return r, said
}

// TestEscapes shows what stops each attempt.
func TestEscapes(t *testing.T) {
	all := escapes
	if testsize.Rounds(1, 2) > 1 {
		all = append(slices.Clone(all), slowEscapes()...)
	}
	for _, e := range all {
		start := time.Now()
		r, said := e.run(t, sandbox.Limits{Output: 64 << 10})
		if os.Getenv("V") != "" {
			t.Logf("%s: %v: exit %d stopped %q err %.300q", e.name, time.Since(start), r.ExitCode, r.Stopped, said)
		}
		if !strings.Contains(said, e.says) {
			t.Errorf("%s: it says %.300q, want %q", e.name, said, e.says)
		}
		if strings.Contains(r.Stopped, "cannot run this program") {
			t.Errorf("%s: the interpreter panics: %s", e.name, r.Stopped)
		}
		if bytes.Contains(r.Stdout, []byte("root:x:")) {
			t.Errorf("%s: it reads the list of users", e.name)
		}
	}
	if found, err := filepath.Glob("/tmp/sh-interp-*"); err != nil || found != nil {
		t.Error(found, err)
	}
}

package sandboxtest

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// others are the cases of what lies in the folder of a skill and is not the skill's.
var others = []check{
	{"LeftOvers", "What tools and systems leave in the folder of a skill is not there for a command, nor is it through a link.", func(s *suite) {
		s.leave(map[string]string{"scripts/__pycache__/b.pyc": "left", "scripts/c.pyc": "left", ".DS_Store": "left", "node_modules/m/x.js": "left", ".git/config": "left",
			"leak": "-> .git/config", "lib": "-> node_modules/m", "more/own.txt": "own\n", "near": "-> more/own.txt"})
		s.leave(s.linkedFolder())
		s.seesOnly(s.request("scripts/see.sh"), "data of the skill\nown\nown\nown\n")
		s.refused(s.request("sh scripts/c.pyc"), sandbox.NotFound)
	}},
	{"Listed", "Of a skill whose files are listed no other is there for a command.", func(s *suite) {
		s.leave(map[string]string{"c.pyc": "left", "ignored.txt": "left", "scripts/late.sh": "echo left", "more/own.txt": "own\n", "near": "-> more/own.txt", "leak": "-> ignored.txt"})
		s.leave(s.linkedFolder())
		r := s.request("scripts/see.sh", s.dir+"/data.txt")
		r.Listed = append(slices.Collect(maps.Keys(files)), "more/own.txt", "near", "scripts/folder/own.txt")
		if s.options.Shell {
			r.Args = nil // it sees the skill elsewhere
		}
		s.seesOnly(r, "data of the skill\nown\nown\nown\n"+strings.Repeat("data of the skill\n", len(r.Args)))
		r.Command = "sh scripts/late.sh"
		s.refused(r, sandbox.NotFound)
	}},
	{"Compiled", "Python reads no compiled file that lies beside a script, whether its source is there or not.", func(s *suite) {
		python, err := exec.LookPath("python3")
		if err != nil || s.options.Shell {
			s.Skip("needs python3")
		}
		s.leave(map[string]string{"scripts/helper.py": "print('compiled')", "scripts/lone.py": "print('compiled')", "scripts/use.py": "import helper\nimport lone\n"})
		compile := exec.Command(python, "-c", "import py_compile as c, sys; m = c.PycInvalidationMode.UNCHECKED_HASH; c.compile('helper.py', invalidation_mode=m); c.compile('lone.py', 'lone.pyc', invalidation_mode=m)")
		compile.Dir = filepath.Join(s.dir, "scripts")
		if out, err := compile.CombinedOutput(); err != nil {
			s.Fatalf("%v: %s", err, out)
		}
		s.leave(map[string]string{"scripts/helper.py": "print('source')"})
		if err := os.Remove(filepath.Join(s.dir, "scripts", "lone.py")); err != nil {
			s.Fatal(err)
		}
		res, err := s.executor.Execute(s.Context(), s.request("python3 scripts/use.py"))
		if err != nil {
			s.Skip("no Python in there: ", err)
		}
		s.wants(res, 1, "source\n")
		if !strings.Contains(string(res.Stderr), "lone") {
			s.Errorf("error output %q", res.Stderr)
		}
	}},
}

// linkedFolder returns a link to a folder of the skill, or what it leads to if the executor follows
// none.
func (s *suite) linkedFolder() map[string]string {
	if s.options.Shell {
		return map[string]string{"scripts/folder/own.txt": "own\n"}
	}
	return map[string]string{"scripts/folder": "-> ../more"}
}

// leave writes files into the folder of the skill; a text "-> target" is a link.
func (s *suite) leave(files map[string]string) {
	s.Helper()
	for name, text := range files {
		name = filepath.Join(s.dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = errors.Join(err, os.Symlink(filepath.FromSlash(target), name))
		} else {
			err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644))
		}
		if err != nil {
			s.Fatal(err)
		}
	}
}

// seesOnly runs scripts/see.sh, and checks that it has found nothing that was left.
func (s *suite) seesOnly(r sandbox.Request, want string) {
	s.Helper()
	res := s.run(r)
	s.wants(res, 0, want)
	if text := string(res.Stdout) + string(res.Stderr); strings.Contains(text, "left") {
		s.Errorf("a command sees what is not the skill's: %s", text)
	}
}

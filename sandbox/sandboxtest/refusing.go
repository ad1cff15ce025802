package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// refusing are the cases of commands that do not run.
var refusing = []check{
	{"Blank", "A blank command is refused as such.", func(s *suite) {
		for _, command := range []string{"", "  \n", "# a comment"} {
			s.refused(s.request(command), sandbox.Blank)
		}
	}},
	{"Syntax", "Only one simple command is accepted: no lists, pipes, redirections, expansions, globs or assignments.", func(s *suite) {
		list := []string{"scripts/args.sh 'a", `scripts/args.sh "a`}
		if !s.options.Shell {
			list = append(list, "scripts/args.sh a; scripts/args.sh b", "scripts/args.sh | cat", "scripts/args.sh && true", "scripts/args.sh &",
				"scripts/args.sh > file", "scripts/args.sh $HOME", "scripts/args.sh $(id)", "scripts/args.sh `id`", "scripts/args.sh *", "A=b scripts/args.sh")
		}
		for _, command := range list {
			s.refused(s.request(command), sandbox.Syntax)
		}
	}},
	{"NothingAllowed", "Without an entry in Allowed nothing runs, and the error names the entry that is needed.", func(s *suite) {
		s.needsRules()
		r := s.request("scripts/args.sh")
		r.Allowed = nil
		if e := s.refused(r, sandbox.Refused); e != nil && !strings.Contains(e.Hint, "`scripts/args.sh`") {
			s.Errorf("the hint is %q", e.Hint)
		}
	}},
	{"NotAllowed", "A command that no entry names does not run, however it is spelled.", func(s *suite) {
		s.needsRules()
		for _, command := range []string{"ls", "sh -c true", "sh -c scripts/args.sh", "env scripts/args.sh", "./data.txt", "/bin/sh scripts/args.sh"} {
			r := s.request(command)
			if _, err := s.executor.Execute(s.Context(), r); err == nil {
				s.Errorf("%q runs", command)
			}
		}
		if e := s.refused(s.request("ls"), sandbox.Refused); e != nil && !strings.Contains(e.Hint, "`ls`") {
			s.Errorf("the hint is %q", e.Hint)
		}
	}},
	{"Unknown", "A command that does not exist is told as a shell tells it.", func(s *suite) {
		r := s.request("no-such-command")
		r.Allowed = []string{"*"}
		if e := s.refused(r, sandbox.NotFound); e != nil && !strings.HasPrefix(e.Fact, "sh: no-such-command: command not found") {
			s.Errorf("the fact is %q", e.Fact)
		}
	}},
	{"MissingPath", "A script that does not exist is told as a shell tells it.", func(s *suite) {
		for _, command := range []string{"scripts/none.sh", "sh scripts/none.sh"} {
			if e := s.refused(s.request(command), sandbox.NotFound); e != nil && !strings.HasPrefix(e.Fact, "sh: scripts/none.sh: No such file") {
				s.Errorf("the fact is %q", e.Fact)
			}
		}
	}},
	{"NotExecutable", "A file without permission to run is refused, but runs through its interpreter. A folder does not run.", func(s *suite) {
		if s.options.Shell {
			s.Skip("a shell without processes may ignore permissions")
		}
		if e := s.refused(s.request("scripts/plain.sh"), sandbox.NotExecutable); e != nil && !strings.Contains(e.Hint, "sh scripts/plain.sh") {
			s.Errorf("the hint is %q", e.Hint)
		}
		s.refused(s.request("./scripts"), sandbox.NotExecutable)
	}},
	{"Shebang", "A script whose first line names a missing interpreter is refused, and the error names the interpreter.", func(s *suite) {
		if s.options.Shell {
			s.Skip("a shell without processes runs scripts itself")
		}
		for command, name := range map[string]string{"scripts/broken.sh": "/no/such/interpreter", "scripts/no-env.sh": "no-such-interpreter"} {
			if e := s.refused(s.request(command), sandbox.BadShebang); e != nil && !strings.Contains(e.Fact, name) {
				s.Errorf("the fact is %q", e.Fact)
			}
		}
	}},
	{"Outside", "A path that leaves the folder of the skill does not run, through a link neither.", func(s *suite) {
		outside := filepath.Join(s.TempDir(), "x.sh")
		if err := os.WriteFile(outside, []byte("#!/bin/sh\necho outside\n"), 0o755); err != nil {
			s.Fatal(err)
		}
		list := []string{"../x.sh", "sh ../x.sh", "scripts/../../x.sh", "'" + outside + "'"}
		if err := os.Symlink(outside, filepath.Join(s.dir, "scripts", "link.sh")); err == nil && !s.options.Shell {
			list = append(list, "scripts/link.sh", "sh scripts/link.sh")
		}
		for _, command := range list {
			s.refused(s.request(command), sandbox.Outside)
		}
	}},
}

func (s *suite) needsRules() {
	s.Helper()
	if s.options.Shell {
		s.Skip("a shell without processes needs no rules")
	}
}

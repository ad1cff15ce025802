package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// running are the cases of commands that run.
var running = []check{
	{"Exit", "A command that fails is a result with its exit code, not an error. A result names its executor.", func(s *suite) {
		for _, code := range []int{0, 1, 3, 127} {
			r := s.run(s.request(fmt.Sprintf("scripts/exit.sh %d", code)))
			s.wants(r, code, "")
			if r.Executor == "" || r.Duration <= 0 || r.Truncated || r.Signal != "" || r.Stopped != "" {
				s.Errorf("the result is %+v", r)
			}
		}
	}},
	{"Spellings", "A script runs by its path, with or without ./, and through sh, whether its name is absolute or not.", func(s *suite) {
		commands := []string{"scripts/args.sh x", "./scripts/args.sh x", "sh scripts/args.sh x", "sh ./scripts/args.sh x", "scripts/../scripts/args.sh x"}
		if !s.options.Shell {
			commands = append(commands, "'"+filepath.Join(s.dir, "scripts", "args.sh")+"' x")
		}
		for _, command := range commands {
			s.wants(s.run(s.request(command)), 0, "[x]\n")
		}
		s.wants(s.run(s.request("sh scripts/plain.sh")), 0, "plain\n")
	}},
	{"Args", "Quotes hold words together, and Args are handed over as they are.", func(s *suite) {
		s.wants(s.run(s.request(`scripts/args.sh "a b" 'c  $d' e\ f ""`, "g h", "$i *", "'j'", "-k")), 0,
			"[a b]\n[c  $d]\n[e f]\n[]\n[g h]\n[$i *]\n['j']\n[-k]\n")
		s.wants(s.run(s.request(`"scripts/two words.sh"`)), 0, "two words\n")
	}},
	{"Streams", "Output and error output are kept apart.", func(s *suite) {
		r := s.run(s.request("scripts/streams.sh"))
		s.wants(r, 0, "to stdout\n")
		if string(r.Stderr) != "to stderr\n" {
			s.Errorf("error output %q", r.Stderr)
		}
	}},
	{"Stdin", "A command reads Stdin to its end; nil is an empty input.", func(s *suite) {
		r := s.request("scripts/cat.sh")
		s.wants(s.run(r), 0, "")
		r.Stdin = strings.NewReader("typed\n")
		s.wants(s.run(r), 0, "typed\n")
	}},
	{"UnreadStdin", "A command that does not read its input ends all the same, even if the input never ends.", func(s *suite) {
		r := s.request("scripts/exit.sh 4")
		r.Stdin = endless{}
		s.wants(s.run(r), 4, "")
	}},
	{"Folder", "The working folder is the folder of the skill.", func(s *suite) {
		s.wants(s.run(s.request("scripts/where.sh")), 0, "data of the skill\n")
	}},
	{"Env", "A command sees no variable of this process but a few harmless ones, and those in Env.", func(s *suite) {
		r := s.request("scripts/env.sh")
		r.Env = map[string]string{"GIVEN": "a b"}
		s.wants(s.run(r), 0, "canary= given=a b\n")
	}},
	{"Concurrent", "An executor may be used from several goroutines.", func(s *suite) {
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				r, err := s.executor.Execute(s.Context(), s.request("scripts/args.sh", fmt.Sprint(i)))
				if want := fmt.Sprintf("[%d]\n", i); err != nil || string(r.Stdout) != want {
					s.Errorf("output %q and error %v, want %q", r.Stdout, err, want)
				}
			})
		}
		group.Wait()
	}},
	{"NotOnDisk", "A skill that is not on disk runs from Files; its scripts need no permission bits.", func(s *suite) {
		r := s.request("./scripts/where.sh")
		r.Dir, r.Files = "", fstest.MapFS{}
		for name, text := range files {
			r.Files.(fstest.MapFS)[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
		}
		s.wants(s.run(r), 0, "data of the skill\n")
		r.Command = "sh scripts/args.sh x"
		s.wants(s.run(r), 0, "[x]\n")
	}},
}

// endless is an input that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}

// folders are the cases of what a command reads and writes.
var folders = []check{
	{"Fork", "What happens in a fork of an executor with files of its own, the other does not see.", func(s *suite) {
		box, ok := s.executor.(sandbox.Box)
		if !ok {
			s.Skip("the executor keeps no files")
		}
		one, other := box.Fork(), box.Fork()
		for _, x := range []sandbox.Box{one, other} {
			if err := x.MountSkill(s.Context(), s.request("x")); err != nil {
				s.Fatal(err)
			}
		}
		s.executor = one
		s.run(s.request("echo spoilt > " + one.SkillPath("tried") + "/data.txt"))
		s.wants(s.run(s.request("scripts/where.sh")), 0, "spoilt\n")
		if one.Size() <= box.Size() {
			s.Errorf("a fork with a skill has the size %d, one without %d", one.Size(), box.Size())
		}
		s.executor = other
		s.wants(s.run(s.request("scripts/where.sh")), 0, "data of the skill\n")
		s.executor = box
		s.wants(s.run(s.request("scripts/where.sh")), 0, "data of the skill\n")
	}},
	{"Private", "HOME and TMPDIR name the private folder of the run, which the next run does not see.", func(s *suite) {
		if s.options.Shell {
			s.Skip("a shell without processes has no private folder")
		}
		s.wants(s.run(s.request("scripts/private.sh")), 0, "kept\n")
		r := s.request(`sh -c 'ls -A "$TMPDIR"'`)
		r.Allowed = []string{"sh"}
		s.wants(s.run(r), 0, "")
	}},
	{"SkillStays", "No command changes the folder of the skill on disk.", func(s *suite) {
		if s.options.Unconfined {
			s.Skip("nothing keeps a command of this executor from it")
		}
		s.run(s.request("scripts/spoil.sh"))
		if text, err := os.ReadFile(filepath.Join(s.dir, "data.txt")); string(text) != files["data.txt"] {
			s.Errorf("the file is now %q, %v", text, err)
		}
	}},
	{"WorkspaceRead", "A command finds the workspace in the variable WORKSPACE, and only reads it unless it may write.", func(s *suite) {
		r := s.request("scripts/read.sh")
		r.Workspace.Dir = s.workspace()
		s.wants(s.run(r), 0, "of the user\n")
		if s.options.Unconfined {
			return
		}
		r.Command = "scripts/write.sh"
		if res := s.run(r); res.ExitCode == 0 && !s.options.ReadOnlyWorkspace {
			s.Error("writing succeeds")
		}
		if _, err := os.Stat(filepath.Join(r.Workspace.Dir, "out.txt")); err == nil {
			s.Error("the file was written")
		}
	}},
	{"WorkspaceWrite", "A command that may write to the workspace changes the user's files.", func(s *suite) {
		if s.options.ReadOnlyWorkspace {
			s.Skip("this executor never writes to it")
		}
		r := s.request("scripts/write.sh")
		r.Workspace = sandbox.Workspace{Dir: s.workspace(), Write: true}
		s.wants(s.run(r), 0, "")
		if text, err := os.ReadFile(filepath.Join(r.Workspace.Dir, "out.txt")); string(text) != "written\n" {
			s.Errorf("the file is %q, %v", text, err)
		}
	}},
	{"WorkspaceNone", "Without a workspace the variable WORKSPACE is not set.", func(s *suite) {
		r := s.run(s.request("scripts/read.sh")) // cat /in.txt
		if r.ExitCode == 0 {
			s.Errorf("reading succeeds: %q", r.Stdout)
		}
	}},
}

// workspace makes a folder of the user.
func (s *suite) workspace() string {
	s.Helper()
	dir := s.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in.txt"), []byte("of the user\n"), 0o644); err != nil {
		s.Fatal(err)
	}
	return dir
}

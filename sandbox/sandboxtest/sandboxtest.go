// Package sandboxtest checks that an implementation of sandbox.Executor keeps its contract.
// The one rule: a case says in a sentence what it wants, for whoever writes an executor.
package sandboxtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// Options say what an executor cannot do. The zero value asks for everything.
type Options struct {
	// Shell means that the executor is a shell itself, without processes: a command line
	// may hold pipes and lists, needs no rule, and what it cannot run is an exit code.
	Shell bool

	// Unconfined means that there are no walls: nothing keeps a command from other files,
	// from the network, and from using up the machine.
	Unconfined bool

	// ReadOnlyWorkspace means that what a command writes to the workspace stays inside the
	// executor.
	ReadOnlyWorkspace bool
}

// A check is one case of the contract.
type check struct {
	name string
	why  string
	test func(*suite)
}

// A suite is what a case works with.
type suite struct {
	*testing.T
	executor sandbox.Executor
	options  Options
	dir      string // folder of the skill
}

// Test runs all cases. newExecutor is called once for each.
func Test(t *testing.T, newExecutor func(t *testing.T) sandbox.Executor, o Options) {
	t.Setenv("REPERTOIRE_TEST_CANARY", "secret")
	for _, list := range [][]check{running, refusing, stopping, folders, walls, others} {
		for _, c := range list {
			t.Run(c.name, func(t *testing.T) {
				t.Cleanup(func() {
					if t.Failed() {
						t.Log("The contract: " + c.why)
					}
				})
				c.test(&suite{t, newExecutor(t), o, writeSkill(t)})
			})
		}
	}
}

// files are the skill under test.
var files = map[string]string{
	"SKILL.md":             "---\nname: tried\ndescription: Is tried.\n---\n",
	"data.txt":             "data of the skill\n",
	"scripts/args.sh":      "#!/bin/sh\nfor a in \"$@\"; do echo \"[$a]\"; done\n",
	"scripts/plain.sh":     "echo plain\n",
	"scripts/exit.sh":      "#!/bin/sh\nexit \"$1\"\n",
	"scripts/streams.sh":   "#!/bin/sh\necho to stdout\necho to stderr >&2\n",
	"scripts/cat.sh":       "#!/bin/sh\ncat\n",
	"scripts/where.sh":     "#!/bin/sh\ncat data.txt\n",
	"scripts/env.sh":       "#!/bin/sh\necho \"canary=$REPERTOIRE_TEST_CANARY given=$GIVEN\"\n",
	"scripts/private.sh":   "#!/bin/sh\necho kept >\"$TMPDIR/file\"\ncat \"$HOME/file\"\n",
	"scripts/loop.sh":      "#!/bin/sh\nwhile true; do true; done\n",
	"scripts/stubborn.sh":  "#!/bin/sh\ntrap '' TERM\nsleep 100\nsleep 100\n",
	"scripts/long.sh":      "#!/bin/sh\ni=0\nwhile [ $i -lt 500 ]; do echo 'A line of twenty...'; i=$((i+1)); done\n",
	"scripts/child.sh":     "#!/bin/sh\n{ echo up; exec sleep 100; } >\"$WORKSPACE/pipe\" &\nwait\n",
	"scripts/leave.sh":     "#!/bin/sh\n{ echo up; exec sleep 100; } >\"$WORKSPACE/pipe\" &\necho left\n",
	"scripts/read.sh":      "#!/bin/sh\ncat \"$WORKSPACE/in.txt\"\n",
	"scripts/write.sh":     "#!/bin/sh\necho written >\"$WORKSPACE/out.txt\"\n",
	"scripts/spoil.sh":     "#!/bin/sh\necho spoilt >data.txt\n",
	"scripts/broken.sh":    "#!/no/such/interpreter\necho never\n",
	"scripts/no-env.sh":    "#!/usr/bin/env no-such-interpreter\necho never\n",
	"scripts/two words.sh": "#!/bin/sh\necho two words\n",
	"scripts/see.sh": "#!/bin/sh\ncat data.txt more/own.txt near scripts/folder/own.txt \"$@\" || exit 9\n" +
		"for f in .DS_Store c.pyc leak lib lib/x.js scripts/c.pyc scripts/__pycache__/b.pyc node_modules/m/x.js .git/config ignored.txt scripts/late.sh; do\n" +
		"\tif [ -e \"$f\" ]; then echo \"left $f\"; fi\ndone\n",

	// Scripts that try to leave.
	"scripts/canary.sh":  "#!/bin/sh\ncat \"$1/canary\"\n",
	"scripts/outside.sh": "#!/bin/sh\necho x >\"$1/new\"\necho x >\"$1/canary\"\necho x >/new-file-of-a-skill\n",
	"scripts/link.sh":    "#!/bin/sh\nln -s \"$1/canary\" \"$WORKSPACE/link\"\ncat \"$WORKSPACE/link\"\n",
	"scripts/disk.sh":    "#!/bin/sh\nx=0123456789abcdef; x=$x$x$x$x; x=$x$x$x$x; x=$x$x$x$x\nwhile echo \"$x\"; do true; done >\"$TMPDIR/large\"\nexit 9\n",
	"scripts/connect.sh": "exec 3<>\"/dev/tcp/127.0.0.1/$1\" && cat <&3\n",
	"scripts/bomb.sh":    "#!/bin/sh\ni=0\nwhile [ $i -lt 60 ]; do sleep 1 & i=$((i+1)); done\nwait\n",
	"scripts/zombie.sh":  "#!/bin/sh\n(true &)\ntrue &\nexit 5\n",
	"scripts/flood.sh":   "#!/bin/sh\nwhile true; do echo flood; done\n",
}

// writeSkill makes the folder of the skill.
func writeSkill(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tried")
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// request returns a request for a command that is allowed.
func (s *suite) request(command string, args ...string) sandbox.Request {
	return sandbox.Request{Skill: "tried", Dir: s.dir, Command: command, Args: args, Allowed: []string{"scripts/*"}}
}

// run runs a request that must not be refused.
func (s *suite) run(r sandbox.Request) sandbox.Result {
	s.Helper()
	res, err := s.executor.Execute(s.Context(), r)
	if err != nil {
		s.Fatalf("%q is an error: %v", r.Command, err)
	}
	return res
}

// wants compares a result.
func (s *suite) wants(r sandbox.Result, code int, stdout string) {
	s.Helper()
	if got := string(r.Stdout); r.ExitCode != code || got != stdout {
		s.Errorf("exit code %d and output %q, want %d and %q; error output %q, stopped %q", r.ExitCode, got, code, stdout, r.Stderr, r.Stopped)
	}
}

// refused runs a request that must be an *Error with the reason. A shell may return an
// exit code that tells of a failure instead, and its error output.
func (s *suite) refused(r sandbox.Request, reason sandbox.Reason) *sandbox.Error {
	s.Helper()
	res, err := s.executor.Execute(s.Context(), r)
	if e, ok := errors.AsType[*sandbox.Error](err); ok {
		if e.Reason != reason || e.Fact == "" || e.Hint == "" {
			s.Errorf("%q is refused with reason %q, fact %q, hint %q; want reason %q, a fact and a hint", r.Command, e.Reason, e.Fact, e.Hint, reason)
		}
		return e
	}
	if !s.options.Shell || reason == sandbox.Blank || res.ExitCode == 0 || len(res.Stderr) == 0 {
		s.Errorf("%q gives the result %+v and the error %v, want an *Error with reason %q", r.Command, res, err, reason)
	}
	return nil
}

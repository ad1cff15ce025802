package sandboxtest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// short is the time limit of commands that do not end by themselves.
const short = 100 * time.Millisecond

// stopping are the cases of commands that are ended or cut.
var stopping = []check{
	{"Timeout", "A command that runs too long is stopped. The result says why, and its exit code is not 0.", func(s *suite) {
		s.stopped("scripts/loop.sh")
	}},
	{"Stubborn", "A command that ignores SIGTERM is killed.", func(s *suite) {
		if s.options.Shell {
			s.Skip("a shell without processes gets no signals")
		}
		s.stopped("scripts/stubborn.sh")
	}},
	{"Children", "What a command started is killed with it.", func(s *suite) {
		r := s.request("scripts/child.sh")
		gone := s.watch(&r)
		r.Limits.Timeout = short
		s.run(r)
		gone()
	}},
	{"Leftover", "What a command started is killed when the command ends, and does not hold its result up.", func(s *suite) {
		r := s.request("scripts/leave.sh")
		gone := s.watch(&r)
		s.wants(s.run(r), 0, "left\n")
		gone()
	}},
	{"Cancelled", "When its context ends, a command is killed, and the error is the context's.", func(s *suite) {
		ended, cancel := context.WithCancel(s.Context())
		cancel()
		soon, cancel := context.WithTimeout(s.Context(), short)
		defer cancel()
		for _, ctx := range []context.Context{ended, soon} {
			if r, err := s.executor.Execute(ctx, s.request("scripts/loop.sh")); err == nil || !errors.Is(err, ctx.Err()) {
				s.Errorf("the error is %v, and the result %+v", err, r)
			}
		}
	}},
	{"Output", "Output beyond the limit is left out; a mark says that, and how much. The command is not disturbed.", func(s *suite) {
		r := s.request("scripts/long.sh") // 10,000 bytes
		r.Limits.Output = 1010
		res := s.run(r)
		text := string(res.Stdout)
		if res.ExitCode != 0 || !res.Truncated || len(text) < 1010 || len(text) > 1200 || !strings.Contains(text[1000:], "8990") {
			s.Errorf("exit code %d, truncated %v, output of %d bytes that ends with %q", res.ExitCode, res.Truncated, len(text), text[max(0, len(text)-80):])
		}
		r.Limits = sandbox.Limits{}
		if res := s.run(r); len(res.Stdout) != 10000 || res.Truncated {
			s.Errorf("%d bytes of 10,000, truncated %v", len(res.Stdout), res.Truncated)
		}
	}},
}

// stopped runs a command that does not end by itself.
func (s *suite) stopped(command string) {
	s.Helper()
	r := s.request(command)
	r.Limits.Timeout = short
	if res := s.run(r); res.Stopped == "" || res.ExitCode == 0 {
		s.Errorf("stopped %q, exit code %d, signal %q", res.Stopped, res.ExitCode, res.Signal)
	}
}

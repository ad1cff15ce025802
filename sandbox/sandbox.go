// Package sandbox runs the scripts of skills and keeps them away from everything that is not
// theirs. The one rule: a command runs only if the skill's list of allowed tools names it, and
// what an executor cannot keep it from stands in the result.
package sandbox

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// An Executor runs commands of skills. It may be used from several goroutines. Package
// sandboxtest holds the tests that each must pass.
//
// The packages of this module call Check before Execute, and so must every other caller. So an
// executor gets a command that Split takes apart into one program and its arguments, and the
// program is one that Request.Allowed names: a file of the skill, or a name that is not a path.
// An executor must start this program and no other: it may pass the words of Split and Args to
// the system, or Command to a shell whose working folder is the skill's. A Shell gets whole
// programs whose commands are all checked, and a Harmless executor gets everything.
type Executor interface {
	// Execute runs one command to its end. A command that ran and failed, or was stopped, is
	// a Result, not an error. A command that did not run is an *Error. When ctx ends, the
	// command and all that it started are killed, and the error is ctx's.
	Execute(ctx context.Context, r Request) (Result, error)
}

// An ExecutorFunc is a function that is an Executor.
type ExecutorFunc func(ctx context.Context, r Request) (Result, error)

// Execute calls f.
func (f ExecutorFunc) Execute(ctx context.Context, r Request) (Result, error) { return f(ctx, r) }

// A Request is one command of a skill.
type Request struct {
	Skill string // name of the skill

	// Dir is the folder of the skill, an absolute path, and the working folder of the
	// command; "" means that the skill is not on disk.
	Dir string

	// Files are the files of the skill, for skills that are not on disk and for executors
	// without processes; nil means those in Dir.
	Files fs.FS

	// Listed are the paths of the skill's files in Dir, slash-separated: those that its digest
	// covers. Other files in Dir are not there for the command. nil means all but what is never
	// part of a skill, such as .git, node_modules and compiled Python.
	Listed []string

	// Command is split into words as a shell does it. Nothing in it is expanded but
	// $WORKSPACE, and it is one command: pipes, lists and redirections are refused, but by an
	// executor that is a shell itself.
	Command string

	Args  []string          // further arguments, each as it is; nil means none
	Stdin io.Reader         // nil means none
	Env   map[string]string // beside the few variables that each command gets; nil means none

	// Allowed are the tools that the skill may use, as in its frontmatter: "git", "scripts/*",
	// "*", "Bash(git:*)". nil means that nothing runs, but in a Harmless executor.
	Allowed []string

	Workspace Workspace // files of the user; zero means none
	Limits    Limits
}

// A Workspace is a folder of the user that a command may use beside its skill.
// The command finds it in the variable WORKSPACE.
type Workspace struct {
	Dir   string // absolute; "" means none
	Write bool   // false means that the command may only read it
}

// Limits bound a run. Zero values are the defaults; what an executor cannot bound stands in
// Result.Unprotected.
type Limits struct {
	Timeout   time.Duration // 0 means DefaultTimeout
	Output    int64         // bytes of each of Stdout and Stderr; 0 means DefaultOutput
	CPU       time.Duration // of one process; 0 means the Timeout
	Memory    int64         // bytes of address space of one process; 0 means DefaultMemory
	Processes int           // at once; 0 means DefaultProcesses
	Disk      int64         // bytes written to the private folder, and to one file; 0 means DefaultDisk
	Network   []int         // TCP ports that it may connect to; nil means none
}

// The defaults of Limits.
const (
	DefaultTimeout   = 60 * time.Second
	DefaultOutput    = 1 << 20
	DefaultMemory    = 2 << 30
	DefaultProcesses = 64
	DefaultDisk      = 256 << 20
)

// A Result is what became of a command that ran.
type Result struct {
	// ExitCode is as a shell gives it: 128 + the number of the signal that ended it. It is
	// not 0 if the command was stopped.
	ExitCode  int
	Stdout    []byte
	Stderr    []byte
	Truncated bool // Stdout or Stderr was longer than Limits.Output; it ends with a mark
	Duration  time.Duration
	Signal    string // that ended the command, such as "SIGKILL"; "" means none
	Stopped   string // why the executor ended it, such as "it ran longer than 60s"; "" means that it ended by itself

	Executor    string   // "confined", "plain", "bubblewrap", "container" or "virtual"
	Unprotected []string // what nothing kept the command from, on this machine; nil means that all holds
}

// A Reason is why a command did not run.
type Reason string

// The reasons.
const (
	Blank         Reason = "blank command"
	Syntax        Reason = "not one command"     // quotes that do not end, pipes, lists, expansions
	Refused       Reason = "not allowed"         // the skill's list of tools does not name it
	NotFound      Reason = "not found"           // no such file, or no such command
	NotExecutable Reason = "not executable"      // a file without permission to run
	BadShebang    Reason = "no such interpreter" // the first line of the script names a program that is not there
	Outside       Reason = "illegal path"        // a path that leaves the skill's folder
	Unavailable   Reason = "executor unavailable"
)

// An Error says why a command did not run.
type Error struct {
	Reason Reason
	Fact   string // what is so, as a shell says it: "sh: x: No such file"
	Hint   string // what to do
	Err    error  // the cause; nil means none
}

func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Fact
	}
	return e.Fact + "; " + e.Hint
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

package sandbox

import (
	"context"
	"os/exec"
	"runtime"
	"slices"
)

// Options change the executors of this package. The zero value is the safest.
type Options struct {
	// AllowUnconfined lets commands run without walls around them.
	AllowUnconfined bool
}

// NewPlain returns an executor that starts commands as they are: with the rights of this
// process, a clean environment, limits of time and output, and no walls. It refuses all
// unless o allows unconfined commands.
func NewPlain(o Options) Executor { return plain{o} }

type plain struct{ options Options }

// Execute is of interface Executor. It goes on reading from r.Stdin if the command ends first.
func (p plain) Execute(ctx context.Context, r Request) (Result, error) {
	if !p.options.AllowUnconfined {
		return Result{}, &Error{Reason: Unavailable, Fact: "the plain executor puts no walls around commands",
			Hint: "to let them do all that you can do, pass --allow-unconfined; or use another executor"}
	}
	run, err := Prepare(r, nil)
	if err != nil {
		return Result{}, err
	}
	defer run.Close()
	res, err := run.Do(ctx, exec.Command(run.Argv[0], run.Argv[1:]...))
	res.Executor, res.Unprotected = "plain", unconfined()
	return res, err
}

// unconfined returns what nothing keeps a command of the plain executor from.
func unconfined() []string {
	list := []string{
		"it can read, change and delete all files that you can, the skill's and the workspace's too",
		"it can connect to every address",
		"its memory, CPU time, processes and disk space have no limit",
		"a process that leaves its process group goes on after the command",
	}
	if runtime.GOOS == "windows" {
		list = slices.Replace(list, 3, 4, "a process that it started can go on after it")
	}
	return list
}

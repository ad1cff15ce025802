// Package cli is the command line of Repertoire: its commands with their flags, tables,
// messages and help.
//
// The one rule: it has no logic of its own; it opens catalogs through the configuration
// and prints what they return.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/steps"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/sandbox"
	"github.com/repertoire-skills/repertoire/skill"
)

// Exit codes of the command.
const (
	exitOK    = 0 // also if nothing is relevant
	exitError = 1
	exitUsage = 2
)

// Main runs the command of the process, a program of this name, and returns its exit
// status. The first signal ends it in good order, a second one at once. A hook watches
// for no signal: it leaves nothing to be put in order, and watching costs it time.
func Main(name string) int {
	defer steps.Write()
	steps.Done("start")
	sandbox.Main() // in a helper of the sandbox it does not return
	// Most runs end within milliseconds, a quarter of which collecting garbage would take.
	setGarbage(400)
	cobra.EnableCommandSorting = false // the help lists commands in the order in which people need them
	ctx := context.Background()
	if callsHook(os.Args[1:]) {
		// If the program has a mistake, it must not end with the runtime's status
		// of 2, for which clients drop the prompt, but by a signal.
		debug.SetTraceback("crash")
	} else {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
	}
	return newEnv(nameFor(name, os.Args[0]), os.Stdin, os.Stdout, os.Stderr).execute(ctx, os.Args[1:])
}

// setGarbage sets how much garbage may gather, in percent of what is in use, unless the
// environment says so.
func setGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// execute runs the command and returns its exit code.
func (e env) execute(ctx context.Context, args []string) int {
	root := e.root()
	if !e.addAsked(root, args) {
		e.addCommands(root)
	}
	if completes(args) {
		e.addCompletion(root)
	}
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	if errors.Is(err, errReported) {
		return exitError
	}
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	fmt.Fprintf(e.stderr, "skills: %s\n", messageOf(err))
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(e.stderr, "skills: hint: %s\n", hint)
	}
	if usage, ok := errors.AsType[*usageError](err); ok && !strings.HasSuffix(usage.command, " hook") && !callsHook(args) {
		return exitUsage
	}
	return exitError
}

// A usageError is a wrong use of the command line; the help of command explains the right one.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// checked returns a step of a command whose errors are wrong uses of it.
func checked(check func(args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(args); err != nil {
			return &usageError{cmd.CommandPath(), err}
		}
		return nil
	}
}

// errReported ends the command with exitError and without a further message.
var errReported = errors.New("reported")

// reportedIf returns errReported if the command has failed.
func reportedIf(failed bool) error {
	if failed {
		return errReported
	}
	return nil
}

// messageOf returns an error on one line.
func messageOf(err error) string {
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return message(err.Error())
}

// hintFor says what to do about an error.
func hintFor(err error) string {
	usage, ok := errors.AsType[*usageError](err)
	switch {
	case ok:
		return fmt.Sprintf("%q shows how it is used", usage.command+" --help")
	case errors.Is(err, context.Canceled):
		return "what was done is kept, and the next run goes on from there"
	case isHeld(err):
		return `"skills list" shows the states of all skills; "skills show NAME --held" prints one that is held back`
	case errors.Is(err, install.ErrNotInstalled):
		return `this is about skills that "skills install" has installed; "skills doctor NAME" checks any skill`
	case errors.Is(err, skill.ErrNotFound):
		return `"skills list" shows all names, "skills search" finds some`
	}
	return ""
}

// command builds the tree of commands.
func (e env) command() *cobra.Command {
	root := e.root()
	e.addCommands(root)
	return root
}

// root builds the program without its commands.
func (e env) root() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:           cmp.Or(e.name, ownName),
		Short:         "Find the agent skills that fit a prompt",
		Long:          about,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return e.session(cmd).checkFolders(cmd)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(e.session(cmd).screen)
			}
			return runStatus(cmd.Context(), e.session(cmd), cmd.Root().Name())
		},
	}
	f := root.PersistentFlags()
	f.StringArray("root", nil, "look for skills in this `folder` too (repeatable)")
	f.Bool("only-root", false, "look nowhere else than in the folders given with --root")
	f.String("config", "", "read this configuration `file` instead of the usual ones")
	f.String("db", "", "keep the catalog in this `file`")
	storeFlags(f)
	f.String("agent", "", "see only what the configured agent `name` may see")
	f.Bool("json", false, "print the result as JSON")
	f.BoolP("quiet", "q", false, "print nothing but the result and errors")
	f.BoolP("verbose", "v", false, "tell what is done")
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	e.setHelp(root)
	return root
}

// level holds the flags --disturb, --unfit and --threshold of a command.
type level struct {
	shares      [2]float64 // see levelShares
	probability float64
	given       func(flag string) bool
}

// levelShares are the flags that are shares of prompts that should get no offer.
var levelShares = [2]struct {
	flag, usage string
	standard    float64
}{
	{"disturb", "offer skills to at most about this `share` of the prompts that need none", rank.DefaultRate},
	{"unfit", "offer skills to at most about this `share` of the prompts that need one which is not there", rank.DefaultUnfit},
}

func (l *level) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	for i, s := range levelShares {
		f.Float64Var(&l.shares[i], s.flag, s.standard, s.usage)
	}
	f.Float64Var(&l.probability, "threshold", 0, "instead of both: offer skills from this `probability` on")
	l.given = f.Changed
}

func (l *level) check() error {
	for i, s := range levelShares {
		switch x := l.shares[i]; {
		case l.given(s.flag) && l.given("threshold"):
			return fmt.Errorf("--%s and --threshold decide the same; leave one of them out", s.flag)
		case !(x >= 0 && x <= 1):
			return fmt.Errorf("--%s is a share from 0 to 1, not %g", s.flag, x)
		}
	}
	if !(l.probability >= 0 && l.probability <= 1) {
		return fmt.Errorf("--threshold is a probability from 0 to 1, not %g", l.probability)
	}
	return nil
}

// disturb and unfit return the shares for the library, where 0 means the configured ones.
func (l *level) disturb() float64 { return l.share(0) }

func (l *level) unfit() float64 { return l.share(1) }

func (l *level) share(i int) float64 {
	if !l.given(levelShares[i].flag) {
		return 0
	}
	return cmp.Or(l.shares[i], repertoire.OnlyNamed)
}

// threshold returns the probability for the library, where 0 means the configured one.
func (l *level) threshold() float64 {
	if !l.given("threshold") {
		return 0
	}
	return cmp.Or(l.probability, repertoire.Always)
}

// flags returns the flags of this call that choose the catalog and the agent, in a form
// that works in any folder.
func (s *session) flags() ([]string, error) {
	var list []string
	var errs []error
	add := func(flag, path string) {
		if path != "" {
			abs, err := filepath.Abs(path)
			list, errs = append(list, flag, cmp.Or(abs, path)), append(errs, err)
		}
	}
	for _, root := range s.roots {
		add("--root", root)
	}
	if s.onlyRoot {
		list = append(list, "--only-root")
	}
	add("--config", s.config)
	add("--db", s.db)
	shared, err := s.storeArgs()
	list, errs = append(list, shared...), append(errs, err)
	if s.agent != "" {
		list = append(list, "--agent", s.agent)
	}
	return list, errors.Join(errs...)
}

// count returns a number with its noun.
func count(n int, noun string) string { return figures.Count(n, noun) }

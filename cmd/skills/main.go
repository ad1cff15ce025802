// Command skills finds the agent skills that fit a prompt and serves them.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() { os.Exit(mainCode()) }

// mainCode runs the command. The first signal ends it in good order, a second
// one at once. A hook leaves nothing to be put in order, and each signal that is
// watched for costs it time.
func mainCode() int {
	if os.Getenv("GOGC") == "" {
		// Most runs end within milliseconds, a quarter of which collecting
		// garbage would take.
		debug.SetGCPercent(400)
	}
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
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

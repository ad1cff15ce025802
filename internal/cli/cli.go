// Package cli is the command line of Repertoire: its commands with their flags, tables,
// messages and help.
//
// The one rule: it has no logic of its own; it opens catalogs through the configuration
// and prints what they return.
package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Main runs the command of the process and returns its exit status. The first
// signal ends it in good order, a second one at once. A hook watches for no signal:
// it leaves nothing to be put in order, and watching costs it time.
func Main() int {
	// Most runs end within milliseconds, a quarter of which collecting garbage would take.
	setGarbage(400)
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

// setGarbage sets how much garbage may gather, in percent of what is in use, unless the
// environment says so.
func setGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

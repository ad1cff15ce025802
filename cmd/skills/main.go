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
// one at once.
func mainCode() int {
	if os.Getenv("GOGC") == "" {
		// Most runs end within milliseconds, a quarter of which collecting
		// garbage would take.
		debug.SetGCPercent(400)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

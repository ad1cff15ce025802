// Command skills-train trains the built-in embedder on a corpus of skills. It learns
// a vector for every frequent word, and for the 4-grams of all other words, so that
// texts of one skill are near to each other and far from texts of other skills. The
// same corpus, settings and kind of processor give the same weights.
package main

import (
	"context"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

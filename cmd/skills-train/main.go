// Command skills-train makes the built-in embedder from a corpus of skills: it
// learns a vector for every frequent word, and for the 4-grams of all others,
// such that texts cut from one skill are near to each other and far from texts
// of other skills. The same corpus, settings and kind of processor give the same
// weights.
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

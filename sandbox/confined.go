package sandbox

import (
	"os"
	"sync/atomic"
	"syscall"
)

// helperName is the name, argv[0], under which the confined executor starts this program
// again. It holds no secret: what a helper does is told over a pipe.
const helperName = "skill-sandbox-helper"

// mainCalled says that this program has called Main. It is the one variable of the package:
// without Main, a helper would run the program once more, and New could not know.
var mainCalled atomic.Bool

// Main must be the first call of main (or TestMain) in a program that uses the confined
// executor. The executor starts the program again as its helper, because walls around a
// process can never be removed. In a helper, Main does not return.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == helperName {
		syscall.Exit(help()) // os.Exit would wait for a second under the race detector
	}
	mainCalled.Store(true)
}

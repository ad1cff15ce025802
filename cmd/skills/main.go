// Command skills finds the agent skills that fit a prompt and serves them.
package main

import (
	"os"

	"github.com/repertoire-skills/repertoire/internal/cli"
	"github.com/repertoire-skills/repertoire/sandbox"
)

func main() {
	sandbox.Main() // in a helper of the sandbox, it does not return
	os.Exit(cli.Main())
}

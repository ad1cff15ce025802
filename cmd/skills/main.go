// Command skills finds the agent skills that fit a prompt and serves them.
package main

import (
	"os"

	"github.com/repertoire-skills/repertoire/internal/cli"
)

func main() { os.Exit(cli.Main("skills")) }

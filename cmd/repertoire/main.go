// Command repertoire is the command skills under a name that no other program has.
package main

import (
	"os"

	"github.com/repertoire-skills/repertoire/internal/cli"
)

func main() { os.Exit(cli.Main("repertoire")) }

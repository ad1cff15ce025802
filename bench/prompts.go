package bench

import (
	_ "embed"
	"strings"
)

// promptFile holds realistic prompts of several lengths and languages, written
// for this project; a line with % alone separates two of them.
//
//go:embed prompts.txt
var promptFile string

// Prompts returns the prompts that speed is measured with. Some of them are of
// kinds that want no skill.
func Prompts() []string {
	return strings.Split(strings.TrimSuffix(promptFile, "\n"), "\n%\n")
}

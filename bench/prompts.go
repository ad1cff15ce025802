package bench

import (
	_ "embed"
	"strings"
)

// promptFile holds realistic prompts of several lengths and languages. A line with
// only % separates two prompts.
//
//go:embed prompts.txt
var promptFile string

// Prompts returns the prompts with which speed is measured. Some of them are of kinds
// that need no skill.
func Prompts() []string {
	return strings.Split(strings.TrimSuffix(promptFile, "\n"), "\n%\n")
}

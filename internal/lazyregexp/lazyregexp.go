// Package lazyregexp compiles regular expressions at their first use. Compiling all
// expressions of this program takes as long as ranking a prompt, and a hook, which is
// started for every prompt, needs none of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled pattern. Like
// regexp.MustCompile it panics when the pattern is malformed, but only then.
func New(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

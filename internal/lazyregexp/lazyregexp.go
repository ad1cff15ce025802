// Package lazyregexp puts off the compilation of regular expressions until they
// are needed: compiling all of them takes as long as ranking a prompt,
// and a hook, which is started for every prompt, needs none of them.
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

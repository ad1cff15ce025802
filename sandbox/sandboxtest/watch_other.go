//go:build !unix

package sandboxtest

import "github.com/repertoire-skills/repertoire/sandbox"

// watch skips the test: it needs named pipes in folders.
func (s *suite) watch(*sandbox.Request) (gone func()) {
	s.Helper()
	s.Skip("no named pipes in folders here")
	return nil
}

// noChildren does nothing: nobody must wait for processes here.
func (s *suite) noChildren() {}

//go:build !unix

package unpack

// nonblock has no effect here: only Unix has named pipes in its file systems.
const nonblock = 0

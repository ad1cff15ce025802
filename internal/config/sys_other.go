//go:build !unix

package config

// nonblock has no effect here: only Unix has pipes in its file systems.
const nonblock = 0

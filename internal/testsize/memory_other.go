//go:build !linux

package testsize

// inMemory does nothing: there is no folder in memory.
func inMemory() {}

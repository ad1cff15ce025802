//go:build !windows && (!unix || aix || solaris || illumos)

package snapshot

import "os"

// mapFile reads the first size bytes of f, because this system has no mapping.
func mapFile(f *os.File, size int) ([]byte, func() error, error) { return readFile(f, size) }

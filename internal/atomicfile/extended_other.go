//go:build unix && !linux && !darwin && !freebsd && !netbsd

package atomicfile

// copyExtended does nothing: Go cannot read extended attributes here.
func (*tempFile) copyExtended(string) error { return nil }

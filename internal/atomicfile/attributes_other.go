//go:build !unix

package atomicfile

import "io/fs"

// copyAttributes does nothing: a file here has none of the attributes that it copies
// elsewhere.
func (*tempFile) copyAttributes(string, fs.FileInfo) error { return nil }

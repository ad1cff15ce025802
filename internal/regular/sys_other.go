//go:build !unix

package regular

import "io/fs"

// Nonblock is the flag that keeps the opening of a named pipe from waiting for its writer. It is 0
// here: only Unix has them in its file systems.
const Nonblock = 0

// identity returns nothing: here, which file it is shows only when it is open.
func identity(fs.FileInfo) []uint64 { return nil }

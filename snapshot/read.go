package snapshot

import (
	"io"
	"os"
)

// readFile replaces mapping on systems without it: it reads the bytes into memory.
func readFile(f *os.File, size int) ([]byte, func() error, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(size)), data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}

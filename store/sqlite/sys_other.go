//go:build !unix

package sqlite

import "os"

// checkWritable fails if the file cannot be written. Here, closing the file releases no
// locks of others.
func checkWritable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

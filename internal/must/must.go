// Package must does in tests what has to succeed: where it fails, the test ends at once.
package must

import (
	"os"
	"path/filepath"
	"testing"
)

// Do fails the test if there is an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Write writes a file, and the folders in which it lies, for nobody but this user.
func Write(t testing.TB, path, text string) {
	t.Helper()
	Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// Read returns the text of a file.
func Read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	Do(t, err)
	return string(data)
}

// Files writes files below a folder, by their slash-separated paths.
func Files(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		Write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
}

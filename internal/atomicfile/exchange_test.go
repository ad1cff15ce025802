package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestExchange: two folders have each other's contents afterwards, or are as they were.
func TestExchange(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, folder := range []string{a, b} {
		must.Do(t, errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, filepath.Base(folder)), nil, 0o600)))
	}
	err := atomicfile.Exchange(a, b)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	in := map[bool]string{true: filepath.Join(b, "a"), false: filepath.Join(a, "a")}[err == nil]
	if _, err := os.Stat(in); err != nil {
		t.Error(err)
	}
	if err := atomicfile.Exchange(a, filepath.Join(dir, "none")); err == nil {
		t.Error("a folder is exchanged with nothing")
	}
}

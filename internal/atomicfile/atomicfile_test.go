package atomicfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile"
)

func TestWrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "", "a longer second text"} {
		if err := atomicfile.Write(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(name); err != nil || string(data) != text {
			t.Errorf("%q, %v; want %q", data, err, text)
		}
	}
	// A file that cannot take the place of a folder leaves nothing behind.
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(folder, nil); err == nil {
		t.Error("a folder was replaced")
	}
	if left, err := filepath.Glob(folder + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := atomicfile.Write(filepath.Join(folder, "absent", "file"), nil); err == nil {
		t.Error("a file was written to a folder that does not exist")
	}
}

// TestWriteWhole: a reader never sees a part of the content.
func TestWriteWhole(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	texts := [][]byte{bytes.Repeat([]byte("a"), 1<<16), bytes.Repeat([]byte("b"), 1<<15)}
	if err := atomicfile.Write(name, texts[0]); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		var err error
		for i := range 200 {
			if err = atomicfile.Write(name, texts[i%2]); err != nil {
				break
			}
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		if data, err := os.ReadFile(name); err != nil || !bytes.Equal(data, texts[0]) && !bytes.Equal(data, texts[1]) {
			t.Fatalf("%d bytes, %v", len(data), err)
		}
	}
}

// TestReplace: permissions are set, and an error of check leaves the file as it is.
func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := atomicfile.Replace(name, []byte("a"), 0o640, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	refusal := errors.New("no")
	if err := atomicfile.Replace(name, []byte("b"), 0o640, func() error { return refusal }); !errors.Is(err, refusal) {
		t.Errorf("the error is %v", err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "a" {
		t.Errorf("%q, %v", data, err)
	}
	if left, err := filepath.Glob(name + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

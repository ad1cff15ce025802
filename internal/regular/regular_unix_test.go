//go:build unix

package regular

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestSpecial: nothing but a regular file is opened, and nobody waits for a pipe.
func TestSpecial(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	listener, err := net.Listen("unix", at("socket"))
	must.Do(t, err)
	defer listener.Close()
	err = errors.Join(os.Mkdir(at("directory"), 0o700), syscall.Mkfifo(at("named pipe"), 0o600), os.Symlink("/dev/zero", at("device")))
	must.Do(t, err)
	for _, kind := range []string{"directory", "named pipe", "socket", "device"} {
		_, err := Open(at(kind))
		_, readErr := ReadFile(at(kind))
		for _, err := range []error{err, readErr, Check(at("missing"), at(kind))} {
			if !errors.Is(err, ErrSpecial) || !strings.HasPrefix(err.Error(), at(kind)+" is a "+kind) {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if _, err := ReadShort(at(kind), 9); !errors.Is(err, ErrSpecial) {
			t.Errorf("%s as settings: %v", kind, err)
		}
		if look := Look(at(kind)); look != "" {
			t.Errorf("%s looks like a file: %q", kind, look)
		}
	}
}

// TestReadShort: a file that is too long is an error, not a part of it.
func TestReadShort(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(name, []byte("12345"), 0o600))
	if text, err := ReadShort(name, 5); err != nil || string(text) != "12345" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadShort(name, 4); err == nil || err.Error() != "it is longer than 4 bytes" {
		t.Errorf("a long file: %v", err)
	}
}

// TestLook: a change and a replacement show, reading does not.
func TestLook(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if Look(name) != "" {
		t.Error("a missing file looks like one")
	}
	write := func(name, text string) {
		t.Helper()
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write(name, "one")
	must.Do(t, os.Symlink(name, name+".link"))
	before := Look(name)
	if data, err := ReadFile(name + ".link"); err != nil || string(data) != "one" || Look(name) != before || Look(name+".link") != before {
		t.Errorf("%q, %v; it looks %q, before %q", data, err, Look(name), before)
	}
	info, err := os.Stat(name)
	must.Do(t, err)
	// A copy with the same size and time is another file.
	write(name+".copy", "two")
	must.Do(t, errors.Join(os.Chtimes(name+".copy", info.ModTime(), info.ModTime()), os.Rename(name+".copy", name)))
	if Look(name) == before {
		t.Error("the copy looks like the file")
	}
	if _, err := Open(filepath.Join(name, "below")); err == nil || errors.Is(err, ErrSpecial) {
		t.Errorf("below a file: %v", err)
	}
}

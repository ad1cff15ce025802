package config_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/config"
)

// TestLastGoodFullDisk: settings that could not be kept are not replaced by older ones, which
// may offer more.
func TestLastGoodFullDisk(t *testing.T) {
	home := filepath.Dir(machine(t))
	own, state := filepath.Join(home, "own.yaml"), t.TempDir()
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(state, syscall.MNT_DETACH) })
	const bad = "user: maybe\n"
	read := func(text string) error {
		write(t, own, text)
		_, err := config.Read(home, &config.Options{State: state, LastGood: text == bad, Warn: func(error) {}})
		return err
	}
	try(t, read("schedule: never\n"))
	try(t, read(bad))
	f, err := os.Create(filepath.Join(state, "ballast"))
	try(t, err)
	if _, err := io.Copy(f, strings.NewReader(strings.Repeat("x", 1<<20))); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	try(t, f.Close())
	try(t, read("agents: {a: {exclude: {names: [secret]}}}\n"))
	if err := read(bad); err == nil {
		t.Error("settings from before the exclusion hold")
	}
}

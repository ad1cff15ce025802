package config_test

import (
	"path/filepath"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/atomicfile/crashtest"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

// TestLastGoodFullDisk: settings that could not be kept are not replaced by older ones, which
// may offer more.
func TestLastGoodFullDisk(t *testing.T) {
	home := filepath.Dir(machine(t))
	own, state := filepath.Join(home, "own.yaml"), crashtest.SmallDisk(t, "64k")
	const bad = "user: maybe\n"
	read := func(text string) error {
		must.Write(t, own, text)
		_, err := config.Read(home, &config.Options{State: state, LastGood: text == bad, Warn: func(error) {}})
		return err
	}
	must.Do(t, read("schedule: never\n"))
	must.Do(t, read(bad))
	crashtest.Fill(t, filepath.Join(state, "ballast"))
	must.Do(t, read("agents: {a: {exclude: {names: [secret]}}}\n"))
	if err := read(bad); err == nil {
		t.Error("settings from before the exclusion hold")
	}
}

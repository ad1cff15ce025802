package config_test

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/config"
)

func TestStateDir(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("LocalAppData", filepath.Join(home, "local"))
	usual := filepath.Join(home, ".local", "state", "repertoire")
	if runtime.GOOS == "windows" {
		usual = filepath.Join(home, "local", "repertoire", "state")
	}
	for _, tt := range []struct{ own, xdg, want string }{
		{"", "", usual},
		{"", "relative", usual},
		{"", filepath.Join(home, "xdg"), filepath.Join(home, "xdg", "repertoire")},
		{filepath.Join(home, "own"), filepath.Join(home, "xdg"), filepath.Join(home, "own")},
	} {
		t.Setenv("REPERTOIRE_STATE", tt.own)
		t.Setenv("XDG_STATE_HOME", tt.xdg)
		if got, err := config.StateDir(); err != nil || got != tt.want {
			t.Errorf("REPERTOIRE_STATE=%q XDG_STATE_HOME=%q: %s, error %v; want %s", tt.own, tt.xdg, got, err, tt.want)
		}
	}
	t.Setenv("REPERTOIRE_STATE", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	t.Setenv("LocalAppData", "")
	if got, err := config.StateDir(); err == nil {
		t.Errorf("without a home: %s", got)
	}
}

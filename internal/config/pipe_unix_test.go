//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/must"
)

func makePipe(_ *testing.T, name string) error { return syscall.Mkfifo(name, 0o600) }

// TestPipe: a pipe in place of a file of the user, or of its copy, is not waited for.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	name, state := filepath.Join(dir, "own.yaml"), filepath.Join(dir, "state")
	o := &config.Options{File: name, State: state, LastGood: true}
	must.Write(t, name, "user: false\n")
	_, err := config.Read(dir, o)
	must.Do(t, err)
	must.Do(t, os.Remove(name))
	must.Do(t, makePipe(t, name))
	var s config.Settings
	if err := s.ReadUser(name); err == nil || err.Error() != name+": it is not a regular file" {
		t.Errorf("error %v", err)
	}
	if s, err := config.Read(dir, o); err != nil || s.User {
		t.Errorf("settings %+v, %v", s, err)
	}
	copies, err := filepath.Glob(filepath.Join(state, "settings", "*"))
	must.Do(t, err)
	must.Do(t, os.Remove(copies[0]))
	must.Do(t, makePipe(t, copies[0]))
	if _, err := config.Read(dir, o); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}

// TestPluginPipe: nobody waits for a pipe that a project has in place of its settings, which name plugins
// and folders.
func TestPluginPipe(t *testing.T) {
	_, project := pluginHome(t, map[string]string{"src/p/.claude/skills/own/SKILL.md": aSkill("own")})
	must.Do(t, makePipe(t, filepath.Join(project, ".claude", "settings.json")))
	_, found, warned := skills(t, project)
	if len(found) != 3 || len(warned) != 2 || !strings.Contains(warned[0].Error(), "not a regular file") {
		t.Errorf("found %q, warnings %v", found, warned)
	}
}

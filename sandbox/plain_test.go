package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a folder of a skill. Files that begin with "#!" are executable.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		try(t, os.MkdirAll(filepath.Dir(name), 0o755))
		mode := os.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		try(t, os.WriteFile(name, []byte(text), mode))
	}
	return dir
}

func TestPlain(t *testing.T) {
	dir := write(t, map[string]string{"scripts/x.sh": "#!/bin/sh\necho \"$@\"; exit 3\n"})
	e := NewPlain(Options{AllowUnconfined: true})
	r, err := e.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: `./scripts/x.sh "a b" c`, Allowed: []string{"scripts/*"}})
	try(t, err)
	if string(r.Stdout) != "a b c\n" || r.ExitCode != 3 || len(r.Unprotected) == 0 {
		t.Errorf("got %+v, output %q", r, r.Stdout)
	}
}

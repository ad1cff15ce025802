package sandbox

import (
	"testing"
)

func TestConfined(t *testing.T) {
	e, err := New(Options{})
	try(t, err)
	dir := write(t, map[string]string{"scripts/x.sh": "#!/bin/sh\necho \"$@\"; exit 3\n"})
	r, err := e.Execute(t.Context(), Request{Skill: "x", Dir: dir, Command: `./scripts/x.sh "a b" c`, Allowed: []string{"scripts/*"}})
	try(t, err)
	if string(r.Stdout) != "a b c\n" || r.ExitCode != 3 || r.Stopped != "" {
		t.Errorf("got %+v, output %q", r, r.Stdout)
	}
}

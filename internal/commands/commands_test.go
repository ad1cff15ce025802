package commands

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/skill"
)

// path makes a PATH of one folder with these commands.
func path(t *testing.T, commands ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range commands {
		if runtime.GOOS == "windows" {
			name += ".EXE"
			t.Setenv("PATHEXT", ".COM;.EXE")
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700))
	}
	t.Setenv("PATH", dir)
	return dir
}

func TestMissing(t *testing.T) {
	dir := path(t, "gh", "c++")
	must.Do(t, os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600))
	t.Setenv("MY_TOKEN", "secret")
	t.Setenv("EMPTY", "")
	f := New([]string{"terraform", "CI"})
	tests := []struct {
		needs skill.Needs
		want  string
	}{
		{skill.Needs{}, ""},
		{skill.Needs{Skills: []string{"pdf"}, Optional: []string{"ocr"}}, ""}, // the catalog knows them
		{skill.Needs{Commands: []string{"gh", "c++", "GH", "terraform"}, Env: []string{"MY_TOKEN", "CI"}}, ""},
		{skill.Needs{Commands: []string{"gh", "jq"}}, "the command jq, which is not in PATH"},
		{skill.Needs{Commands: []string{"jq", "fd", "rg"}}, "the commands jq, fd and rg, which are not in PATH"},
		{skill.Needs{AnyOf: []string{"podman", "gh"}}, ""},
		{skill.Needs{AnyOf: []string{"podman"}}, "the command podman, which is not in PATH"},
		{skill.Needs{AnyOf: []string{"podman", "docker"}, Env: []string{"EMPTY"}},
			"one of the commands podman and docker, none of which is in PATH; the environment variable EMPTY, which is not set"},
		{skill.Needs{Env: []string{"EMPTY", "MY_TOKEN", "UNSET_BY_ALL"}}, "the environment variables EMPTY and UNSET_BY_ALL, which are not set"},
		{skill.Needs{Either: []string{"gh", "flow"}}, "flow, which is neither a skill nor a command in PATH"},
	}
	if runtime.GOOS != "windows" { // where a file without an extension is no command
		tests = append(tests, struct {
			needs skill.Needs
			want  string
		}{skill.Needs{Commands: []string{"notes"}}, "the command notes, which is not in PATH"}) // not executable
	}
	for _, tt := range tests {
		if got := strings.Join(f.Missing(t.Context(), tt.needs), "; "); got != tt.want {
			t.Errorf("%+v lacks %q, want %q", tt.needs, got, tt.want)
		}
	}
}

// TestKeep: an answer counts for some seconds.
func TestKeep(t *testing.T) {
	path(t)
	f, now := New(nil), time.Unix(1e9, 0)
	f.now = func() time.Time { return now }
	n := skill.Needs{Commands: []string{"gh"}}
	missing := func() bool { return len(f.Missing(t.Context(), n)) > 0 }
	if !missing() {
		t.Fatal("gh is there")
	}
	path(t, "gh")
	if now = now.Add(keep - 1); !missing() {
		t.Error("looked again too early")
	}
	if now = now.Add(1); missing() {
		t.Error("did not look again")
	}
}

// TestLate: what is not found in time counts as there, and only one look-up at a time waits
// for a disk.
func TestLate(t *testing.T) {
	f, now, looks := New(nil), time.Unix(1e9, 0), 0
	f.now = func() time.Time { return now }
	disk := make(chan struct{})
	f.look = func(string) (string, error) {
		looks++
		<-disk
		return "", exec.ErrNotFound
	}
	n := skill.Needs{Commands: []string{"gh", "jq"}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for range 2 {
		if list := f.Missing(ctx, n); list != nil {
			t.Errorf("missing %q", list)
		}
	}
	f.left = 0 // the time of all look-ups is over
	if list := f.Missing(t.Context(), n); list != nil {
		t.Errorf("missing %q", list)
	}
	disk <- struct{}{}
	f.late <- <-f.late // wait until the look-up that was left behind has ended
	if looks != 1 {
		t.Errorf("%d look-ups", looks)
	}
	close(disk)
	now = now.Add(keep)
	if list := f.Missing(t.Context(), n); len(list) != 1 {
		t.Errorf("missing %q once the disk answers", list)
	}
}

// TestLimit: however many commands a call looks for, it takes no longer than the limit, and a
// little for the last look-up.
func TestLimit(t *testing.T) {
	f, now, looks := New(nil), time.Unix(1e9, 0), 0
	f.now = func() time.Time { return now }
	f.look = func(string) (string, error) {
		looks++
		now = now.Add(time.Second)
		return "", exec.ErrNotFound
	}
	var n skill.Needs
	for i := range 100 {
		n.Commands = append(n.Commands, fmt.Sprint("cmd", i))
	}
	f.Missing(t.Context(), n)
	if most := int(limit / time.Second); looks != most {
		t.Errorf("%d look-ups of a second; the limit is %d s", looks, most)
	}
}

// endless is a context that has a deadline and is never done.
type endless struct{ context.Context }

func (endless) Deadline() (time.Time, bool) { return time.Now().Add(time.Millisecond), true }

// TestHalf: a look-up leaves its caller time before the deadline.
func TestHalf(t *testing.T) {
	f, disk := New(nil), make(chan struct{})
	defer close(disk)
	f.look = func(string) (string, error) {
		<-disk
		return "", exec.ErrNotFound
	}
	if list := f.Missing(endless{t.Context()}, skill.Needs{Commands: []string{"gh"}}); list != nil {
		t.Errorf("missing %q", list)
	}
}

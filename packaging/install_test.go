package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// An installation is one run of install.sh.
type installation struct {
	url    string            // of the releases
	args   []string          // of install.sh
	system string            // that uname names; "" means this one
	hidden string            // commands that are not installed
	env    map[string]string // further variables
	home   string            // gets the folder of the user
}

// run runs install.sh and returns what it says.
func (in *installation) run(t *testing.T) (said string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	in.home = filepath.Join(dir, "home")
	bin := filepath.Join(dir, "bin")
	try(t, os.Mkdir(bin, 0o755))
	try(t, os.Mkdir(in.home, 0o755))
	for _, name := range strings.Fields("sh uname curl wget sha256sum shasum cut grep tar gzip mktemp mkdir cp chmod mv rm cat sysctl") {
		if path, err := exec.LookPath(name); err == nil && !strings.Contains(" "+in.hidden+" ", " "+name+" ") {
			try(t, os.Symlink(path, filepath.Join(bin, name)))
		}
	}
	if in.system != "" {
		try(t, os.Remove(filepath.Join(bin, "uname")))
		try(t, os.WriteFile(filepath.Join(bin, "uname"), []byte("#!/bin/sh\n[ $1 = -s ] && echo "+strings.Replace(in.system, " ", " || echo ", 1)+"\n"), 0o755))
	}
	script, err := filepath.Abs("../install.sh")
	try(t, err)
	cmd := exec.Command("sh", append([]string{script}, in.args...)...)
	cmd.Env = []string{"HOME=" + in.home, "PATH=" + bin, "REPERTOIRE_RELEASES=" + in.url, "TMPDIR=" + t.TempDir()}
	for name, value := range in.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	if left, err := os.ReadDir(strings.TrimPrefix(cmd.Env[3], "TMPDIR=")); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v in the folder for temporary files (%v)", left, err)
	}
	return string(out), err == nil
}

// released serves a release, and its archives as change makes them.
func released(t *testing.T, change func(path string, data []byte) []byte) string {
	t.Helper()
	dist, tag := os.Getenv("REPERTOIRE_DIST"), "v1.2.3" // of a real build
	if dist == "" {
		r, binary := newRelease(t, "1.2.3")
		try(t, r.archive(platform{runtime.GOOS, runtime.GOARCH}, binary))
		try(t, r.describe())
		dist = r.out
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		from, name := filepath.Split(req.URL.Path)
		data, err := os.ReadFile(filepath.Join(dist, name))
		if data = change(name, data); err != nil || data == nil || from != "/latest/download/" && from != "/download/"+tag+"/" {
			http.NotFound(w, req)
			return
		}
		w.Write(data)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func asIs(_ string, data []byte) []byte { return data }

// needsUnix skips a test where install.sh does not run.
func needsUnix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
}

// TestInstall: the program is installed and runs.
func TestInstall(t *testing.T) {
	needsUnix(t)
	url := released(t, asIs)
	for name, in := range map[string]*installation{
		"latest":     {},
		"version":    {args: []string{"--version", "1.2.3"}},
		"with v":     {args: []string{"--version", "v1.2.3"}},
		"wget":       {hidden: "curl"},
		"shasum":     {hidden: "sha256sum"},
		"other name": {args: []string{"--name", "repertoire"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil && in.hidden != "" {
				t.Skipf("needs %s", name)
			}
			in.url = url
			said, ok := in.run(t)
			program := filepath.Join(in.home, ".local/bin/skills")
			if name == "other name" {
				program = filepath.Join(in.home, ".local/bin/repertoire")
			}
			if !ok || !strings.Contains(said, "installed "+program+": ") || !strings.Contains(said, filepath.Dir(program)+" is not in PATH") {
				t.Errorf("it says\n%s", said)
			}
			if entries, err := os.ReadDir(filepath.Dir(program)); err != nil || len(entries) != 1 {
				t.Errorf("it has installed %v (%v)", entries, err)
			}
			if out, err := exec.Command(program, "version").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestInstallPrefix: an older program in $PREFIX is replaced, and another one of the same
// name that comes first in PATH is named.
func TestInstallPrefix(t *testing.T) {
	needsUnix(t)
	prefix, other := t.TempDir(), t.TempDir()
	try(t, os.Mkdir(filepath.Join(prefix, "bin"), 0o755))
	for _, dir := range []string{filepath.Join(prefix, "bin"), other} {
		try(t, os.WriteFile(filepath.Join(dir, "skills"), []byte("#!/bin/sh\necho other\n"), 0o755))
	}
	in := &installation{url: released(t, asIs), env: map[string]string{"PREFIX": prefix, "PATH": other + ":" + prefix + "/bin:" + os.Getenv("PATH")}}
	said, ok := in.run(t)
	if !ok || !strings.Contains(said, "skills means another program, "+other+"/skills, which comes first in PATH") || strings.Contains(said, "is not in PATH") {
		t.Errorf("it says\n%s", said)
	}
	if out, err := exec.Command(prefix+"/bin/skills", "version").Output(); err != nil || strings.Contains(string(out), "other") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestInstallRefuses: nothing is installed unless all is well, and the reason is said.
func TestInstallRefuses(t *testing.T) {
	needsUnix(t)
	good := released(t, asIs)
	longer := func(name string, data []byte) []byte {
		if strings.HasSuffix(name, ".tar.gz") {
			return append(data, 0)
		}
		return data
	}
	twice := func(name string, data []byte) []byte {
		if name == "checksums.txt" {
			return append(data, strings.ReplaceAll(string(data), "  ", "  other_")...)
		}
		return data
	}
	no := func(missing string) func(string, []byte) []byte {
		return func(name string, data []byte) []byte {
			if strings.HasSuffix(name, missing) {
				return nil
			}
			return data
		}
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, tt := range map[string]struct {
		in   installation
		want string
	}{
		"wrong checksum":    {installation{url: released(t, longer)}, "nothing is installed"},
		"two archives":      {installation{url: released(t, twice)}, "several archives"},
		"missing archive":   {installation{url: released(t, no(".tar.gz"))}, "cannot download"},
		"missing checksums": {installation{url: released(t, no("checksums.txt"))}, "cannot download"},
		"no network":        {installation{url: closed.URL}, "cannot download"},
		"no such version":   {installation{url: good, args: []string{"--version", "9.9.9"}}, "cannot download"},
		"unknown machine":   {installation{url: good, system: "Linux riscv64"}, "no archive for the machine riscv64"},
		"unknown system":    {installation{url: good, system: "SunOS amd64"}, "no archive for the system SunOS"},
		"windows":           {installation{url: good, system: "MINGW64_NT-10.0 x86_64"}, "install with Scoop"},
		"not released":      {installation{url: good, system: "Darwin " + map[string]string{"amd64": "arm64", "arm64": "x86_64"}[runtime.GOARCH]}, "the release has no archive for darwin_"},
		"no downloader":     {installation{url: good, hidden: "curl wget"}, "neither curl nor wget"},
		"no checker":        {installation{url: good, hidden: "sha256sum shasum"}, "neither sha256sum nor shasum"},
		"unknown argument":  {installation{url: good, args: []string{"--versoin"}}, "unknown argument --versoin"},
		"missing value":     {installation{url: good, args: []string{"--version"}}, "--version needs a value"},
		"wrong name":        {installation{url: good, args: []string{"--name", "../x"}}, "--name is skills or repertoire"},
		"no home":           {installation{url: good, env: map[string]string{"HOME": ""}}, "neither PREFIX nor HOME"},
		"only https":        {installation{url: "https" + strings.TrimPrefix(good, "http")}, "cannot download"},
	} {
		t.Run(name, func(t *testing.T) {
			said, ok := tt.in.run(t)
			if ok || !strings.Contains(said, tt.want) {
				t.Errorf("it succeeds: %t; it says\n%s\nwant %q", ok, said, tt.want)
			}
			if entries, err := os.ReadDir(tt.in.home); err != nil || len(entries) > 0 {
				t.Errorf("it has made %v (%v)", entries, err)
			}
		})
	}
}

// TestInstallDry: --dry-run says what would be done and does nothing.
func TestInstallDry(t *testing.T) {
	needsUnix(t)
	in := &installation{url: released(t, asIs), args: []string{"--dry-run"}}
	said, ok := in.run(t)
	if !ok || !strings.Contains(said, "would download "+in.url+"/latest/download/repertoire_") || !strings.Contains(said, "/.local/bin/skills") {
		t.Errorf("it says\n%s", said)
	}
	if entries, err := os.ReadDir(in.home); err != nil || len(entries) > 0 {
		t.Errorf("it has made %v (%v)", entries, err)
	}
}

// TestPart: a part of the script, which a broken download leaves, does nothing.
func TestPart(t *testing.T) {
	needsUnix(t)
	script, err := os.ReadFile("../install.sh")
	try(t, err)
	for n := 0; n < len(script)-len("main \"$@\"\n"); n += 500 {
		cmd := exec.Command("sh")
		cmd.Stdin, cmd.Env = strings.NewReader(string(script[:n])), []string{"HOME=" + t.TempDir(), "PATH=" + t.TempDir()}
		out, _ := cmd.CombinedOutput()
		if text := string(out); strings.Contains(text, "install.sh:") || strings.Contains(text, "not found") {
			t.Errorf("the first %d bytes do something: %s", n, text)
		}
	}
}

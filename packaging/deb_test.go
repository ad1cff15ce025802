package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestDeb installs the package in a root of its own, runs the program under both its names,
// and removes the package, which leaves nothing. It does not need to be root. In
// REPERTOIRE_DIST it finds the packages of a real build.
func TestDeb(t *testing.T) {
	for _, name := range []string{"dpkg", "dpkg-deb", "tar"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s", name)
		}
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	root := t.TempDir()
	admin := filepath.Join(root, "var/lib/dpkg")
	for _, dir := range []string{"info", "updates"} {
		try(t, os.MkdirAll(filepath.Join(admin, dir), 0o755))
	}
	for _, name := range []string{"status", "available"} {
		try(t, os.WriteFile(filepath.Join(admin, name), nil, 0o644))
	}
	before := treeOf(t, root)

	dpkg(t, root, "--install", packageFor(t))
	for _, name := range []string{"skills", "repertoire"} {
		out, err := exec.Command(filepath.Join(root, "usr/bin", name), "version").CombinedOutput()
		if err != nil || !strings.Contains(string(out), " v") && !strings.Contains(string(out), "(devel)") {
			t.Errorf("%s version: %v\n%s", name, err, out)
		}
	}
	installed := treeOf(t, root)
	for _, name := range []string{"usr/share/man/man1/skills.1.gz", "usr/share/man/man1/repertoire.1.gz", "usr/share/doc/repertoire/copyright",
		"usr/share/bash-completion/completions/skills", "usr/share/zsh/vendor-completions/_skills", "usr/share/fish/vendor_completions.d/repertoire.fish"} {
		if !strings.Contains(installed, name+"\n") {
			t.Errorf("%s is not installed", name)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "usr/share/man/man1/repertoire.1.gz")); err != nil {
		t.Error(err)
	}

	dpkg(t, root, "--purge", project)
	if after := treeOf(t, root); after != before {
		t.Errorf("after the removal there is\n%s\nand before the installation there was\n%s", after, before)
	}
}

// packageFor returns the package for this machine.
func packageFor(t *testing.T) string {
	t.Helper()
	dist := os.Getenv("REPERTOIRE_DIST")
	if dist == "" {
		r, binary := newRelease(t, "1.2.3")
		r.shared = append(r.shared, file{"completions/skills.fish", r.shared[0].source, 0o644})
		try(t, r.linuxPackages(platform{"linux", runtime.GOARCH}, binary))
		dist = r.out
	}
	found, err := filepath.Glob(filepath.Join(dist, "*_linux_"+runtime.GOARCH+".deb"))
	try(t, err)
	if len(found) != 1 {
		t.Fatalf("packages in %s: %q", dist, found)
	}
	return found[0]
}

// dpkg runs dpkg for a root.
func dpkg(t *testing.T, root string, args ...string) {
	t.Helper()
	args = append([]string{"--root=" + root, "--force-not-root", "--force-script-chrootless", "--no-triggers", "--log=" + os.DevNull}, args...)
	cmd := exec.Command("dpkg", args...)
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin") // dpkg wants ldconfig
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dpkg %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// treeOf lists the files below a root, without what dpkg remembers.
func treeOf(t *testing.T, root string) string {
	t.Helper()
	var list strings.Builder
	try(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Base(path) == "dpkg" {
			return fs.SkipDir
		}
		list.WriteString(strings.TrimPrefix(path, root+"/") + "\n")
		return err
	}))
	return list.String()
}

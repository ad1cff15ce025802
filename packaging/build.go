package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// writeDocs makes the man pages and the scripts for completion. The program has two names:
// completion is for both, and the man page of the second refers to the first.
func (r *release) writeDocs(ctx context.Context) error {
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10)}
	for _, name := range []string{program, project} {
		if _, err := r.output(ctx, env, "go", "run", "./cmd/skills-docs", filepath.Join(r.work, name), name); err != nil {
			return err
		}
		if err := r.share(name, "completions"); err != nil {
			return err
		}
	}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md"} {
		r.shared = append(r.shared, file{name, filepath.Join(r.root, name), 0o644})
	}
	return r.share(program, "man")
}

// share adds the files in a folder of what was made for a program.
func (r *release) share(name, folder string) error {
	dir := filepath.Join(r.work, name, folder)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		r.shared = append(r.shared, file{folder + "/" + e.Name(), filepath.Join(dir, e.Name()), 0o644})
	}
	return err
}

// build builds the program for a platform, and returns its path. Its version is the tag of
// the commit, or one that Go derives from the commit.
func (r *release) build(ctx context.Context, p platform) (string, error) {
	binary := filepath.Join(r.work, p.os+"-"+p.arch, program+p.extension())
	// What could make the bytes depend on the machine is set here.
	env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off"}
	args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w"}
	if r.quick {
		args = []string{"build", "-buildvcs=false", "-ldflags=-s -w"}
	}
	if _, err := r.output(ctx, env, "go", append(args, "-o", binary, "./cmd/"+program)...); err != nil {
		return "", err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", fmt.Errorf("reading the version of %s: %w", binary, err)
	}
	r.version = cmp.Or(strings.TrimPrefix(strings.Trim(info.Main.Version, "()"), "v"), "devel")
	if r.version == "devel" {
		r.version = "0.0.0-devel" // there is no version control
	}
	return binary, nil
}

// extension returns what the name of a program ends with.
func (p platform) extension() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

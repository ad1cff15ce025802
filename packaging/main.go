// Command packaging builds what a release consists of: archives, packages of Debian and
// of rpm, their checksums, a formula of Homebrew and a manifest of Scoop.
//
//	go -C packaging run . [--all | --quick] [--out FOLDER] [--tag v1.2.3]
//
// It needs a clone: Go writes no version into programs that are built in another worktree.
//
// It is a module of its own, so that the product does not depend on what makes packages.
//
// The one rule: the same commit gives the same bytes.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const (
	project     = "repertoire" // the name of archives and packages
	program     = "skills"     // the name of the program in them
	homepage    = "https://github.com/repertoire-skills/repertoire"
	description = "Finds the agent skills that fit a prompt"
)

// A platform is what a program is built for.
type platform struct{ os, arch string }

// platforms are those of a release.
var platforms = []platform{
	{"darwin", "amd64"}, {"darwin", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// A release is what is being built.
type release struct {
	root, out, work string    // folders: of the sources, of the result, for what is needed in between
	quick           bool      // it is a trial, with paths of this machine and without a version
	date            time.Time // of the commit
	version         string    // without "v"; the programs that are built say it
	shared          []file    // what archives hold beside the program
	made            []string  // names of archives and packages in out
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("packaging", flag.ContinueOnError)
	all := flags.Bool("all", false, "build for all platforms, not only for this one")
	out := flags.String("out", "dist", "write into this `folder`, below that of the sources; it must be empty")
	quick := flags.Bool("quick", false, "for a trial: use what other builds have compiled, with paths of this machine, and no version")
	tag := flags.String("tag", "", "fail unless the programs say that they are this `version`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &release{out: *out, quick: *quick}
	if r.root, err = filepath.Abs(".."); err != nil {
		return err
	}
	if !filepath.IsAbs(r.out) {
		r.out = filepath.Join(r.root, r.out)
	}
	if r.work, err = os.MkdirTemp("", "packaging"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	targets := []platform{{runtime.GOOS, runtime.GOARCH}}
	if *all {
		targets = platforms
	}
	return r.make(ctx, targets, *tag)
}

// make builds everything for some platforms.
func (r *release) make(ctx context.Context, targets []platform, tag string) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for _, p := range targets {
		start := time.Now()
		binary, err := r.build(ctx, p)
		if err != nil {
			return err
		}
		if tag != "" && "v"+r.version != tag {
			return fmt.Errorf("the program is version v%s, not %s: build from a clean checkout of the tag", r.version, tag)
		}
		if err := r.pack(p, binary); err != nil {
			return err
		}
		fmt.Printf("%s/%s: %d s\n", p.os, p.arch, int(time.Since(start).Seconds()))
	}
	return r.describe()
}

// pack makes the archive and the packages of a program.
func (r *release) pack(p platform, binary string) error {
	if err := r.archive(p, binary); err != nil || p.os != "linux" {
		return err
	}
	return r.linuxPackages(p, binary)
}

// prepare makes the folder of the result and what all archives share.
func (r *release) prepare(ctx context.Context) error {
	if old, err := os.ReadDir(r.out); err == nil && len(old) > 0 {
		return fmt.Errorf("%s is not empty; remove it first", r.out)
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		var err error
		if epoch, err = r.output(ctx, nil, "git", "log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("finding the date of the commit: %w (or set SOURCE_DATE_EPOCH)", err)
		}
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(epoch), 10, 64)
	if err != nil {
		return fmt.Errorf("the date of the commit, SOURCE_DATE_EPOCH: %w", err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	return r.writeDocs(ctx)
}

// output runs a command in the folder of the sources, with further variables, and returns
// what it prints.
func (r *release) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, &stdout, &stderr
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return stdout.String(), nil
}

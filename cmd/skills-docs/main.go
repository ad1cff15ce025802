// Command skills-docs serves the site of docs/ on this machine, made anew at each look, writes it,
// or writes the man pages and the scripts for completion that packages of the program hold:
//
//	go run ./cmd/skills-docs
//	go run ./cmd/skills-docs -site FOLDER
//	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) go run ./cmd/skills-docs FOLDER [NAME]
//
// The same commit gives the same bytes. The program itself contains no maker of man pages or sites.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "skills-docs:", err)
		os.Exit(1)
	}
}

// run does what the flags say, or writes into the folder args[0] what belongs to the program named
// args[1]. The man pages have the date epoch, in seconds since 1970.
func run(ctx context.Context, args []string, epoch string, out io.Writer) error {
	flags := flag.NewFlagSet("skills-docs", flag.ContinueOnError)
	site := flags.String("site", "", "write the site into this `folder`")
	listen := flags.String("listen", "127.0.0.1:8090", "serve the site at this `address` of this machine")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch args = flags.Args(); {
	case len(args) > 2 || *site != "" && len(args) > 0:
		return errors.New("usage: skills-docs [-listen ADDRESS | -site FOLDER | FOLDER [NAME]]")
	case *site != "":
		return writeSite(".", *site)
	case len(args) == 0:
		return serveSite(ctx, ".", *listen, out)
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return errors.New("SOURCE_DATE_EPOCH is not a number of seconds; set it with git log -1 --format=%ct")
	}
	name := "skills"
	if len(args) == 2 {
		name = args[1]
	}
	return errors.Join(
		writePages(cli.Command(name), filepath.Join(args[0], "man"), time.Unix(seconds, 0).UTC()),
		writeCompletions(cli.Command(name), filepath.Join(args[0], "completions")))
}

// writeCompletions writes a script for each shell, under the name that the shell expects.
func writeCompletions(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	at := func(format string) string { return filepath.Join(dir, fmt.Sprintf(format, root.Name())) }
	return errors.Join(
		root.GenBashCompletionFileV2(at("%s.bash"), true),
		root.GenZshCompletionFile(at("_%s")),
		root.GenFishCompletionFile(at("%s.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(at("%s.ps1")))
}

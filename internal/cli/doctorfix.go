package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/doctor"
	"github.com/repertoire-skills/repertoire/source"
)

const doctorFixHelp = `

--fix shows what it would change in each file as a diff, asks on a terminal,
and writes: YAML that was read as meant, fences and byte order marks of
SKILL.md, the executable bit of scripts with a #! line, and carriage returns in
scripts whose #! line ends with one. It reads each file again and restores it
if the finding is not gone. Elsewhere than on a terminal it needs --yes. It
changes no bundled skills, no skills that are fetched from elsewhere and no
files outside of the sources. --json then prints an object with fixes, a list of
objects with path, rules, diff, warning and written.`

// fixFlags are the flags of "doctor --fix".
type fixFlags struct{ on, yes bool }

func (f *fixFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "fix", false, "change files so that findings go away, after showing how")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "with --fix: write without asking")
}

func (f *fixFlags) check(strict bool) error {
	switch {
	case f.yes && !f.on:
		return errors.New("--yes is for --fix")
	case f.on && strict:
		return errors.New("--fix goes without --strict: it changes what every client reads alike")
	}
	return nil
}

// fixResult is what "doctor --fix --json" prints.
type fixResult struct {
	Fixes []*doctor.Fix `json:"fixes"`
}

// runFix shows and writes the changes that remove findings in folders, or in the sources of
// the catalog if there are none.
func runFix(ctx context.Context, s *session, folders []string, f fixFlags) error {
	sources, err := fixable(s, folders)
	if err != nil {
		return err
	}
	fetched := ""
	if data, err := config.DataDir(); err == nil { // without a home nothing is fetched
		fetched = filepath.Join(data, "roots")
	}
	list, err := doctor.Fixes(ctx, sources, fetched)
	if err != nil {
		return err
	}
	result := fixResult{Fixes: append([]*doctor.Fix{}, list...)}
	failed, refused := writeFixes(ctx, s.screen, list, f)
	if s.json {
		return errors.Join(failed, s.printJSON(result), refused)
	}
	written := 0
	for _, fix := range list {
		if fix.Written {
			written++
		}
	}
	return errors.Join(failed, s.printText(fmt.Sprintf("%s to change, %d changed\n", count(len(list), "file"), written)), refused)
}

// fixable returns the sources in which files may be changed.
func fixable(s *session, folders []string) ([]source.Source, error) {
	var sources []source.Source
	for _, folder := range folders {
		if _, err := os.Stat(folder); err != nil {
			return nil, err
		}
		src, err := source.Dir(folder, &source.Options{Label: folder})
		if err != nil {
			return nil, err
		}
		sources = append(sources, src)
	}
	if len(folders) > 0 {
		return sources, nil
	}
	cfg, err := s.readConfig(false)
	return cfg.Sources, err
}

// writeFixes shows each change and writes it if the user agrees. It goes on after a failure.
func writeFixes(ctx context.Context, ui *screen, list []*doctor.Fix, f fixFlags) (failed, refused error) {
	user := ui.reader()
	all := f.yes
	for _, fix := range list {
		if !ui.json {
			fmt.Fprint(ui.stdout, fix.Diff)
		}
		if fix.Warning != "" {
			ui.note("%s: %s", fix.Path, fix.Warning)
		}
		answer := ""
		if user != nil && !all {
			answer = user.ask("write this? [y]es, [n]o, [a]ll, [q]uit:")
			if user.left || answer == "q" || answer == "quit" {
				return failed, nil
			}
		}
		all = all || answer == "a" || answer == "all"
		if all || answer == "y" || answer == "yes" {
			failed = errors.Join(failed, fix.Apply(ctx))
		}
	}
	if user == nil && !f.yes && len(list) > 0 {
		refused = errNeedsYes
	}
	return failed, refused
}

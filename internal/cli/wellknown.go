package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/wellknown"
)

const wellKnownHelp = `Well-known writes the skills to DIR/.well-known as static files, for a server
that hands them out to the clients of other people:

  agent-skills/index.json  version 0.2.0 of the discovery format: each skill is
                           its SKILL.md or, if it has more files, a .tar.gz,
                           with its SHA-256
  skills/index.json        version 0.1: each skill is a list of plain files
  ard.json                 with --url, for clients of ARD: the same skills with
                           whole URLs and digests; also as ai-catalog.json

All skills that the agent given with --agent sees are published, also skills in
your home: choose with --agent, or with --root and --only-root. URLs in the
indexes are relative, so DIR may be served anywhere; ARD wants whole URLs, so
--url says where DIR will be.

A skill that clients could not read, or would read differently, is left out, and
standard error says why, as "skills doctor" does before: a name that is not made
of a-z, 0-9 and hyphens, a description of more than 1,024 characters, hidden
characters, malformed frontmatter, more than 512 files or 16 MiB, or a file that
cannot be read.

The same skills give the same bytes. Files that an earlier run wrote are
replaced, and removed when they are not needed any more; other files never are.
While the source of a skill that was published is away, nothing is written.
DIR/.well-known/.repertoire-skills records which is which.

--json prints an object with dir, skills (in the index), archives (of them), old
(in the index of version 0.1), manifest (in that of ARD), omitted (a list of
objects with name, reason and old_only), same_version (names of skills that have
changed since an earlier run, and have the same version), removed and kept
(files of an earlier run that were changed since, relative to DIR).`

func newPublishCommand(e env) *cobra.Command {
	cmd := newWellKnownCommand(e)
	cmd.Use, cmd.Example = "publish DIR", "  skills --agent public publish ./site --url https://skills.example.com"
	cmd.Long = "Publish" + strings.TrimPrefix(wellKnownHelp, "Well-known")
	return cmd
}

func newWellKnownCommand(e env) *cobra.Command {
	base := ""
	cmd := &cobra.Command{
		Use:               "well-known DIR",
		Short:             "Write the skills as static files for a web server",
		Long:              wellKnownHelp,
		Example:           "  skills --agent public well-known ./site",
		Args:              args(1, 1),
		ValidArgsFunction: arguments(anyText(), anyFolder()),
		RunE: e.onCatalog(func(ctx context.Context, s *session, c *catalog, args []string) error {
			return runWellKnown(ctx, s, c, args[0], base)
		}),
	}
	cmd.Flags().StringVar(&base, "url", "", "write a manifest of ARD too, for the `URL` at which DIR will be")
	return cmd
}

func runWellKnown(ctx context.Context, s *session, c *catalog, dir, base string) error {
	done, err := wellknown.Publish(ctx, c, c.agent, dir, base)
	if err != nil {
		return err
	}
	if s.json {
		return s.printJSON(done)
	}
	out := 0
	for _, o := range done.Omitted {
		if s.note("%v", o); !o.OldOnly {
			out++
		}
	}
	for _, name := range done.SameVersion {
		s.note("skill %s has changed since it was published, but has the version that it had", name)
	}
	for _, name := range done.Kept {
		s.note("%s is not needed any more, but was changed since it was written, and is kept", name)
	}
	ard := ""
	if base != "" {
		ard = ", " + figures.Thousands(done.Manifest) + " in the manifest of ARD"
	}
	left := ""
	if out > 0 {
		left = "; " + count(out, "skill") + " left out"
	}
	return s.printText(lineOf("%s in %s (%s), %s in the form of version 0.1%s%s; %s of before removed",
		count(done.Skills, "skill"), dir, count(done.Archives, "archive"), figures.Thousands(done.Old), ard, left, count(len(done.Removed), "file")))
}

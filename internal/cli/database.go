package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/push"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/store/postgres"
)

const storeHelp = `Store shows what a PostgreSQL database holds: its catalogs, from which several
machines answer. With --catalog it shows the sources of one of them, the first
wins. "skills push" fills a catalog, and "skills store roles" prints the SQL of
the roles for those who push, for nodes, and for those who read.

When the output is piped, each line holds the name, generation, number of
sources, of skills and of files, bytes of the files, number of compiled bases,
and their bytes; or the label of a source, number of skills, how many of them
are refused, whether the source is away, and its origin, which all pushes from
one repository have ("-" if nobody has pushed it since there are origins);
separated by tabs.

--json prints an object with store, the address without its password, and
catalogs, a list of objects with name, generation, skills, files, bytes, bases,
base_bytes and sources, a list of objects with label, priority, skills, refused,
away and origin.`

const rolesHelp = `Roles prints the SQL that makes the roles repertoire_writer, with which "skills
push" works, repertoire_node, for "skills mcp --http", which may read, add to the
log of usage and write proposals, and repertoire_reader, which may only read and
is enough for everything else. Run it as the owner of the database, before the first push or
after it, and after an upgrade; grant the roles to your users.`

// storeResult is what "store --json" prints.
type storeResult struct {
	Store    string           `json:"store"`
	Catalogs []postgres.Usage `json:"catalogs"`
}

func newStoreCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "store",
		Short:   "Show what a database with catalogs holds",
		Long:    storeHelp,
		Example: "  skills store --store postgres://db.example/skills\n  skills store --catalog default --json",
		Args:    noCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return showStore(e.session(cmd), cmd) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "roles",
		Short:   "Print the SQL that makes roles for writers, nodes and readers",
		Long:    rolesHelp,
		Example: "  skills store roles | psql postgres://owner@db.example/skills",
		Args:    args(0, 0),
		RunE: e.run(func(_ context.Context, s *session, _ []string) error {
			_, err := io.WriteString(s.exact(), postgres.Roles())
			return err
		}),
	})
	return cmd
}

func showStore(s *session, cmd *cobra.Command) error {
	settings, err := s.settings()
	if err != nil {
		return err
	}
	db, err := openDatabase(s, cmd.CommandPath(), settings, true)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Usage(cmd.Context())
	if err != nil {
		return err
	}
	if s.catalog != "" {
		names := mapped(list, func(u postgres.Usage) string { return u.Name })
		i := slices.Index(names, s.catalog)
		if i < 0 {
			return fmt.Errorf("the database has no catalog %q%s", s.catalog, words.Suggest(s.catalog, names))
		}
		list = list[i : i+1]
	}
	for _, u := range list {
		for i := range u.Sources {
			u.Sources[i].Origin = push.ShortOrigin(u.Sources[i].Origin)
		}
	}
	switch {
	case s.json:
		address, _, _ := strings.Cut(db.Name(), "#") // the catalog follows
		return s.printJSON(storeResult{address, append([]postgres.Usage{}, list...)})
	case s.catalog != "":
		return s.rows([]string{"SOURCE", "SKILLS", "REFUSED", "STATE", "ORIGIN"}, mapped(list[0].Sources, storedSourceRow))
	case len(list) == 0:
		s.note(`the database holds no catalogs yet; "skills push" makes one`)
	}
	return s.rows([]string{"CATALOG", "GENERATION", "SOURCES", "SKILLS", "FILES", "BYTES", "BASES", "BYTES"}, mapped(list, storedUsageRow))
}

func storedUsageRow(u postgres.Usage) []string {
	return cells(u.Name, u.Generation, len(u.Sources), u.Skills, u.Files, u.Bytes, u.Bases, u.BaseBytes)
}

func storedSourceRow(s postgres.SourceUsage) []string {
	state := "here"
	if s.Away {
		state = "away"
	}
	return cells(s.Label, s.Skills, s.Refused, state, cmp.Or(s.Origin, "-"))
}

// openDatabase opens the database of --store or of the configuration, without connecting to it.
func openDatabase(s *session, command string, settings config.Settings, readOnly bool) (*postgres.DB, error) {
	if settings.Store == "" {
		return nil, &usageError{command, errors.New("--store is missing; give the URL of the database, such as postgres://db.example/skills, or set $REPERTOIRE_STORE")}
	}
	return postgres.Open(settings.Store, &postgres.Options{Catalog: settings.Catalog, ReadOnly: readOnly, Logger: s.logger()})
}

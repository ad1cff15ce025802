package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/internal/endpoint"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/store/postgres"
)

// storeFlags adds the flags that choose a shared catalog.
func storeFlags(f *pflag.FlagSet) {
	f.String("store", "", "answer from the shared catalog in the database at this `URL`, or \"none\"")
	f.String("catalog", "", "take the catalog of this `name` from the database of --store")
}

// openStore opens the shared catalog that a configuration names, if it names one. A node only
// reads it. No connection is made yet.
func openStore(cfg *repertoire.Config) error {
	if cfg.StoreURL == "" || cfg.Store != nil {
		return nil
	}
	db, err := postgres.Open(cfg.StoreURL, &postgres.Options{Catalog: cfg.StoreCatalog, ReadOnly: true, Logger: cfg.Logger})
	if err != nil {
		return err
	}
	cfg.Store = db
	return nil
}

// sharedURL returns the URL of the shared catalog that flags and configuration name; "" means
// none. It tells of no mistakes: whoever reads the configuration later does.
func (s *session) sharedURL() string {
	quiet := *s
	quiet.warn = func(error) {}
	settings, err := quiet.settings()
	if err != nil {
		return ""
	}
	return settings.Store
}

// checkFolders is needFolders for a command that has this trait, or is below one.
func (s *session) checkFolders(cmd *cobra.Command) error {
	for at := cmd; at != nil; at = at.Parent() {
		if _, ok := at.Annotations[foldersMark]; ok {
			return s.needFolders(at.CommandPath())
		}
	}
	return nil
}

// needFolders refuses a command that works on folders if the catalog is a shared one.
func (s *session) needFolders(command string) error {
	url := s.sharedURL()
	if url == "" || len(s.roots) > 0 && s.store == "" {
		return nil
	}
	return &usageError{command, fmt.Errorf("%q works on folders of this machine, but the catalog is the shared one in %s; with --store %s it does",
		command, endpoint.Shown(url), config.NoStore)}
}

// storeArgs returns the flags of a shared catalog for another process, whose arguments
// everybody on this machine can see.
func (s *session) storeArgs() ([]string, error) {
	var list []string
	if s.store != "" {
		if endpoint.Shown(s.store) != s.store {
			return nil, fmt.Errorf("--store %s may hold a password, which others would see; keep the password in ~/.pgpass or a service file", endpoint.Shown(s.store))
		}
		list = append(list, "--store", s.store)
	}
	if s.catalog != "" {
		list = append(list, "--catalog", s.catalog)
	}
	return list, nil
}

// oldCopy says how old an answer is that comes from a copy of a shared catalog.
func oldCopy(now repertoire.Shared, cause error) string {
	if now.Heard.IsZero() {
		return fmt.Sprintf("the answer may be old: %v", cause)
	}
	return fmt.Sprintf("the answer is %s old: %v", figures.Duration(time.Since(now.Heard).Round(time.Second)), cause)
}

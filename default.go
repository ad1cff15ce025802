package repertoire

import (
	"context"
	"fmt"

	"github.com/repertoire-skills/repertoire/internal/config"
)

// ConfigOptions are what the flags of a program say. Relative paths start at the
// working folder of the process. A nil *ConfigOptions is all zero values.
type ConfigOptions struct {
	File      string   // configuration file to read instead of the files of the user and the project; "" means those
	Roots     []string // further folders with skills, before the configured ones; the first wins
	OnlyRoots bool     // look for skills nowhere else than in Roots
	DB        string   // catalog file; "" means $REPERTOIRE_DB, or else the configured file

	// Warn hears why a usual folder, which is then left out, cannot be read; nil
	// means nobody.
	Warn func(error)
}

// OpenDefault opens the catalog that the command would open in folder dir; ""
// means the working folder. Unlike most runs of the command it keeps the catalog
// up to date on the configured schedule, until Close; after a configured schedule
// of Never, call Freshen or Rescan.
func OpenDefault(ctx context.Context, dir string) (*Catalog, error) {
	cfg, err := ReadConfig(dir, nil)
	if err != nil {
		return nil, err
	}
	return Open(ctx, cfg)
}

// ReadConfig returns the Config that the command would use in folder dir; ""
// means the working folder. It reads the configuration files of the user and of
// the project, and the REPERTOIRE_… variables; o, which may be nil, wins over
// them.
func ReadConfig(dir string, o *ConfigOptions) (Config, error) {
	if o == nil {
		o = new(ConfigOptions)
	}
	s, err := config.Read(dir, (*config.Options)(o))
	if err != nil {
		return Config{}, err
	}
	cfg := Config{
		DB: s.DB, Deadline: s.Deadline, Threshold: s.Threshold, Agents: s.Agents, Schedule: s.Schedule,
	}
	if cfg.Sources, err = s.Sources(dir, o.Warn); err != nil {
		return Config{}, err
	}
	if cfg.Embedder, err = s.Embedder.New(); err != nil {
		return Config{}, fmt.Errorf("configuring embedder: %w", err)
	}
	if r := s.Reranker; r != nil {
		cfg.RerankDeadline, cfg.RerankCandidates = r.Deadline, r.Candidates
		if cfg.Reranker, err = r.New(); err != nil {
			return Config{}, fmt.Errorf("configuring %w", err)
		}
	}
	return cfg, nil
}

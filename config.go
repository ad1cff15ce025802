package repertoire

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/rerank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// ErrNotFound says that there is no such skill, or none in the agent's scope.
var ErrNotFound = skill.ErrNotFound

// Never is the schedule of a catalog that is rescanned only by Rescan.
const Never = "never"

// Always is the threshold of a catalog, a Query or a Budget that every prompt
// reaches, so that skills are offered for each.
const Always = search.Always

// Config says what a catalog is made of. Only Sources is needed.
type Config struct {
	// Sources are where skills come from: folders (source.Dir, source.Discover),
	// file systems (source.New), memory (source.Files), or anything else that
	// implements source.Source. Their labels must differ.
	Sources []source.Source

	// DB is the catalog file; "" means one in the user's cache folder that
	// belongs to these sources.
	DB string

	// Embedder makes ranking hybrid. Nil means the built-in embedder,
	// embed.None{} that ranking is by text alone. After a change of embedder
	// the vectors of the built-in one rank, if the catalog has them, until
	// nearly every text has a new one. Programs that share a catalog file should
	// use the same embedder: vectors of others are removed from it.
	Embedder embed.Embedder

	// Deadline is how long a search waits for the embedding of its prompt; 0
	// means 250 ms. Then text alone answers.
	Deadline time.Duration
	// Threshold is the least probability that a prompt wants a skill for any to
	// be offered, up to 1; 0 means .6, Always that every prompt reaches it.
	Threshold float64

	// Reranker orders the best candidates of a search anew; nil means none. It
	// gets the prompt, and name, description and start of the instructions of
	// at most RerankCandidates skills; 0 means 20.
	Reranker         rerank.Reranker
	RerankCandidates int

	// RerankDeadline is how long a search waits for the reranker; 0 means 500
	// ms. Then the order of the search alone stands.
	RerankDeadline time.Duration

	// Agents are the agents that can be asked for by name.
	Agents []*Agent

	// Schedule is when the sources are rescanned, as a cron spec; "" means
	// "@every 5s". Never leaves it to the caller.
	Schedule string

	// Background makes Open return before the first scan of a schedule, which
	// then runs behind. What is asked meanwhile is answered from what an earlier
	// scan left; when none was ever completed, it waits for this one.
	Background bool

	// Changed is called after the skills of the catalog have changed, by a
	// scheduled rescan or by another process, as the schedule notices it; nil
	// for nobody. It is not called for the first scan of Open unless that ran in
	// the background.
	Changed func()

	// Defer opens the catalog file when something first needs it: see Glance.
	// Errors of it then show at that time.
	Defer bool

	// Logger hears of what happens in the background; nil means nobody.
	Logger *slog.Logger
}

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

package repertoire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/repertoire-skills/repertoire/contextprovider"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/index"
	"github.com/repertoire-skills/repertoire/internal/config"
	"github.com/repertoire-skills/repertoire/rerank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/store"
	"github.com/repertoire-skills/repertoire/store/cache"
)

// Never is the schedule of a catalog that is rescanned only by Owner.Rescan.
const Never = "never"

// Always is the threshold of a catalog, a Query or a Budget that every prompt
// reaches, so that skills are offered for each.
const Always = search.Always

// OnlyNamed is the rate (Disturb, Unfit) of a catalog, a Query or a Budget at which a prompt
// gets only the skills that it names.
const OnlyNamed = search.OnlyNamed

// Config says what a catalog is made of. Only Dirs is needed, or Sources, or Store.
type Config struct {
	// Sources are where skills come from: folders (source.Dir, source.Discover),
	// file systems (source.New), memory (source.Files), or anything else that
	// implements source.Source. Their labels must differ.
	Sources []source.Source

	// Dirs are folders with skills, in place of Sources, see OpenDir; nil means that there are
	// Sources, or a Store.
	Dirs []string

	// Away lets Open begin without a folder that does not exist or cannot be read, or without
	// any source: they may come later. Its Report then has Away set, and the Logger gets
	// a message. false means that Open returns an error. A folder that goes away later never is
	// one.
	Away bool

	// Discover returns the sources as they are now. A catalog with a schedule calls it
	// before each scheduled rescan, so that folders that appear become sources; nil
	// means that Sources stay.
	Discover func() ([]source.Source, error)

	// Store is the engine of a catalog that several machines share, such as store/postgres;
	// nil means that the catalog is the file DB. Skills then come from the engine, and Sources
	// must be empty. The catalog only reads the engine, and follows its changes unless
	// Schedule is Never. It keeps a copy of what answers need in files beside DB, and answers
	// from them when the engine cannot be asked, see Shared. Close closes the Store.
	Store store.Store

	// StoreURL and StoreCatalog are what the user's configuration says of Store. Who reads
	// it opens the engine: Open refuses a StoreURL without a Store. "" means nothing.
	StoreURL, StoreCatalog string

	// DB is the catalog file; "" means one in the user's cache folder that belongs to the
	// folders of Sources and their labels. If a source is not a folder on disk (source.New,
	// Files, Func, or your own), only its label is known beforehand, which another program may
	// use for other skills. "" then means a temporary file, which Close removes: each Open
	// indexes anew. Name a file to keep the index. With Store there is no such file, but the copy
	// lies beside it.
	DB string

	// MaxFile is the size in bytes of the largest file of a skill that is read from Store;
	// 0 means 1 MiB. Sources have limits of their own.
	MaxFile int64

	// Embedder makes the vectors of texts; nil means the built-in embedder.
	// embed.None{} leaves ranking to text alone. After a change of embedder the
	// vectors of the built-in one rank, if the catalog has them, until nearly
	// every text has a new one. Programs that share a catalog file should use the
	// same embedder: each removes the vectors of others from it.
	Embedder embed.Embedder

	// Contextual is the encoder whose vectors of names and descriptions rank beside those of the
	// Embedder; nil means the built-in one, unless this machine takes more than 60 ms for a prompt
	// or Embedder is embed.None{}. embed.None{} leaves it out. The schedule and Owner.Embed embed
	// what lacks a vector, in steps that are published; until then a skill ranks by what the
	// others say. Programs that share a catalog file should use the same.
	Contextual embed.Embedder

	// VectorCache is the file in which the vectors of an Embedder that is not built in and of Contextual are kept
	// for all catalogs of the machine, so that a text is embedded once. "" means vectors.db in
	// the user's cache folder if DB is "" too, else none. Whoever deletes it loses time only.
	VectorCache string

	// Deadline is how long a search waits for the embedding of its prompt before
	// text alone answers; 0 means 250 ms.
	Deadline time.Duration

	// Disturb is the share, up to 1, of the prompts that need no skill that may get an
	// offer, and Unfit that of the prompts that need one which is not in the catalog. The threshold that
	// keeps to both depends on the catalog, see Owner.Calibrate. 0
	// means .1 and .25, OnlyNamed that a prompt gets only the skills that it names.
	Disturb, Unfit float64

	// Threshold is the least probability, up to 1, that a prompt wants the best skill for
	// any to be offered; 0 means that Disturb and Unfit decide, Always means that every prompt
	// reaches it. Neither of them must be set beside Threshold.
	Threshold float64

	// Form is the form of the blocks whose Budget names none; "" means short where a tool
	// loads skills, else full.
	Form contextprovider.Form

	// Offer is the offer of the blocks whose Budget and agent name none; "" means Auto, so that
	// a model sees all skills where they are few.
	Offer contextprovider.Offer

	// Wording is what the blocks say of their best skill whose Budget says nothing.
	Wording contextprovider.Wording

	// Reranker orders the best candidates of a search anew; nil means none. It
	// gets the prompt, and of each candidate the name, the description and the
	// start of the instructions.
	Reranker rerank.Reranker

	// RerankCandidates is how many skills the Reranker gets at most; 0 means 20.
	RerankCandidates int

	// RerankDeadline is how long a search waits for the Reranker before its own
	// order stands; 0 means 500 ms.
	RerankDeadline time.Duration

	// IgnoreNeeds offers skills although commands or environment variables that they need
	// are missing; false means that such a skill is not offered: its Entry has the State
	// search.Unavailable and the Reason.
	IgnoreNeeds bool

	// Assume are commands and environment variables that count as there wherever the
	// catalog is opened; nil means none.
	Assume []string

	// LoadRequired makes Catalog.Body load the skills that a skill requires with it; false
	// means that Body only names them.
	LoadRequired bool

	// Agents are the agents that Catalog.Agent finds by name; nil means none.
	Agents []*Agent

	// Scripts say how scripts of skills run, see Catalog.Script; nil means by the defaults.
	Scripts []ScriptRule

	// Policy says which skills are held back from everybody; nil means none.
	Policy *Policy

	// Schedule is when the sources are rescanned, as a cron spec; "" means
	// "@every 5s", Never means that only Owner.Rescan and Freshen do.
	Schedule string

	// Fetch brings the folders of sources in step with places elsewhere. A catalog with a
	// schedule calls it in the background at once and at each scheduled rescan, unless it is still
	// running; it decides itself what is due. nil means that nothing is called.
	Fetch func(context.Context) error

	// Background makes Open return before the first scan of the schedule, which
	// then runs in the background; false means that Open waits for it. Meanwhile
	// questions are answered from what an earlier scan left; if none was ever
	// completed, they wait for this one.
	Background bool

	// Changed is called after the skills of the catalog have changed, by a
	// scheduled rescan or by another process, as the schedule notices it; nil
	// means that nothing is called. It is not called for the first scan, unless
	// that ran in the background.
	Changed func()

	// Heard is called each time the shared catalog is reached, for the first time or again,
	// and after each change of it, even if only its tokens changed; nil means that nothing is
	// called. It must return at once.
	Heard func()

	// Defer makes Open return without opening the catalog file, which is opened
	// when something first needs it (see Owner.Glance), and then shows its errors; false
	// means that Open opens it.
	Defer bool

	// Logger gets messages about what happens in the background; nil means no
	// messages.
	Logger *slog.Logger

	// Usage says that the user wants a log of which skills are offered and used, and
	// UsagePrompts that it has the prompts too. A catalog writes none: programs do, see
	// package usage.
	Usage, UsagePrompts bool
}

// ConfigOptions are what the flags of a program say. Relative paths start at the
// working folder of the process. A nil *ConfigOptions is all zero values.
type ConfigOptions struct {
	File      string   // configuration file to read; "" means the files of the user and of the project
	Roots     []string // further folders with skills, which win over the configured ones, the first first; nil means none
	OnlyRoots bool     // look for skills in Roots only; false means in the configured folders too
	DB        string   // catalog file; "" means $REPERTOIRE_DB, or else the configured file

	// Store is the URL of the database of a shared catalog, which takes the place of all
	// folders; "" means $REPERTOIRE_STORE, or else the configured one, unless there are Roots.
	// "none" means folders. Catalog is the name of the catalog there; "" means the
	// configured one. See Config.StoreURL.
	Store, Catalog string

	// Client is the name of the client for which the catalog is asked, as of "skills setup": nothing
	// else that is switched off in a client is read; "" means that all is.
	Client string

	// State is the folder in which a copy of the user's configuration file is kept
	// whenever that has no mistake; "" means that none is kept.
	State string

	// LastGood lets that copy take the place of a file with a mistake, which Warn is
	// told; false means that a mistake is an error.
	LastGood bool

	// Warn is called with each thing that cannot be used and stops nothing, such as a
	// folder that is not there; nil means that nothing is called.
	Warn func(error)
}

// ReadConfig returns the Config that the command would use in folder dir; ""
// means the working folder. It reads the configuration files of the user and of
// the project, and the REPERTOIRE_… variables; o, which may be nil, wins over
// them. A mistake in the project's file, which may be somebody else's, leaves
// out that file.
func ReadConfig(dir string, o *ConfigOptions) (Config, error) {
	if o == nil {
		o = new(ConfigOptions)
	}
	if abs, err := filepath.Abs(dir); err == nil { // else there is no working folder, which Read tells
		dir = abs
	}
	s, err := config.Read(dir, (*config.Options)(o))
	if err != nil {
		return Config{}, err
	}
	cfg := Config{
		Away: true, DB: s.DB, VectorCache: config.VectorCache(), Deadline: s.Deadline, Disturb: s.Disturb, Unfit: s.Unfit, Threshold: s.Threshold, Agents: s.Agents, Scripts: s.Scripts, Schedule: s.Schedule,
		Form: contextprovider.Form(s.Form), Offer: contextprovider.Offer(s.Offer), Wording: contextprovider.Wording(s.Wording),
		IgnoreNeeds: s.Requires.Ignore, Assume: s.Requires.Assume, LoadRequired: s.Requires.Load,
		Policy: s.Policy(dir, o.Client, o.Warn), Usage: s.Usage.Log, UsagePrompts: s.Usage.Prompts,
	}
	if err := cfg.places(&s, dir, o); err != nil {
		return Config{}, err
	}
	if cfg.Embedder, err = s.Embedder.New(); err != nil {
		return Config{}, fmt.Errorf("configuring embedder: %w", err)
	}
	if cfg.Contextual, err = s.Encoder(); err != nil {
		return Config{}, err
	}
	if r := s.Reranker; r != nil {
		cfg.RerankDeadline, cfg.RerankCandidates = r.Deadline, r.Candidates
		if cfg.Reranker, err = r.New(); err != nil {
			return Config{}, fmt.Errorf("configuring %w", err)
		}
	}
	return cfg, nil
}

// places sets where skills come from.
func (cfg *Config) places(s *config.Settings, dir string, o *ConfigOptions) (err error) {
	folders := len(o.Roots) > 0 || o.OnlyRoots
	switch {
	case s.Store == "" || folders && o.Store == "":
	case folders:
		return errors.New("a shared catalog has no folders of this machine: leave out the store, or the further folders")
	default:
		cfg.StoreURL, cfg.StoreCatalog, cfg.MaxFile, cfg.DB = s.Store, s.Catalog, s.MaxFile, o.DB
		return nil
	}
	cfg.Fetch = s.Fetch()
	cfg.Discover = func() ([]source.Source, error) { return s.Sources(dir, nil) }
	cfg.Sources, err = s.Sources(dir, o.Warn)
	return err
}

// openDirs makes sources of Dirs and of what agents use by paths.
func (cfg *Config) openDirs() (err error) {
	if len(cfg.Dirs) > 0 {
		if len(cfg.Sources) > 0 {
			return errors.New("Config.Dirs and Config.Sources are both set; add the result of source.Dirs to Sources instead")
		}
		if cfg.Sources, err = source.Dirs(cfg.Dirs...); err != nil {
			return err
		}
		cfg.Dirs = nil
	}
	return cfg.addUsed()
}

// checkSources returns an error for a catalog of nothing, and for the first folder that cannot be
// read, unless they may come later.
func (cfg *Config) checkSources() error {
	if cfg.Away || cfg.Discover != nil || cfg.Store != nil || cfg.StoreURL != "" {
		return nil
	}
	if len(cfg.Sources) == 0 {
		return errors.New("opening a catalog of nothing: name folders in Config.Dirs, or set Config.Sources, or call OpenDefault for the skills of the user; if sources come later, set Config.Away")
	}
	for _, s := range cfg.Sources {
		if top, ok := s.(interface{ Missing() error }); ok {
			if err := top.Missing(); err != nil {
				return fmt.Errorf("%w: correct its path, or set Config.Away if it may come later", err)
			}
		}
	}
	return nil
}

// isPlaceless reports whether DB is "" and labels alone tell these sources apart from those of
// others. The bundled skills are the same for all.
func (cfg *Config) isPlaceless(sources []source.Source) bool {
	return cfg.DB == "" && slices.ContainsFunc(sources, func(s source.Source) bool {
		info := s.Info()
		return info.Root == "" && info.Kind != source.KindBundled
	})
}

// fileOf returns the absolute path of the catalog of these sources: the file may be opened
// again, from another working folder.
func (cfg *Config) fileOf(sources []source.Source) (string, error) {
	path := cfg.DB
	if path == "" {
		var err error
		if path, err = config.DefaultDB(sources); err != nil {
			return "", err
		}
	}
	return filepath.Abs(path)
}

// vectorCache returns the cache of vectors, which opens its file when it is first asked; nil if
// there is none.
func (cfg *Config) vectorCache() index.Cache {
	path := cfg.VectorCache
	if path == "" && cfg.DB == "" {
		path = config.VectorCache()
	}
	if path == "" {
		return nil
	}
	return cache.New(path)
}

// copyPath returns how the names of the files of a copy begin.
func (cfg *Config) copyPath() (path string, err error) {
	own, ok := cfg.Store.(interface{ Name() string })
	switch {
	case cfg.DB != "":
		path, err = filepath.Abs(cfg.DB)
	case ok && own.Name() != "":
		path, err = config.NamedDB("shared " + own.Name())
	default:
		err = errors.New("Config.DB is needed: the store has no name of its own")
	}
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", &os.PathError{Op: "keeping a copy of the shared catalog beside", Path: path, Err: errors.New("it is the catalog of folders; name another file")}
	}
	return path, nil
}

// filesSuffix ends the name of the folder in which a copy keeps the files of skills.
const filesSuffix = config.FilesSuffix

// times returns when the sources are rescanned.
func (cfg *Config) times() (cron.Schedule, error) {
	return config.ParseSchedule(cmp.Or(cfg.Schedule, "@every 5s"))
}

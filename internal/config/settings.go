package repertoire

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/rerank/remote"
	"github.com/repertoire-skills/repertoire/source"
)

// Settings are what configuration files say. The user's file may say
// everything; that of a project, which may be somebody else's, only what adds
// folders and agents: it must not choose where prompts are sent.
type Settings struct {
	Roots     []Root // further folders with skills, the first wins
	Project   bool   // look at the usual folders of the project
	User      bool   // look at the usual folders of the user
	Bundled   bool   // offer the skills that are compiled in
	DB        string // catalog file
	Schedule  string // of rescans
	MaxFile   int64  // bytes of the largest file that is served; 0 means 1 MiB
	Agents    []*Agent
	Embedder  EmbedderSetting
	Deadline  time.Duration
	Threshold float64       // see Config; 0: the default
	Reranker  *RerankServer // nil: none
}

// A Root is a folder with skills that a configuration names.
type Root struct {
	Path  string
	Label string            // "" means one made from Path
	Names map[string]string // see source.Options
}

// The names of embedders in a configuration.
const (
	EmbedderStatic = "static" // the built-in one
	EmbedderNone   = "none"   // ranking is by text alone
	EmbedderOpenAI = "openai" // an embeddings server
)

// Embedders returns the names that a configuration may choose from.
func Embedders() []string { return []string{EmbedderStatic, EmbedderNone, EmbedderOpenAI} }

// An EmbedderSetting chooses an embedder.
type EmbedderSetting struct {
	Name   string         // one of Embedders; "" means EmbedderStatic
	OpenAI *openai.Config // of EmbedderOpenAI
}

// New returns the embedder, embed.None for none.
func (e EmbedderSetting) New() (embed.Embedder, error) {
	switch {
	case e.Name == EmbedderStatic || e.Name == "":
		return builtin()
	case e.Name == EmbedderNone:
		return embed.None{}, nil
	case e.Name == EmbedderOpenAI && e.OpenAI != nil:
		m, err := openai.New(*e.OpenAI, nil)
		if err != nil {
			return nil, err // not m: a nil *Embedder in an interface is not nil
		}
		return m, nil
	case e.Name == EmbedderOpenAI:
		return nil, errors.New("embedder openai: base_url and model are needed")
	}
	return nil, fmt.Errorf("no embedder %q; there are: %s", e.Name, strings.Join(Embedders(), ", "))
}

// builtin returns the embedder that is in the program.
func builtin() (embed.Embedder, error) {
	m, err := static.Default()
	if err != nil {
		return nil, fmt.Errorf("opening the built-in embedder: %w", err)
	}
	return m, nil
}

// A RerankServer is a server that reranks, see remote.Config and Config.
type RerankServer struct {
	remote.Config
	Deadline   time.Duration
	Candidates int
}

// Configure makes the reranker of the server that of cfg. It does nothing for
// no server.
func (s *RerankServer) Configure(cfg *Config) error {
	if s == nil {
		return nil
	}
	r, err := remote.New(s.Config, nil)
	if err != nil {
		return err // not set: a nil *Reranker in an interface is not nil
	}
	cfg.Reranker, cfg.RerankDeadline, cfg.RerankCandidates = r, s.Deadline, s.Candidates
	return nil
}

// DefaultSettings returns what holds without a configuration.
func DefaultSettings() Settings {
	return Settings{Project: true, User: true, Bundled: true, Embedder: EmbedderSetting{Name: EmbedderStatic}}
}

// ConfigFile returns the user's configuration file: $REPERTOIRE_CONFIG, or
// repertoire/config.yaml in the user's configuration folder.
func ConfigFile() (string, error) {
	if name := os.Getenv("REPERTOIRE_CONFIG"); name != "" {
		return name, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "repertoire", "config.yaml"), nil
}

// ProjectFile is the configuration of a project, relative to its folder.
const ProjectFile = ".agents/repertoire.yaml"

// ReadSettings adds to s what the user's configuration file at name says.
func (s *Settings) ReadSettings(name string) error { return s.read(name, true) }

// ReadProject adds to s what the project's configuration file at name says.
func (s *Settings) ReadProject(name string) error { return s.read(name, false) }

func (s *Settings) read(name string, user bool) error {
	data, err := readConfig(name, user)
	if err != nil {
		return fmt.Errorf("reading configuration: %w", err)
	}
	top, err := decodeConfig(name, data)
	if err != nil || top == nil {
		return err
	}
	p := &configParser{file: name, dir: filepath.Dir(name), user: user, settings: s}
	return p.top(top)
}

// maxConfig is the size of the largest configuration file, in bytes.
const maxConfig = 1 << 20

// readConfig reads a configuration file. That of a project may be a link that
// somebody else made, to something that never ends.
func readConfig(name string, user bool) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !user && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = fmt.Errorf("%s is longer than %d bytes", name, maxConfig)
	}
	return data, err
}

// FindProjectFile returns the configuration of the project that dir belongs
// to, looking from dir up to the root of its repository, and outside of a
// repository in dir only; "" when there is none. As for source.Discover, the
// user's home is no project.
func FindProjectFile(dir string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // there is none to leave out
	}
	for _, folder := range source.ProjectFolders(dir, home) {
		name := filepath.Join(folder, filepath.FromSlash(ProjectFile))
		switch _, err := os.Stat(name); {
		case err == nil:
			return name, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", fmt.Errorf("looking for the project's configuration: %w", err)
		}
	}
	return "", nil
}

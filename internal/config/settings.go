// Package config holds the settings of users and projects: it reads configuration files, finds the folders that this
// program uses, and opens the sources, the embedder and the reranker that the settings name.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/contextual"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/registries"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rerank"
	"github.com/repertoire-skills/repertoire/rerank/remote"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
)

// Settings are the settings from configuration files, environment and flags. The file
// of a user may set everything. The file of a project may come from somebody else, so it
// may only add folders and agents: it must not choose where prompts are sent.
type Settings struct {
	Roots      []Root // further folders with skills; the first wins
	Project    bool   // look in the usual folders of the project
	User       bool   // look in the usual folders of the user
	Bundled    bool   // offer the skills that are compiled in
	DB         string // catalog file; "" means the one that DefaultDB returns
	Store      string // URL of the database of a shared catalog; "" means that the catalog holds folders of this machine
	Catalog    string // which catalog of that database; "" means its default
	Schedule   string // of rescans; "" means the default of repertoire.Config
	MaxFile    int64  // size in bytes of the largest file that is served; 0 means 1 MiB
	Agents     []*search.Agent
	Preloaded  []Root              // folders of skills that agents name by their paths
	Scripts    []search.ScriptRule // how the scripts of skills run
	Embedder   Embedder
	Contextual string                                     // what the built-in encoder is used for: "auto", "on" or "off"; "" means auto
	Deadline   time.Duration                              // for the embedding of a prompt; 0 means the default of repertoire.Config
	Unfit      float64                                    // the same
	Disturb    float64                                    // see search.Query; 0 means the default
	Threshold  float64                                    // the same
	Triggers   map[string]string                          // by label or kind of source, see search.Policy; nil means the default
	Offer      string                                     // how many skills a block lists where a program may choose, see contextprovider.Offer; "" means the first
	Wording    struct{ Certain, Likely, Possible string } // see contextprovider.Wording
	Form       string                                     // of blocks, one of Forms; "" means the default of each block
	Reranker   *Reranker                                  // nil means none
	Model      Model                                      // that "skills chat" asks

	Registries []registries.Registry // that searches ask if somebody says so; nil means none

	Order       []string     // of sources, see source.Groups; nil means the default
	Installed   bool         // look in InstallDir
	InstallDir  string       // folder of installed skills; "" means the one that DataDir holds
	UserDir     string       // folder with skills of the user, instead of the usual ones; "" means the usual ones
	BundledOnly []string     // names of the only compiled-in skills that are offered; nil means all
	Disabled    []search.Ban // skills that nobody is offered
	Ignore      []Ignore     // what doctor leaves out
	Projects    []ProjectRules
	Trust       Trust
	Requires    Requires
	Usage       Usage
	Limits      skill.Limits

	// Places says where files set keys, such as "trust.project"; other keys have their
	// default.
	Places map[string]search.Place
}

// Trust says whose skills are offered.
type Trust struct {
	Project       string   // trustOffer or trustAsk; "" means trustOffer
	RequireDigest bool     // an installed skill that is not as it was installed is held back
	Keys          []string // public keys, one of which must have signed what is installed; nil means that nobody asks
	Lower         []string // labels of sources that are trusted less, see search.Policy
}

// What happens with the skills of a project.
const (
	trustOffer = "offer" // they are offered like others
	trustAsk   = "ask"   // they are offered once the user has trusted them
)

// Requires says what happens to skills whose needs are not met.
type Requires struct {
	Ignore bool     // they are offered all the same
	Assume []string // commands and environment variables that count as there; nil means none
	Load   bool     // loading a skill also loads the skills that it requires
}

// Usage says what is noted of the use of skills.
type Usage struct {
	Log     bool // note what is offered, loaded and read
	Prompts bool // with the prompts
}

// A Root is a folder with skills that flags or files name.
type Root struct {
	Path    string
	Label   string            // "" means a label made from Path
	Names   map[string]string // see source.Options
	Project string            // root of the project whose file names it; "" means that the user does

	// A root elsewhere, which is kept in Path, a folder that Read chooses.
	Git     string // URL of a repository; "" means none
	Ref     string // branch, tag or commit; "" means the default branch at the time of the first fetch
	Sub     string // folder in the repository, slash-separated; "" means all of it
	URL     string // of an archive, or of a site with /.well-known/agent-skills/index.json; "" means none
	Fetch   string // when it is fetched anew, as a cron spec; "" means never for a commit or a pinned ref, else once a day
	Trusted bool   // its skills count like those of the user's own folders

	Place search.Place // where a file names it; zero means that a flag does
}

// Elsewhere reports whether what is in Path is fetched from elsewhere.
func (r *Root) Elsewhere() bool { return r.Git != "" || r.URL != "" }

// The names of embedders in a configuration.
const (
	EmbedderStatic = "static" // the built-in one
	EmbedderNone   = "none"   // ranking is by text alone
	EmbedderOpenAI = "openai" // an embeddings server
)

// Forms returns the forms of a block, see contextprovider.Form.
func Forms() []string { return []string{"short", "full"} }

// offers returns the offers of a block, see contextprovider.Offer.
func offers() []string { return []string{"auto", "relevant", "all"} }

// An Embedder is the choice of an embedder.
type Embedder struct {
	Name   string         // "" means EmbedderStatic
	OpenAI *openai.Config // the server, for EmbedderOpenAI
}

// New returns the chosen embedder. For EmbedderNone it returns embed.None{}.
func (e Embedder) New() (embed.Embedder, error) {
	switch {
	case e.Name == EmbedderStatic || e.Name == "":
		m, err := static.Default()
		if err != nil {
			return nil, fmt.Errorf("opening the built-in embedder: %w", err)
		}
		return m, nil
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
	return nil, fmt.Errorf("no embedder %q%s", e.Name, words.Suggest(e.Name, []string{EmbedderStatic, EmbedderNone, EmbedderOpenAI}))
}

// An Embedding is how a catalog makes vectors.
type Embedding struct {
	Embedder   embed.Embedder // nil means that text ranks without it
	Inline     bool           // Embedder is the built-in one, which is fast: skills are embedded as they are read
	Fallback   embed.Embedder // the built-in one if another is configured: it ranks until nearly all texts have a vector
	Contextual embed.Embedder // the encoder that ranks beside Embedder; nil means none
	Wait       time.Duration  // for Contextual, by a search; 0 means the usual time
	Slow       string         // why there is no Contextual, although nobody has turned it off; "" for no such reason
	Keep       string         // the model of the built-in encoder: a run without it does not cost its vectors
	auto       bool           // Contextual may turn out to be too slow
}

// EmbeddingBy returns the Embedding of a catalog for a configured embedder and encoder; nil means
// the built-in one, of the encoders unless this machine is known to be too slow or there is no embedder.
func EmbeddingBy(configured, encoder embed.Embedder) (e Embedding, err error) {
	_, none := configured.(embed.None)
	if e, err = embeddingBy(configured); err != nil {
		return e, err
	}
	own, err := contextual.Default()
	if err != nil {
		return e, fmt.Errorf("opening the built-in encoder: %w", err)
	}
	e.Keep = own.Model()
	switch _, off := encoder.(embed.None); {
	case off || none && encoder == nil:
	case encoder != nil:
		e.Contextual, e.Wait = encoder, waitForced
	default:
		if e.Slow = paceOf(own, false).slow(); e.Slow == "" {
			e.Contextual, e.auto = own, true
		}
	}
	return e, nil
}

// embeddingBy is EmbeddingBy without an encoder.
func embeddingBy(configured embed.Embedder) (Embedding, error) {
	if _, none := configured.(embed.None); none {
		return Embedding{}, nil
	}
	own, err := Embedder{}.New() // the built-in one
	switch {
	case err != nil:
		return Embedding{}, err
	case configured == nil:
		return Embedding{Embedder: own, Inline: true}, nil
	case configured.Model() == own.Model():
		return Embedding{Embedder: configured, Inline: true}, nil
	}
	return Embedding{Embedder: configured, Fallback: own}, nil
}

// Dimension returns the dimension of the vectors; 0 means that there are none, or that
// only the server knows.
func (e Embedder) Dimension() int {
	switch e.Name {
	case EmbedderNone:
		return 0
	case EmbedderOpenAI:
		return e.OpenAI.Dimensions
	}
	m, err := static.Default()
	if err != nil {
		return 0 // New returns the error
	}
	return m.Dim()
}

// Embedders returns the choices that these settings allow: the server only if
// one is configured.
func (s *Settings) Embedders() []Embedder {
	list := []Embedder{{Name: EmbedderStatic}, {Name: EmbedderNone}}
	if s.Embedder.OpenAI != nil {
		list = append(list, Embedder{Name: EmbedderOpenAI, OpenAI: s.Embedder.OpenAI})
	}
	return list
}

// FindEmbedder returns the choice with this name, if these settings allow it. The error
// lists the allowed names.
func (s *Settings) FindEmbedder(name string) (Embedder, error) {
	var names []string
	for _, e := range s.Embedders() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	err := fmt.Errorf("no embedder %q%s", name, words.Suggest(name, names))
	if s.Embedder.OpenAI == nil {
		err = fmt.Errorf("%w (no embeddings server is configured)", err)
	}
	return Embedder{}, err
}

// A Reranker is a server that reranks. For Deadline and Candidates, see
// repertoire.Config.
type Reranker struct {
	remote.Config
	Deadline   time.Duration
	Candidates int
}

// New returns the reranker on the server.
func (r *Reranker) New() (rerank.Reranker, error) {
	m, err := remote.New(r.Config, nil)
	if err != nil {
		return nil, err // not m: a nil *Reranker in an interface is not nil
	}
	return m, nil
}

// Default returns the settings that hold without a configuration.
func Default() Settings {
	return Settings{Project: true, User: true, Bundled: true, Installed: true, Embedder: Embedder{Name: EmbedderStatic}}
}

// ReadUser adds the settings in the configuration file of a user, or none of them if the
// file has a mistake. Its errors are *Error.
func (s *Settings) ReadUser(name string) error {
	data, err := readFile(name, maxFile)
	if err != nil {
		return err
	}
	return s.parse(name, data, nil)
}

// ReadProject adds the settings in the configuration file of a project, or none of them if
// the file has a mistake. Its errors are *Error.
func (s *Settings) ReadProject(name string) error {
	folder := regular.Real(filepath.Dir(filepath.Dir(name)))
	f := newFence(cmp.Or(ProjectRoot(folder), folder), nil)
	data, err := readProject(name, f)
	if err != nil {
		return err
	}
	return s.parse(name, data, f)
}

// parse adds the settings in the content of a file; f is the fence of its project, nil for
// the file of a user.
func (s *Settings) parse(name string, data []byte, f *fence) error {
	top, err := decode(name, data)
	if err != nil || top == nil {
		return err
	}
	changed := *s
	changed.Roots, changed.Agents = slices.Clone(s.Roots), slices.Clone(s.Agents)
	changed.Disabled, changed.Preloaded, changed.Ignore = slices.Clone(s.Disabled), slices.Clone(s.Preloaded), slices.Clone(s.Ignore)
	changed.Places = make(map[string]search.Place)
	maps.Copy(changed.Places, s.Places)
	p := &parser{file: name, dir: filepath.Dir(name), user: f == nil, fence: f, settings: &changed}
	if f != nil {
		p.dir = filepath.Join(regular.Real(filepath.Dir(p.dir)), filepath.Base(p.dir))
	}
	if err := p.top(top); err != nil {
		if bad, ok := errors.AsType[*Error](err); ok && bad.File == "" {
			bad.File = name
		}
		return err
	}
	*s = changed
	return nil
}

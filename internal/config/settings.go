// Package config holds the settings of users and projects: it reads configuration files, finds the folders that this
// program uses, and opens the sources, the embedder and the reranker that the settings name.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/embed/static"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rerank"
	"github.com/repertoire-skills/repertoire/rerank/remote"
	"github.com/repertoire-skills/repertoire/search"
)

// Settings are the settings from configuration files, environment and flags. The file
// of a user may set everything. The file of a project may come from somebody else, so it
// may only add folders and agents: it must not choose where prompts are sent.
type Settings struct {
	Roots     []Root // further folders with skills; the first wins
	Project   bool   // look in the usual folders of the project
	User      bool   // look in the usual folders of the user
	Bundled   bool   // offer the skills that are compiled in
	DB        string // catalog file; "" means the one that DefaultDB returns
	Schedule  string // of rescans; "" means the default of repertoire.Config
	MaxFile   int64  // size in bytes of the largest file that is served; 0 means 1 MiB
	Agents    []*search.Agent
	Embedder  Embedder
	Deadline  time.Duration // for the embedding of a prompt; 0 means the default of repertoire.Config
	Disturb   float64       // see search.Query; 0 means the default
	Threshold float64       // the same
	Form      string        // of blocks, one of Forms; "" means the default of each block
	Reranker  *Reranker     // nil means none
}

// A Root is a folder with skills that flags or files name.
type Root struct {
	Path    string
	Label   string            // "" means a label made from Path
	Names   map[string]string // see source.Options
	Project string            // root of the project whose file names it; "" means that the user does
}

// The names of embedders in a configuration.
const (
	EmbedderStatic = "static" // the built-in one
	EmbedderNone   = "none"   // ranking is by text alone
	EmbedderOpenAI = "openai" // an embeddings server
)

// Forms returns the forms of a block, see contextprovider.Form.
func Forms() []string { return []string{"short", "full"} }

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
	if name == EmbedderOpenAI {
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
	return Settings{Project: true, User: true, Bundled: true, Embedder: Embedder{Name: EmbedderStatic}}
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
	folder := resolved(filepath.Dir(filepath.Dir(name)))
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
	p := &parser{file: name, dir: filepath.Dir(name), user: f == nil, fence: f, settings: &changed}
	if f != nil {
		p.dir = filepath.Join(resolved(filepath.Dir(p.dir)), filepath.Base(p.dir))
	}
	if err := p.top(top); err != nil {
		return err
	}
	*s = changed
	return nil
}

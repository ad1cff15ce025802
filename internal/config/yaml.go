package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/embed/openai"
	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/rerank/remote"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// decode returns the top node of a file with one YAML document; nil means that the file
// has none.
func decode(name string, data []byte) (top *yaml.Node, err error) {
	// The library panics on some malformed comments and anchors.
	defer func() {
		if r := recover(); r != nil {
			top, err = nil, fmt.Errorf("%s: malformed YAML: %v", name, r)
		}
	}()
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err = decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		err = decoder.Decode(&more)
	}
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s:%d: a second document; a configuration is one", name, more.Line)
	case !errors.Is(err, io.EOF):
		return nil, yamlError(name, err)
	case len(doc.Content) == 0 || isNull(doc.Content[0]):
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlMessage = lazyregexp.New(`^yaml: (?:line (\d+): )?`)

// yamlError rewrites a syntax error so that it begins with file and line, like other
// errors.
func yamlError(name string, err error) error {
	message := err.Error()
	if found := yamlMessage().FindStringSubmatch(message); found != nil {
		message = message[len(found[0]):]
		if found[1] != "" {
			name += ":" + found[1]
		}
	}
	return fmt.Errorf("%s: %s", name, message)
}

// parser reads one file; its errors name the line and the key.
type parser struct {
	file     string
	dir      string // folder that relative paths start at
	user     bool   // the file is the user's own, not a project's
	fence    *fence // of the project; nil for the file of a user
	settings *Settings
}

func (p *parser) errorf(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", p.file, n.Line, fmt.Sprintf(format, args...))
}

// isNull reports whether a value is missing, for example because everything below
// its key is commented out.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// pairs calls read for each key of a mapping. A key that occurs twice is an error.
func (p *parser) pairs(n *yaml.Node, what string, read func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return p.errorf(n, "%s must be a mapping of keys to values", what)
	}
	seen := make(map[string]bool)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "":
			return p.errorf(key, "%s: a key must be a text", what)
		case seen[key.Value]:
			return p.errorf(key, "%s: key %q stands here twice", what, key.Value)
		}
		seen[key.Value] = true
		if err := read(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// keys maps each key of a mapping to the function that reads its value.
type keys map[string]func(*yaml.Node) error

// mapping reads a mapping. A key that is not in known is an error that lists the
// known keys.
func (p *parser) mapping(n *yaml.Node, what string, known keys) error {
	return p.pairs(n, what, func(key, value *yaml.Node) error {
		read, ok := known[key.Value]
		switch {
		case !ok:
			return p.errorf(key, "%s: no key %q%s", what, key.Value, words.Suggest(key.Value, slices.Sorted(maps.Keys(known))))
		case isNull(value):
			// Do not treat this as a missing key: an agent with an empty include
			// would see everything.
			return p.errorf(key, "%s: key %q has no value", what, key.Value)
		}
		return read(value)
	})
}

func (p *parser) top(n *yaml.Node) error {
	s := p.settings
	known := keys{"roots": p.roots, "agents": p.agents}
	personal := keys{
		"project":   p.boolean(&s.Project),
		"user":      p.boolean(&s.User),
		"bundled":   p.boolean(&s.Bundled),
		"db":        p.path(&s.DB),
		"schedule":  p.text(&s.Schedule),
		"max_file":  number(p, &s.MaxFile),
		"embedder":  p.embedder,
		"deadline":  p.duration(&s.Deadline),
		"threshold": p.probability(&s.Threshold),
		"reranker":  p.reranker,
	}
	for key, read := range personal {
		if p.user {
			known[key] = read
			continue
		}
		known[key] = func(n *yaml.Node) error {
			return p.errorf(n, "%s: a project's configuration cannot set this; move it to your own", key)
		}
	}
	return p.mapping(n, "configuration", known)
}

func (p *parser) roots(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return p.errorf(n, "roots must be a list of folders, or of mappings with path, label and names")
	}
	if len(n.Content) > maxProjectRoots && !p.user {
		return p.errorf(n, "roots: %d folders; a project may name %d", len(n.Content), maxProjectRoots)
	}
	for _, item := range n.Content {
		r, err := p.root(item)
		if err != nil {
			return err
		}
		p.settings.Roots = append(p.settings.Roots, r)
	}
	return nil
}

// Bounds of the file of a project: each root is walked, and each agent may get a server.
const (
	maxProjectRoots  = 64
	maxProjectAgents = 64
)

func (p *parser) root(n *yaml.Node) (r Root, err error) {
	path := p.path(&r.Path)
	if !p.user {
		path = p.projectPath(&r)
	}
	if n.Kind == yaml.ScalarNode {
		err = path(n)
	} else {
		err = p.mapping(n, "roots", keys{"path": path, "label": p.text(&r.Label), "names": p.names("names", &r.Names)})
	}
	switch {
	case err != nil:
	case r.Path == "":
		err = p.errorf(n, "roots: a path is missing")
	case !p.user:
		err = p.projectLabel(n, &r)
	}
	return r, err
}

// projectPath reads the path of a folder that must be inside of the project.
func (p *parser) projectPath(r *Root) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		path, err := p.scalar(n, "a path")
		if err != nil || path == "" {
			return err
		}
		if reason := badPath(path); reason != "" {
			return p.errorf(n, "roots: %q %s; a project's configuration names folders of the project, relative to its own folder", path, reason)
		}
		r.Path, r.Project = filepath.Join(p.dir, filepath.FromSlash(path)), p.fence.project
		if err := p.fence.inside(resolved(r.Path)); err != nil {
			return p.errorf(n, "roots: %q: %v", path, err)
		}
		return nil
	}
}

// plainLabel matches the labels that a project may choose. A colon would let it pose as a
// place of the user, such as user:.claude, and a slash as a part of one.
var plainLabel = lazyregexp.New(`^[\pL\pN._-]{1,64}$`)

// projectLabel checks or makes the label of a folder of the project.
func (p *parser) projectLabel(n *yaml.Node, r *Root) error {
	switch {
	case r.Label == "":
		r.Label = automaticLabel(r)
	case !plainLabel().MatchString(r.Label) || strings.EqualFold(r.Label, source.KindBundled):
		return p.errorf(n, "roots: label %q: the label of a project's folder has letters, digits, dots, hyphens and underscores, and is not %q", r.Label, source.KindBundled)
	}
	key := words.NameKey(r.Label)
	for _, other := range p.settings.Roots {
		switch {
		case words.NameKey(other.Label) != key:
		case other.Project == "":
			return p.errorf(n, "roots: label %q is the label of %s in your own configuration; give the project's folder another one", r.Label, other.Path)
		case resolved(other.Path) != resolved(r.Path):
			return p.errorf(n, "roots: label %q is the label of %s too; give one of them another label", r.Label, other.Path)
		}
	}
	return nil
}

// automaticLabel returns "project:" and the path of a folder in the project. The usual
// folders of the project have labels such as "project:.claude" already.
func automaticLabel(r *Root) string {
	rel, err := filepath.Rel(r.Project, resolved(r.Path))
	if err != nil {
		rel = r.Path
	}
	if slices.Contains(client.SkillFolders(), rel) {
		rel = "./" + rel
	}
	return source.KindProject + ":" + filepath.ToSlash(rel)
}

func (p *parser) agents(n *yaml.Node) error {
	if len(n.Content)/2 > maxProjectAgents && !p.user {
		return p.errorf(n, "agents: %d agents; a project may have %d", len(n.Content)/2, maxProjectAgents)
	}
	return p.pairs(n, "agents", func(name, rules *yaml.Node) error {
		a := &search.Agent{Name: name.Value}
		err := p.mapping(rules, "agent "+a.Name, keys{
			"include": p.rules(&a.Include, a.Name+" include"),
			"exclude": p.rules(&a.Exclude, a.Name+" exclude"),
			"pinned":  p.list(&a.Pinned),
		})
		if err != nil {
			return err
		}
		return p.addAgent(name, a)
	})
}

// addAgent adds an agent. A later file of the user may replace an agent of the same
// name. The file of a project must not, since it could widen what the agent sees.
func (p *parser) addAgent(n *yaml.Node, a *search.Agent) error {
	s := p.settings
	i := slices.IndexFunc(s.Agents, func(b *search.Agent) bool { return a.Name == b.Name })
	switch {
	case i < 0:
		s.Agents = append(s.Agents, a)
	case p.user:
		s.Agents[i] = a
	default:
		return p.errorf(n, "agent %s: your own configuration has an agent of this name, which a project's cannot replace", a.Name)
	}
	return nil
}

// rules reads the rules of an agent. Rules that name nothing are an error: an
// empty include would let everything through.
func (p *parser) rules(r *search.Rules, what string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		err := p.mapping(n, what, keys{"names": p.list(&r.Names), "tags": p.list(&r.Tags), "sources": p.list(&r.Sources)})
		if err == nil && len(r.Names)+len(r.Tags)+len(r.Sources) == 0 {
			err = p.errorf(n, "%s names nothing; leave it out or say what", what)
		}
		return err
	}
}

func (p *parser) embedder(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Value != EmbedderStatic && n.Value != EmbedderNone {
			return p.errorf(n, "no embedder %q; there are: static, none, openai (a mapping with base_url and model)", n.Value)
		}
		p.settings.Embedder = Embedder{Name: n.Value}
		return nil
	}
	return p.mapping(n, "embedder", keys{"openai": p.openai})
}

func (p *parser) openai(n *yaml.Node) error {
	e := new(openai.Config)
	err := p.mapping(n, "embedder openai", keys{
		"base_url": p.text(&e.BaseURL), "model": p.text(&e.Model), "key_env": p.text(&e.KeyEnv),
		"azure": p.boolean(&e.Azure), "allow_insecure": p.boolean(&e.AllowInsecure), "headers": p.names("headers", &e.Headers),
		"dimensions": number(p, &e.Dimensions), "encoding": p.text(&e.Encoding),
		"query_prefix": p.optional(&e.QueryPrefix), "document_prefix": p.optional(&e.DocumentPrefix),
		"max_batch": number(p, &e.MaxBatch), "max_chars": number(p, &e.MaxChars), "timeout": p.duration(&e.Timeout),
	})
	if err == nil && (e.BaseURL == "" || e.Model == "") {
		err = p.errorf(n, "embedder openai: base_url and model are needed")
	}
	p.settings.Embedder = Embedder{Name: EmbedderOpenAI, OpenAI: e}
	return err
}

// reranker reads a mapping with one key, a protocol, whose value is the settings
// of a server.
func (p *parser) reranker(n *yaml.Node) error {
	known := make(keys)
	var names []string
	for _, api := range remote.APIs() {
		names = append(names, string(api))
		known[string(api)] = func(n *yaml.Node) error { return p.rerankServer(n, api) }
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "none":
		p.settings.Reranker = nil
		return nil
	case n.Kind != yaml.MappingNode:
		return p.errorf(n, "no reranker %q; there are: none, %s (a mapping with base_url and model)", n.Value, strings.Join(names, ", "))
	case len(n.Content) != 2:
		return p.errorf(n, "reranker: one protocol is needed, of: %s", strings.Join(names, ", "))
	}
	return p.mapping(n, "reranker", known)
}

func (p *parser) rerankServer(n *yaml.Node, api remote.API) error {
	s := &Reranker{Config: remote.Config{API: api}}
	what := "reranker " + string(api)
	err := p.mapping(n, what, keys{
		"base_url": p.text(&s.BaseURL), "model": p.text(&s.Model), "key_env": p.text(&s.KeyEnv),
		"max_chars": number(p, &s.MaxChars), "deadline": p.duration(&s.Deadline), "candidates": number(p, &s.Candidates),
	})
	switch {
	case err != nil:
		return err
	case s.BaseURL == "":
		return p.errorf(n, "%s: base_url is needed", what)
	case s.Model == "" && api != remote.TEI:
		return p.errorf(n, "%s: model is needed", what)
	}
	p.settings.Reranker = s
	return nil
}

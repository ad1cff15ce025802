package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/edit"
	"github.com/repertoire-skills/repertoire/rank"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// decode returns the top node of a file with one YAML document; nil means that the file
// has none.
func decode(name string, data []byte) (*yaml.Node, error) {
	top, err := edit.YAMLNode(data)
	if bad, ok := errors.AsType[*edit.Error](err); ok {
		return nil, &Error{name, bad.Line, errors.New(bad.Message)}
	}
	return top, err
}

// parser reads one file; its errors name the line and the key.
type parser struct {
	file     string
	dir      string // folder that relative paths start at
	user     bool   // the file is the user's own, not a project's
	fence    *fence // of the project; nil for the file of a user
	settings *Settings
}

// errorf is the error for a value; parse adds the file.
func errorf(n *yaml.Node, format string, args ...any) error {
	return &Error{Line: n.Line, Err: fmt.Errorf(format, args...)}
}

// isNull reports whether a value is missing, for example because everything below
// its key is commented out.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// pairs calls read for each key of a mapping. A key that occurs twice is an error.
func pairs(n *yaml.Node, what string, read func(key, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return errorf(n, "%s must be a mapping of keys to values", what)
	}
	seen := make(map[string]bool)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value == "":
			return errorf(key, "%s: a key must be a text", what)
		case seen[key.Value]:
			return errorf(key, "%s: key %q stands here twice", what, key.Value)
		}
		seen[key.Value] = true
		if err := read(key, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// keys returns the keys of the file. Those that a project's file must not have are errors
// there, which say where they belong.
func (p *parser) keys() keys {
	s := p.settings
	known := keys{
		"roots": p.rootList().doc("folders with skills; the first wins", nil).
			many(`"skills root" changes them`, p.shownRoots),
		"agents": p.agentMap().doc("what each agent may see, and what it is told", nil).
			many(`"skills pin" and "skills disable" with --agent change an agent; for more, edit the file`, p.shownAgents),
		"disabled": p.disabled(&s.Disabled).doc("skills that nobody is offered: a list of names, or a mapping of rules", nil).
			many(`"skills disable" and "skills enable" change it`, func() []Shown { return shownBans("disabled", s.Disabled) }),
		"ignore": p.ignore().doc("findings that \"skills doctor\" leaves out: rules, or mappings of rules, skills and sources that all must match", nil).
			many("edit the file", p.shownIgnores),
	}
	if p.user {
		maps.Copy(known, p.personal())
	}
	return known
}

// personal returns the keys that only the file of a user may have.
func (p *parser) personal() keys {
	s := p.settings
	return keys{
		"project":     boolean(&s.Project).doc("look at the project's folders", true),
		"user":        boolean(&s.User).doc("look at the folders in your home", true),
		"bundled":     bundled(s).doc("offer the skills that are compiled in: all, none, or these", true),
		"db":          p.path(&s.DB).doc("file of the catalog, instead of one in the cache folder", nil),
		"store":       secret(&s.Store).doc("URL of the database of a shared catalog, which takes the place of folders", nil),
		"catalog":     text(&s.Catalog).doc("which catalog of the database of \"store\"", nil),
		"schedule":    schedule(&s.Schedule).doc("when programs that stay running rescan, as a cron spec", "@every 5s"),
		"max_file":    number(&s.MaxFile).doc("bytes of the largest file that is served", 1<<20),
		"embedder":    embedder(&s.Embedder).doc("what makes vectors of texts", EmbedderStatic),
		"contextual":  choice(&s.Contextual, contextuals()).doc("whether the built-in encoder, which knows what sentences mean, ranks beside the vectors of words: auto means where a prompt takes it at most 60 ms; on means that searches wait for it up to half a second", contextualAuto),
		"deadline":    duration(&s.Deadline).doc("how long a prompt waits for its embedding", "250ms"),
		"disturb":     share("a share from 0 to 1", &s.Disturb, search.OnlyNamed).doc("share of the prompts that need no skill and may get one", rank.DefaultRate),
		"unfit":       share("a share from 0 to 1", &s.Unfit, search.OnlyNamed).doc("share of the prompts for work that none of the skills is for and may get one", rank.DefaultUnfit),
		"threshold":   share("a probability from 0 to 1", &s.Threshold, search.Always).doc("instead of disturb and unfit: least probability that a prompt wants the best skill", nil),
		"triggers":    triggers(&s.Triggers).doc("what it means that a prompt has a trigger of a skill: certain offers the skill whatever else speaks against it, evidence counts beside other evidence, off nothing; for all skills, or by label or kind of source (root, user, project, installed, bundled)", map[string]string{"root": "certain", "user": "certain"}),
		"offer":       choice(&s.Offer, offers()).doc("how many skills programs list that may choose (chat, tools, a library): what fits the prompt, all, or all where they are few; hooks and MCP list what fits", offers()[0]),
		"wording":     p.section("wording", wordingKeys(s)).doc("what a model is told of the best skill; {name} is its name", nil),
		"form":        choice(&s.Form, Forms()).doc("of skills in a block", nil),
		"reranker":    reranker(&s.Reranker).doc("a server that orders the best candidates anew", "none"),
		"model":       p.section("model", modelKeys(&s.Model)).doc("the model that \"skills chat\" asks", nil),
		"order":       order(&s.Order).doc("of sources, the first wins; those that are missing follow in the default order", source.Groups()),
		"install_dir": p.path(&s.InstallDir).doc("folder of installed skills, instead of one in your data folder", nil),
		"user_dir":    p.path(&s.UserDir).doc("folder with your skills, instead of the usual ones in your home", nil),
		"registries": registryList(&s.Registries).doc("registries elsewhere that \"skills search --registries\" asks", nil).
			many(`"skills root add --registry" and "skills root remove --registry" change them`, nil),
		"projects": p.projects().doc("what holds in one project only, by its folder", nil).
			many(`"skills disable --project" changes them; for more, edit the file`, p.shownProjects),
		"trust":    p.section("trust", trustKeys(&s.Trust)).doc("whose skills are offered", nil),
		"requires": p.section("requires", requiresKeys(&s.Requires)).doc("what happens to skills whose needs are not met", nil),
		"usage":    usage(&s.Usage).doc("keep a local log of what is offered, loaded and read", false),
		"scripts":  p.scripts(&s.Scripts).doc("how the scripts of skills run; an agent's own keys win", nil).many("edit the file", p.shownScripts),
		"limits":   p.section("limits", limitsKeys(&s.Limits)).doc("what a skill may be before it counts as a problem", nil),
	}
}

func (p *parser) top(n *yaml.Node) error {
	known := p.keys()
	if !p.user {
		for key := range p.personal() {
			known[key] = personalOnly(key)
		}
	}
	if err := mapping(n, "configuration", known); err != nil {
		return err
	}
	for i := 0; i < len(n.Content); i += 2 {
		p.note(n.Content[i].Value, n.Content[i])
	}
	return oneLevel(n)
}

// personalOnly is the value of a key that the file of a project must not have.
func personalOnly(key string) value {
	return value{read: func(n *yaml.Node) error {
		return errorf(n, "%s: a project's configuration cannot set this; move it to your own", key)
	}}
}

// oneLevel returns an error if a mapping has threshold beside disturb or unfit.
func oneLevel(n *yaml.Node) error {
	var threshold, share *yaml.Node
	for i := 0; i < len(n.Content); i += 2 {
		switch key := n.Content[i]; key.Value {
		case "threshold":
			threshold = key
		case "disturb", "unfit":
			share = cmp.Or(share, key)
		default:
			continue
		}
		if threshold != nil && share != nil {
			first, second := share, threshold
			if share.Line > threshold.Line {
				first, second = threshold, share
			}
			return errorf(second, "%s: line %d sets %s, which decides the same; keep one of the two", second.Value, first.Line, first.Value)
		}
	}
	return nil
}

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/install"
	"github.com/repertoire-skills/repertoire/internal/trust"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/skill"
	"github.com/repertoire-skills/repertoire/source"
)

// A ProjectRules is what the user's file says of one project.
type ProjectRules struct {
	Folder   string // root of the project
	Disabled []search.Ban
}

// Policy returns which skills the files hold back, and follows what the user trusts and
// installs, and what is switched off in a client; client "" means all of them. It calls warn, which
// may be nil, if it cannot know what is trusted or was installed: then nothing is. dir is the
// folder of the work.
func (s *Settings) Policy(dir, client string, warn func(error)) *search.Policy {
	p := s.rules()
	if p == nil {
		p = new(search.Policy)
	}
	report := reportTo(warn)
	var versions []func() string
	if s.Trust.Project == trustAsk {
		dir, err := StateDir()
		if err == nil {
			f := trust.Open(dir)
			p.Trusted, versions = f.Trusted, append(versions, f.Version)
			_, err = f.List()
		}
		report("reading which skills are trusted", err)
	}
	if s.Trust.RequireDigest {
		folder, err := s.InstalledDir()
		if err == nil {
			var w *trust.Watched[install.Accepts]
			w, err = lockIn(folder)
			p.Installed, versions = []string{source.KindInstalled}, append(versions, w.Version)
			p.Locked = func(label, dir, digest string) bool { return w.Value()(install.Key(label, dir), digest) }
		}
		report("reading what was installed", err)
	}
	var version func() string
	p.Switches, version = switches(switchFiles(dir, client, report))
	versions = append(versions, version)
	p.Version = func() string {
		texts := make([]string, len(versions))
		for i, version := range versions {
			texts[i] = version()
		}
		return strings.Join(texts, " ")
	}
	return p
}

// reportTo returns a function that tells warn, which may be nil, what went wrong.
func reportTo(warn func(error)) func(doing string, err error) {
	return func(doing string, err error) {
		if err != nil && warn != nil {
			warn(fmt.Errorf("%s: %w", doing, err))
		}
	}
}

// lockIn returns what the lock in a folder says, also as it changes, and why it cannot be
// read now. As long as it cannot, no skill is as it was installed.
func lockIn(folder string) (w *trust.Watched[install.Accepts], err error) {
	w = trust.Watch(filepath.Join(folder, install.LockFile), func() install.Accepts {
		var locked install.Accepts
		if locked, err = install.Locked(folder); err != nil {
			return func(string, string) bool { return false }
		}
		return locked
	})
	w.Value()
	now := err
	return w, now
}

// rules returns the part of the policy that the files state; nil means none. A kind of sources
// stands for all sources of the kind, as they come and go.
func (s *Settings) rules() *search.Policy {
	p := &search.Policy{Disabled: slices.Clone(s.Disabled), Lower: slices.Clone(s.Trust.Lower), Triggers: s.Triggers}
	if s.Trust.Project == trustAsk {
		p.Ask = []string{source.KindProject}
	}
	for _, r := range s.Roots {
		if r.Elsewhere() && !r.Trusted {
			p.Lower = append(p.Lower, r.Label)
		}
	}
	if len(s.Preloaded) > 0 {
		p.Private = []string{source.KindPreloaded}
	}
	if len(p.Disabled)+len(p.Lower)+len(p.Ask)+len(p.Private)+len(p.Triggers) == 0 && !s.Trust.RequireDigest {
		return nil
	}
	return p
}

// disabled reads skills that are disabled: names, or a mapping of rules. Each entry becomes
// a ban of its own, which knows its line. What a project's file disables holds only for the
// project's own skills.
func (p *parser) disabled(to *[]search.Ban) value {
	var within []string
	if !p.user {
		within = []string{source.KindProject}
	}
	add := func(set func(*search.Rules) *[]string) value {
		return value{schema: listSchema, read: func(n *yaml.Node) error {
			items, err := items(n)
			if err != nil {
				return err
			}
			for _, item := range items {
				ban := search.Ban{Within: within, Place: p.place(item)}
				*set(&ban.Rules) = []string{item.Value}
				if err := checkRules(item, "disabled", ban.Rules); err != nil {
					return err
				}
				*to = append(*to, ban)
			}
			return nil
		}}
	}
	names := add(func(r *search.Rules) *[]string { return &r.Names })
	rules := object("disabled", keys{
		"names":   names.doc("patterns for whole names: * ? [a-z] and \\ are special", nil),
		"tags":    add(func(r *search.Rules) *[]string { return &r.Tags }).doc("tags", nil),
		"sources": add(func(r *search.Rules) *[]string { return &r.Sources }).doc("labels of sources", nil),
	})
	read := rules.read
	rules.read = func(n *yaml.Node) error {
		if n.Kind == yaml.MappingNode {
			return read(n)
		}
		return names.read(n)
	}
	other := rules.schema
	rules.schema = func() schema { return anyOf(listSchema(), other()) }
	return rules
}

// checkRules returns an error for empty or malformed rules, which n is.
func checkRules(n *yaml.Node, what string, r search.Rules) error {
	if n.Value == "" {
		return errorf(n, "%s: a name is missing", what)
	}
	return checkNames(n, what, r)
}

// checkNames returns an error for malformed patterns for names.
func checkNames(n *yaml.Node, what string, r search.Rules) error {
	err := (&search.Agent{Exclude: r}).Check()
	if bad, ok := errors.AsType[*search.RuleError](err); ok {
		return errorf(n, "%s: %w", what, bad.Err)
	}
	return nil
}

// projects reads what holds in single projects.
func (p *parser) projects() value {
	inside := func(r *ProjectRules) keys { return keys{"disabled": p.disabled(&r.Disabled)} }
	return value{
		schema: func() schema { return mapOf(objectSchema(inside(new(ProjectRules)))) },
		read: func(n *yaml.Node) error {
			p.settings.Projects = nil
			return pairs(n, "projects", func(key, rules *yaml.Node) error {
				var r ProjectRules
				if err := p.path(&r.Folder).read(key); err != nil {
					return err
				}
				if err := mapping(rules, "project "+key.Value, inside(&r)); err != nil {
					return err
				}
				p.settings.Projects = append(p.settings.Projects, r)
				return nil
			})
		},
	}
}

// order reads the order of groups of sources.
func order(to *[]string) value {
	return value{
		schema: func() schema {
			s := arrayOf(enumSchema(source.Groups()))
			s["uniqueItems"] = true
			return anyOf(enumSchema(source.Groups()), s)
		},
		show: shownList(to),
		read: func(n *yaml.Node) error {
			items, err := items(n)
			*to = nil
			for _, item := range items {
				switch {
				case !slices.Contains(source.Groups(), item.Value):
					return errorf(item, "order: no group of sources %q%s", item.Value, words.Suggest(item.Value, source.Groups()))
				case slices.Contains(*to, item.Value):
					return errorf(item, "order: %s stands here twice", item.Value)
				}
				*to = append(*to, item.Value)
			}
			return err
		},
	}
}

// bundled reads whether the compiled-in skills are offered, or which.
func bundled(s *Settings) value {
	all := boolean(&s.Bundled).check(func(*yaml.Node) error { s.BundledOnly = nil; return nil })
	return either(all, value{
		schema: func() schema { return arrayOf(enumSchema(bundledNames())) },
		show: func() any {
			if s.Bundled && s.BundledOnly != nil {
				return s.BundledOnly
			}
			return s.Bundled
		},
		read: func(n *yaml.Node) error {
			items, err := items(n)
			s.Bundled, s.BundledOnly = len(items) > 0, nil
			for _, item := range items {
				if !slices.Contains(bundledNames(), item.Value) {
					return errorf(item, "bundled: no skill %q is compiled in%s", item.Value, words.Suggest(item.Value, bundledNames()))
				}
				s.BundledOnly = append(s.BundledOnly, item.Value)
			}
			return err
		},
	})
}

// triggers reads what triggers are worth: of all skills, or by label or kind of source.
func triggers(to *map[string]string) value {
	uses := []string{"certain", "evidence", "off"}
	set := func(source string, n *yaml.Node) error {
		use := ""
		if err := choice(&use, uses).read(n); err != nil {
			return err
		}
		(*to)[source] = use
		return nil
	}
	return value{
		schema: func() schema { return anyOf(enumSchema(uses), mapOf(enumSchema(uses))) },
		show: func() any {
			if use, ok := (*to)[""]; ok {
				return use
			}
			return *to
		},
		read: func(n *yaml.Node) error {
			*to = make(map[string]string)
			if n.Kind != yaml.MappingNode {
				return set("", n)
			}
			return pairs(n, "triggers", func(key, use *yaml.Node) error { return set(key.Value, use) })
		},
	}
}

// bundledNames returns the names of the compiled-in skills, which are those of their folders.
func bundledNames() []string {
	folders, err := fs.Glob(source.Bundled(), "*/SKILL.md")
	for i, name := range folders {
		folders[i] = name[:len(name)-len("/SKILL.md")]
	}
	if err != nil {
		panic(fmt.Sprint("reading the bundled skills: ", err)) // unreachable: the pattern is well-formed
	}
	return folders
}

func trustKeys(t *Trust) keys {
	return keys{
		"project": choice(&t.Project, []string{trustOffer, trustAsk}).
			doc("offer the skills of a project, or ask first: \"skills trust\" answers", trustOffer),
		"require_digest": boolean(&t.RequireDigest).doc("hold back installed skills that were changed after they were installed", false),
		"keys":           list(&t.Keys).doc("public keys, one of which must have signed what is installed", nil),
		"lower":          list(&t.Lower).doc("labels of sources whose skills rank below equals", nil),
	}
}

func wordingKeys(s *Settings) keys {
	return keys{
		"certain":  text(&s.Wording.Certain).doc("if it is 90 % likely or named", nil),
		"likely":   text(&s.Wording.Likely).doc("if it is 50 % likely", nil),
		"possible": text(&s.Wording.Possible).doc("otherwise", nil),
	}
}

func requiresKeys(r *Requires) keys {
	return keys{
		"ignore": boolean(&r.Ignore).doc("offer skills whose commands are missing all the same", false),
		"assume": list(&r.Assume).doc("commands and environment variables that count as there", nil),
		"load":   boolean(&r.Load).doc("loading a skill also loads the skills that it requires", false),
	}
}

// usage reads whether use is noted: true, false, or a mapping that says how.
func usage(u *Usage) value {
	how := object("usage", keys{"prompts": boolean(&u.Prompts).doc("note the prompts too", false)}).check(func(*yaml.Node) error { u.Log = true; return nil })
	all := boolean(&u.Log).check(func(*yaml.Node) error { u.Prompts = false; return nil })
	v := either(all, how)
	v.show = func() any {
		if u.Log && u.Prompts {
			return map[string]any{"prompts": true}
		}
		return u.Log
	}
	return v
}

// maxDescription is the longest description that limits may allow.
const maxDescription = 16 << 10

func limitsKeys(l *skill.Limits) keys {
	d := skill.Limits{}.OrDefault()
	longest := func(n *yaml.Node) error {
		if l.Description > maxDescription {
			return errorf(n, "limits: a description of at most %d characters can be kept, not %d", maxDescription, l.Description)
		}
		return nil
	}
	return keys{
		"name":        number(&l.Name).doc("characters of a name", d.Name),
		"description": number(&l.Description).check(longest).doc("characters of a description", d.Description),
		"body":        number(&l.Body).doc("tokens of the instructions", d.Body),
		"files":       number(&l.Files).doc("files of a skill", d.Files),
		"bytes":       number(&l.Bytes).doc("bytes of all files of a skill", d.Bytes),
	}
}

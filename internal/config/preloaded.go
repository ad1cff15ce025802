package config

import (
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/search"
	"github.com/repertoire-skills/repertoire/source"
)

// preloadedLabel begins the labels of folders of skills that agents name by their paths.
const preloadedLabel = source.KindPreloaded + ":"

// maxProjectUses is how many skills an agent of a project may use: each is read for each prompt.
const maxProjectUses = 64

// aboutUses describes uses_skills.
func aboutUses(user bool) string {
	paths := ""
	if user {
		paths = ", or paths of their folders that begin with / ~ or ."
	}
	return "skills that it always has with all their instructions: names" + paths + "; without include, they are all that it sees"
}

// usedSkills reads which skills an agent uses.
func (p *parser) usedSkills(a *search.Agent) value {
	return value{schema: listSchema, read: func(n *yaml.Node) error {
		items, err := items(n)
		switch {
		case err == nil && len(items) == 0:
			return errorf(n, "%s uses_skills names nothing; leave it out or name a skill", a.Name)
		case len(items) > maxProjectUses && !p.user:
			return errorf(n, "uses_skills: %d skills; an agent of a project may use %d", len(items), maxProjectUses)
		}
		for _, item := range items {
			id, err := p.usedSkill(item)
			if err != nil {
				return err
			}
			same := func(other string) bool { return words.SameName(other, id) }
			if slices.ContainsFunc(a.Uses, same) {
				return errorf(item, "uses_skills: %s stands here twice", item.Value)
			}
			a.Uses = append(a.Uses, id)
			a.Places[search.Rule{Key: "uses_skills", Text: id}] = p.place(item)
		}
		return err
	}}
}

// usedSkill returns the ID of a skill that an agent uses. It notes the folder of one that the
// user's file names by its path.
func (p *parser) usedSkill(n *yaml.Node) (id string, err error) {
	text := n.Value
	switch {
	case strings.TrimSpace(text) == "":
		return "", errorf(n, "uses_skills: a name is missing")
	case strings.HasPrefix(words.NameKey(text), preloadedLabel):
		return "", errorf(n, "uses_skills: %q: labels that begin with %q are made from paths; name the path of the folder", text, preloadedLabel)
	case search.Rule{Key: "uses_skills", Text: text}.Label() == "":
		return text, nil
	case !p.user:
		return "", errorf(n, "uses_skills: %q: a project's configuration names skills, not paths; make the folder one of its roots, or move the agent to your own", text)
	}
	r := Root{Place: p.place(n)}
	if err := p.path(&r.Path).read(n); err != nil {
		return "", err
	}
	r.Path = filepath.Clean(r.Path)
	s := p.settings
	at := slices.IndexFunc(s.Preloaded, func(o Root) bool { return o.Path == r.Path })
	if at < 0 {
		r.Label = s.preloadedLabelFor(r.Path)
		at, s.Preloaded = len(s.Preloaded), append(s.Preloaded, r)
	}
	return s.Preloaded[at].Label + "/.", nil // the skill at the top
}

// preloadedLabelFor returns a label with the shortest tail of a path that no earlier one has.
func (s *Settings) preloadedLabelFor(path string) string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(path), "/"), "/")
	for n := len(parts) - 1; n >= 0; n-- {
		label := preloadedLabel + strings.Join(parts[n:], "/")
		if !slices.ContainsFunc(s.Preloaded, func(r Root) bool { return r.Label == label }) {
			return label
		}
	}
	return preloadedLabel + filepath.ToSlash(path)
}

// usesOf returns what an agent uses as its file names it.
func (s *Settings) usesOf(a *search.Agent) []string {
	list := slices.Clone(a.Uses)
	for i, id := range list {
		for _, r := range s.Preloaded {
			if id == r.Label+"/." {
				list[i] = r.Path
			}
		}
	}
	return list
}

// preloaded opens the folders of skills that agents name by their paths. A folder that is
// missing is a source that is away.
func (s *Settings) preloaded() ([]source.Source, error) {
	var sources []source.Source
	for i, r := range s.Preloaded {
		place := source.Place{Path: r.Path, Label: r.Label, Priority: -1 - i, Kind: source.KindPreloaded}
		src, err := place.Open(&source.Options{MaxFile: s.MaxFile, Limits: s.Limits})
		if err != nil {
			return nil, err
		}
		sources = append(sources, src)
	}
	return sources, nil
}

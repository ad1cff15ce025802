package config

import (
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/repertoire-skills/repertoire/internal/client"
	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/source"
)

// maxProjectRoots is how many folders a project may name: each is walked.
const maxProjectRoots = 64

// rootList reads the folders with skills.
func (p *parser) rootList() value {
	return value{
		schema: func() schema { return arrayOf(p.rootSchema()) },
		read:   p.roots,
	}
}

func (p *parser) roots(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return errorf(n, "roots must be a list of folders, or of mappings with path, label and names")
	}
	if len(n.Content) > maxProjectRoots && !p.user {
		return errorf(n, "roots: %d folders; a project may name %d", len(n.Content), maxProjectRoots)
	}
	for _, item := range n.Content {
		r, err := p.root(item)
		if err != nil {
			return err
		}
		r.Place = p.place(item)
		p.settings.Roots = append(p.settings.Roots, r)
	}
	return nil
}

func (p *parser) root(n *yaml.Node) (r Root, err error) {
	switch {
	case n.Kind == yaml.ScalarNode:
		err = p.rootPath(&r).read(n)
	case p.user && hasKey(n, "git"):
		err = mapping(n, "roots", p.gitKeys(&r))
	case p.user && hasKey(n, "url"):
		err = mapping(n, "roots", p.urlKeys(&r))
	case hasKey(n, "git"), hasKey(n, "url"):
		err = errorf(n, "roots: a project's configuration names folders of the project only; name what is elsewhere in your own")
	default:
		err = mapping(n, "roots", p.pathKeys(&r))
	}
	if err == nil && r.Elsewhere() {
		err = placeRoot(n, &r, p.settings.Roots)
	}
	switch {
	case err != nil:
	case r.Path == "":
		err = errorf(n, "roots: a path is missing")
	case !p.user:
		err = projectLabel(n, &r, p.settings.Roots)
	}
	if err == nil {
		// A source without files checks the names like any other.
		if _, bad := source.Files(nil, &source.Options{Label: r.Path, Names: r.Names}); bad != nil {
			err = errorf(n, "roots: %w", bad)
		}
	}
	return r, err
}

// rootPath reads the path of a folder on this machine.
func (p *parser) rootPath(r *Root) value {
	if p.user {
		return p.path(&r.Path)
	}
	return p.projectPath(r)
}

// pathKeys returns the keys of a folder on this machine.
func (p *parser) pathKeys(r *Root) keys {
	return keys{
		"path":  p.rootPath(r).doc("the folder; a relative path starts at the folder of the file", nil),
		"label": text(&r.Label).doc("name of the source", nil),
		"names": names("names", &r.Names).doc("other names for skills, by their own names or folders", nil),
	}
}

func (p *parser) rootSchema() schema {
	var r Root
	list := []schema{pathSchema(), objectSchema(p.pathKeys(&r)).required("path")}
	if p.user {
		list = append(list, objectSchema(p.gitKeys(&r)).required("git"), objectSchema(p.urlKeys(&r)).required("url"))
	}
	return anyOf(list...)
}

// projectPath reads the path of a folder that must be inside of the project.
func (p *parser) projectPath(r *Root) value {
	return value{schema: pathSchema, read: func(n *yaml.Node) error {
		path, err := scalar(n, "a path")
		if err != nil || path == "" {
			return err
		}
		if reason := badPath(path); reason != "" {
			return errorf(n, "roots: %q: %s; a project's configuration names folders of the project, relative to its own folder", path, reason)
		}
		r.Path, r.Project = filepath.Join(p.dir, filepath.FromSlash(path)), p.fence.project
		if err := p.fence.folder(regular.Real(r.Path)); err != nil {
			return errorf(n, "roots: %q: %v", path, err)
		}
		return nil
	}}
}

// plainLabel matches the labels that a project may choose. The first character tells them
// from those of the usual folders, such as .claude.
var plainLabel = lazyregexp.New(`^[\pL\pN][\pL\pN._-]{0,63}$`)

// projectLabel checks or makes the label of a folder of the project. It begins with
// "project:", so that no rule about folders of the user means it.
func projectLabel(n *yaml.Node, r *Root, roots []Root) error {
	switch {
	case r.Label == "":
		r.Label = automaticLabel(r)
	case !plainLabel().MatchString(r.Label):
		return errorf(n, "roots: label %q: the label of a project's folder begins with a letter or digit; letters, digits, dots, hyphens and underscores follow", r.Label)
	default:
		r.Label = source.KindProject + ":" + r.Label
	}
	key := words.NameKey(r.Label)
	for _, other := range roots {
		switch {
		case words.NameKey(other.Label) != key:
		case other.Project == "":
			return errorf(n, "roots: label %q is the label of %s in your own configuration; give the project's folder another one", r.Label, other.Path)
		case regular.Real(other.Path) != regular.Real(r.Path):
			return errorf(n, "roots: label %q is the label of %s too; give one of them another label", r.Label, other.Path)
		}
	}
	return nil
}

// automaticLabel returns "project:" and the path of a folder in the project. The usual
// folders of the project have labels such as "project:.claude" already.
func automaticLabel(r *Root) string {
	rel, err := filepath.Rel(r.Project, regular.Real(r.Path))
	if err != nil {
		rel = r.Path
	}
	rel = filepath.ToSlash(rel)
	if slices.ContainsFunc(client.SkillFolders(), func(usual string) bool { return strings.HasSuffix("/"+rel, "/"+usual) }) {
		rel = "./" + rel
	}
	return source.KindProject + ":" + rel
}

package skill

import "path"

// A Meta is level 1 of a skill: what a catalog knows and shows about a skill
// without reading the file again. Every layer uses this one declaration.
type Meta struct {
	ID          string   // the name of an offered skill, "source/folder" of a shadowed copy; the catalog sets it
	Name        string   // the name in its source: the frontmatter's name, unless the source renames the skill
	Description string   // at most MaxDescription code points, without hidden characters
	Source      string   // label of its source
	Path        string   // slash-separated path of its SKILL.md (or skill.md) in the source
	Location    string   // where to open its SKILL.md: an absolute path, or "label:path" if it is not on disk
	Tags        []string // from the frontmatter and its metadata, without duplicates
	Requires    []string // names of the skills that it requires
	Tokens      int      // estimated length of the body
	Digest      string   // "sha256:<hex>" over SKILL.md and the list of its files; "" until the source sets it
	TextDigest  string   // hexadecimal SHA-256 of SKILL.md alone
}

// Dir returns the slash-separated path of the skill's folder in its source; "."
// means the top of the source.
func (m *Meta) Dir() string { return path.Dir(m.Path) }

// File returns the base name of the skill's instructions: SKILL.md or skill.md.
func (m *Meta) File() string { return path.Base(m.Path) }

package skill

import "path"

// A Meta is level 1 of a skill: what a catalog knows and shows of it without
// reading it again. Every layer embeds this one declaration.
type Meta struct {
	ID          string   // the name of an offered skill, "source/folder" of a shadowed copy; set by the catalog
	Name        string   // as its source calls it: the name of the frontmatter, unless it is renamed
	Description string   // at most MaxDescription code points, without hidden characters
	Source      string   // label of its source
	Path        string   // slash-separated path of its SKILL.md (or skill.md) in the source
	Location    string   // where its SKILL.md can be opened: an absolute path, or "label:path" when it is not on disk
	Tags        []string // of the frontmatter and of its metadata, without duplicates
	Requires    []string // names of the skills that it asks for
	Tokens      int      // of the body, estimated
	Digest      string   // "sha256:<hex>" over SKILL.md and the list of its files; "" before its source set it
	TextDigest  string   // hexadecimal SHA-256 of SKILL.md alone
}

// Dir returns the slash-separated path of the skill's folder in its source; "."
// is the top.
func (m *Meta) Dir() string { return path.Dir(m.Path) }

// File returns the base name of the skill's instructions: SKILL.md or skill.md.
func (m *Meta) File() string { return path.Base(m.Path) }

// Package skill reads one agent skill, a folder with a SKILL.md, and checks it
// against the Agent Skills specification. Its one rule: reading is lenient,
// checking is strict. Parse accepts any file with a usable name and description
// and reports everything else as a Problem; Check gives the same verdict as the
// specification's reference validator.
package skill

import (
	"errors"
	"fmt"
	"strings"
)

// FileNames are the accepted base names of a skill's instructions, the preferred one first.
var FileNames = []string{"SKILL.md", "skill.md"}

// Limits on what is read. A longer file is refused. A longer name or description
// causes a warning, and only the first MaxDescription code points of a description
// are indexed and shown.
const (
	MaxFile        = 1 << 20   // bytes of a SKILL.md
	MaxFrontmatter = 256 << 10 // bytes between the fences
	MaxName        = 64        // code points
	MaxDescription = 1024      // code points
	maxBodyTokens  = 8000      // a longer body causes a warning
)

// Limits on a published skill. They are the limits of MCP's skills extension; the
// other clients known to us accept at least as much.
const (
	MaxPublishedFiles = 512
	MaxPublishedBytes = 16 << 20 // of all files
)

// ErrNotFound means that no such skill exists, or none that the agent may use.
var ErrNotFound = errors.New("no such skill")

// A Skill is one SKILL.md as read, with what its source knows about it. Hidden
// characters are removed from all text.
type Skill struct {
	Meta

	WhenToUse    string   // the when_to_use extension, if any
	AllowedTools []string // one entry per tool; "Bash(git:*, jq:*)" is one entry

	// Frontmatter holds all values, resolved by the YAML 1.2 core schema:
	// string, bool, int64, float64, nil, []any and map[string]any.
	Frontmatter map[string]any

	Body     string // the Markdown after the frontmatter
	BodyLine int    // line of the file on which Body starts, from 1

	Files    []File // every regular file of the folder, including SKILL.md, sorted by path
	Problems []Problem

	raw string // the file before cleaning, for Check; "" unless Parse made the skill
}

// Text returns the SKILL.md as it was read, with its hidden characters; "" unless Parse
// made the skill.
func (s *Skill) Text() string { return s.raw }

// A File is one file of a skill.
type File struct {
	Path   string // slash-separated, relative to the skill's folder
	Size   int64  // bytes
	SHA256 string // hexadecimal; "" if the file was not read
}

// A Kind is the purpose of a file, given by the folder that the file is in.
type Kind string

// The kinds, with the folders that the specification defines for them.
const (
	Script    Kind = "script"    // below scripts/: to run
	Reference Kind = "reference" // below references/: to read when needed
	Asset     Kind = "asset"     // below assets/: to use in the output
	Other     Kind = "other"     // anywhere else, such as SKILL.md
)

// Kinds are all kinds, in the order of listings.
var Kinds = [...]Kind{Script, Reference, Asset, Other}

// Kind returns the purpose of the file.
func (f File) Kind() Kind {
	for _, k := range Kinds {
		if strings.HasPrefix(f.Path, string(k)+"s/") {
			return k
		}
	}
	return Other
}

// IsMaterial reports whether a path in the folder of a skill lies in a folder for files of a
// kind. A SKILL.md there, such as assets/template/SKILL.md, is no skill but a file of this one,
// even at the top of a source, where other skills may lie below a skill.
func IsMaterial(name string) bool {
	return File{Path: strings.ToLower(name) + "/"}.Kind() != Other // some systems ignore case
}

// A Ref is a skill that a walk found but did not read. It holds enough to decide
// whether the skill may have changed since it was last indexed.
type Ref struct {
	Path string // slash-separated path of its SKILL.md in the source

	// Stamp changes whenever a file of the skill changes. It is made of names,
	// sizes and modification times, so it is cheap: an equal stamp means that
	// nothing needs to be read. It is "" if the file system gives no times that
	// can be trusted; then the skill is read and its digest is compared.
	Stamp string

	// Load reads and parses the skill. It returns a *ParseError when the file
	// holds no usable skill. Any other error means that the file could not be
	// read, which says nothing about the skill itself.
	Load func() (*Skill, error)
}

// Severity is how much a Problem matters.
type Severity string

// The severities, from worst to mildest.
const (
	Error   Severity = "error"   // the skill is refused, or violates the specification
	Warning Severity = "warning" // the skill works, but not everywhere or not as its author meant
	Note    Severity = "note"    // worth knowing
)

// A Problem is one finding about one skill.
type Problem struct {
	Rule     string   `json:"rule"` // stable kebab-case identifier, such as "yaml-repaired"
	Severity Severity `json:"severity"`
	Path     string   `json:"path"`
	Line     int      `json:"line,omitempty"` // from 1; 0 means the finding has no line
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // what the author should do
}

// String formats p as "path:line: severity: message [rule]".
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s: %s [%s]", p.place(), p.Severity, p.Message, p.Rule)
}

func (p Problem) place() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", p.Path, p.Line)
	}
	return p.Path
}

// A ParseError says why a file holds no usable skill.
type ParseError struct {
	Problem Problem // Severity is Error
}

func (e *ParseError) Error() string { return e.Problem.place() + ": " + e.Problem.Message }

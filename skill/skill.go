// Package skill reads one agent skill, a folder with a SKILL.md, and checks it
// against the Agent Skills specification. Reading is lenient: a usable name
// and description are enough, everything else becomes a Problem. Checking is
// strict: it answers what the specification's reference validator would.
package skill

import (
	"errors"
	"fmt"
	"strings"
)

// FileNames are the accepted base names of a skill's instructions, best first.
var FileNames = []string{"SKILL.md", "skill.md"}

// Limits on what is read. Longer files are refused, longer names and
// descriptions are a warning, and only the first MaxDescription code points
// of a description are indexed and shown.
const (
	MaxFile        = 1 << 20   // bytes of a SKILL.md
	MaxFrontmatter = 256 << 10 // bytes between the fences
	MaxName        = 64        // code points
	MaxDescription = 1024      // code points
	MaxBodyTokens  = 8000      // tokens above which a body is worth a warning
)

// Limits on what is published of a skill: those of the skills extension of MCP,
// which are within what other clients accept.
const (
	MaxPublishedFiles = 512
	MaxPublishedBytes = 16 << 20 // of all files
)

// ErrNotFound says that there is no such skill, or none in the scope of the
// agent.
var ErrNotFound = errors.New("no such skill")

// A Skill is one SKILL.md as read, with what its source knows about it.
// All text has had its hidden characters removed.
type Skill struct {
	Meta

	WhenToUse     string // the when_to_use extension, if any
	License       string
	Compatibility string
	Author        string
	Version       string
	AllowedTools  []string // one entry per tool, "Bash(git:*, jq:*)" kept whole

	// Frontmatter is the whole block resolved by the YAML 1.2 core schema:
	// string, bool, int64, float64, nil, []any and map[string]any.
	Frontmatter map[string]any

	Body     string // the Markdown after the frontmatter
	BodyLine int    // line of the file on which Body starts, from 1

	Files    []File // every regular file of the folder, SKILL.md included, by path
	Problems []Problem

	raw string // the file as read, not cleaned: what Check judges; empty unless Parse made the skill
}

// A File is one file of a skill.
type File struct {
	Path   string // slash-separated, relative to the skill's folder
	Size   int64  // bytes
	SHA256 string // hexadecimal; "" when nobody read the file
}

// A Kind says what a file of a skill is for, by the folder that it is in.
type Kind string

// The kinds, with the folders that the specification has for them.
const (
	Script    Kind = "script"    // below scripts/: to be run
	Reference Kind = "reference" // below references/: to be read when needed
	Asset     Kind = "asset"     // below assets/: to be used in what is made
	Other     Kind = "other"     // anywhere else, as SKILL.md is
)

// Kinds are all kinds, in the order in which lists have them.
var Kinds = [...]Kind{Script, Reference, Asset, Other}

// Kind returns what the file is for.
func (f File) Kind() Kind {
	for _, k := range Kinds {
		if strings.HasPrefix(f.Path, string(k)+"s/") {
			return k
		}
	}
	return Other
}

// A Ref is a skill that a walk found but did not read: enough to tell whether
// it changed since it was last indexed.
type Ref struct {
	Path string // slash-separated path of its SKILL.md in the source

	// Stamp changes when any file of the skill does. It is cheap (names, sizes
	// and modification times), so an equal stamp means there is nothing to
	// read. A Stamp is empty when the file system cannot give one that can be
	// trusted; then the skill is read and its digest compared.
	Stamp string

	// Load reads and parses the skill. It fails with a *ParseError when the
	// file holds no usable skill, and with another error when it could not be
	// read, which says nothing about the skill itself.
	Load func() (*Skill, error)
}

// Severity says how much a Problem matters.
type Severity string

// The severities, from worst to mildest.
const (
	Error   Severity = "error"   // the skill is refused, or breaks the specification
	Warning Severity = "warning" // it works, but not as its author meant or not everywhere
	Note    Severity = "note"    // worth knowing
)

// A Problem is one finding about one skill.
type Problem struct {
	Rule     string   `json:"rule"` // stable kebab-case identifier, such as "yaml-repaired"
	Severity Severity `json:"severity"`
	Path     string   `json:"path"`
	Line     int      `json:"line,omitempty"` // from 1; 0 when the finding has no line
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"` // what to do about it
}

// String formats p as "path:line: severity: message [rule]".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	fmt.Fprintf(&b, ": %s: %s [%s]", p.Severity, p.Message, p.Rule)
	return b.String()
}

// A ParseError says why a file holds no usable skill.
type ParseError struct {
	Problem Problem // Severity is Error
}

func (e *ParseError) Error() string {
	p := e.Problem
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Message)
	}
	return p.Path + ": " + p.Message
}

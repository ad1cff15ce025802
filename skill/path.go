package skill

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// Bounds of the path of a skill's file, in bytes.
const (
	MaxPath = 1024
	MaxPart = 255 // of the name of one file or folder; most systems take no longer one
)

// A PathError says why a path cannot be the path of a skill's file.
type PathError struct {
	Reason string // "the path is absolute"
}

func (e *PathError) Error() string {
	return e.Reason + "; write paths relative to the skill's folder, such as scripts/run.sh"
}

// CleanPath returns the path of a skill's file in the form in which File has it. It
// takes paths as a SKILL.md writes them, such as ./scripts/run.sh and a//b. It refuses
// any path that leads out of the skill's folder, is a folder, is no part of a skill (see
// IsExcluded), or means something else on another system: the rules of all systems hold on
// each of them. Errors are *PathError.
func CleanPath(name string) (string, error) {
	if reason := badPath(name); reason != "" {
		return "", &PathError{reason}
	}
	var parts []string
	last := ""
	for part := range strings.SplitSeq(name, "/") {
		if last = part; part == "" || part == "." {
			continue
		}
		if reason := badPart(part); reason != "" {
			return "", &PathError{reason}
		}
		if isExcluded(part) {
			return "", &PathError{part + " is not part of a skill"}
		}
		parts = append(parts, part)
	}
	if last == "" || last == "." {
		return "", &PathError{"the path is a folder, not a file"}
	}
	return strings.Join(parts, "/"), nil
}

// CheckPart says why a file or folder cannot have a name on every system; nil if it can. Errors
// are *PathError.
func CheckPart(name string) error {
	if reason := cmp.Or(badPath(name), badPart(name)); reason != "" {
		return &PathError{reason}
	}
	return nil
}

func badPath(name string) string {
	switch {
	case name == "":
		return "the path is empty"
	case len(name) > MaxPath:
		return fmt.Sprintf("the path is longer than %d bytes", MaxPath)
	case !utf8.ValidString(name):
		return "the path is not UTF-8"
	case strings.ContainsRune(name, 0):
		return "the path holds a NUL byte"
	case strings.Contains(name, `\`):
		return "the path holds a backslash; folders are separated by /"
	case name[0] == '/':
		return "the path is absolute"
	}
	return ""
}

// reserved matches the names that open a device on Windows, with any extension.
var reserved = lazyregexp.New(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)`)

func badPart(part string) string {
	switch {
	case len(part) > MaxPart:
		return fmt.Sprintf("a part of the path is longer than %d bytes", MaxPart)
	case part == "..":
		return `the path holds "..", which could lead out of the skill's folder`
	case strings.Contains(part, ":"):
		return "the path holds a colon, which Windows takes for a drive or a stream"
	case strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "the path holds a control character"
	case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
		return "a part of the path ends in a dot or a space, which Windows ignores"
	case reserved().MatchString(part):
		return fmt.Sprintf("%q is the name of a device on Windows", part)
	}
	return ""
}

package unpack

import (
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/skill"
)

// checkPath returns a path without "./", "//" and a final "/"; "" is the top. bad is what is
// wrong with the path on any system, and escapes says that it could lead out of the folder.
func checkPath(name string) (clean string, bad *Error, escapes bool) {
	if bad := escape(name); bad != nil {
		return "", bad, true
	}
	switch {
	case name == "":
		return "", refuse(name, "name", "an entry has no name"), true
	case len(name) > skill.MaxPath:
		bad = refuse(name, "name", "the path is longer than %d bytes", skill.MaxPath)
	case !utf8.ValidString(name):
		bad = refuse(name, "name", "the name is not UTF-8")
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." {
			continue
		}
		if bad == nil {
			bad = checkPart(name, part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "/"), bad, false
}

// escape finds the paths that lead out of the folder on some system.
func escape(name string) *Error {
	switch {
	case strings.HasPrefix(name, `\\`) || strings.HasPrefix(name, "//"):
		return refuse(name, "unc", "the path names another machine on Windows")
	case strings.HasPrefix(name, "/"):
		return refuse(name, "absolute", "the path is absolute")
	case len(name) > 1 && name[1] == ':' && isLetter(name[0]):
		return refuse(name, "drive", "the path begins with a drive letter")
	case strings.Contains(name, "\x00"):
		return refuse(name, "nul", "the path has a NUL byte")
	case strings.Contains(name, `\`):
		return refuse(name, "backslash", "the path has a backslash; folders are separated by /")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return refuse(name, "parent", `the path has "..", which could lead out of the folder`)
		}
	}
	return nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func checkPart(name, part string) *Error {
	switch {
	case len(part) > skill.MaxPart:
		return refuse(name, "name", "a part of the path is longer than %d bytes", skill.MaxPart)
	case strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }):
		return refuse(name, "control", "the name has a control character")
	case tidy.Clean(part) != part:
		return refuse(name, "hidden", "the name has hidden characters")
	case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
		return refuse(name, "trailing", "a name ends in a dot or a space, which Windows ignores")
	case strings.Contains(part, ":"):
		return refuse(name, "stream", "the name has a colon, which Windows takes for a stream or a drive")
	}
	if skill.CheckPart(part) != nil {
		return refuse(name, "reserved", "%q is the name of a device on Windows", part)
	}
	return nil
}

// names finds two paths that are one file on some system. A key is a folded path; a value is
// how the tree spells it.
type names map[string]spelling

type spelling struct {
	clean string
	file  bool
}

func (n names) add(e checked) *Error {
	file := !e.mode.IsDir()
	for p := e.clean; p != "."; p = path.Dir(p) {
		key := fold(p)
		old, ok := n[key]
		switch {
		case !ok:
			n[key] = spelling{p, file}
		case old.clean != p:
			return refuse(e.path, "collision", "%s and %s are one name on systems that ignore case or the form of characters; rename one", old.clean, p)
		case old.file || file:
			return refuse(e.path, "duplicate", "the path occurs twice")
		}
		file = false // the folders above
	}
	return nil
}

// fold returns what all spellings of a name have in common on systems that ignore case,
// or the Unicode form of characters. Two steps bring all cases of a letter together.
func fold(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.ToUpper(norm.NFC.String(s))), "ß", "ss")
}

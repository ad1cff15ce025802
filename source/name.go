package source

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
)

// maxName bounds the name of a file in a request, in bytes.
const maxName = 1024

// skipped are the folders that are neither searched for skills nor part of a
// skill. They belong to tools, are large, and may hold credentials (the URL in
// .git/config).
var skipped = []string{".git", "node_modules"}

func isSkipped(base string) bool {
	return slices.ContainsFunc(skipped, func(s string) bool { return strings.EqualFold(s, base) })
}

// reserved matches the names that open a device on Windows, with any extension.
var reserved = lazyregexp.New(`(?i)^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *(\.|$)`)

// checkName refuses names that are not a plain relative path on every system, so
// that a skill's files are served alike everywhere.
func checkName(name string) error {
	if reason := badName(name); reason != "" {
		return fmt.Errorf("%w: %s", ErrRefused, reason)
	}
	return nil
}

func badName(name string) string {
	switch {
	case name == "":
		return "the name is empty"
	case len(name) > maxName:
		return fmt.Sprintf("the name is longer than %d bytes", maxName)
	case strings.ContainsRune(name, 0):
		return "the name holds a NUL byte"
	case strings.Contains(name, `\`):
		return "the name holds a backslash; folders are separated by /"
	case strings.HasPrefix(name, "/"):
		return "the name is an absolute path"
	case strings.HasSuffix(name, "/"), name == ".":
		return "the name is a folder, not a file"
	case !fs.ValidPath(name):
		return "the name is not a plain path below the skill's folder"
	}
	for part := range strings.SplitSeq(name, "/") {
		if reason := badPart(part); reason != "" {
			return reason
		}
	}
	return ""
}

func badPart(part string) string {
	switch {
	case strings.Contains(part, ":"):
		return "the name holds a colon, which Windows takes for a drive or a stream"
	case strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "the name holds a control character"
	case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
		return "a part of the name ends in a dot or a space, which Windows ignores"
	case reserved().MatchString(part):
		return fmt.Sprintf("%s is the name of a device on Windows", part)
	case isSkipped(part):
		return part + " is not part of a skill"
	}
	return ""
}

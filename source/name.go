package source

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/skill"
)

// skipped are the folders that are neither searched for skills nor part of a
// skill. They belong to tools, are large, and may hold credentials (the URL in
// .git/config). Windows knows each by a short name too.
var skipped = []string{".git", "node_modules", "git~1", "node_m~1"}

// stagePrefix begins the names of the folders in which package install puts skills together
// that are not installed yet.
const stagePrefix = ".staging-"

// isSkipped reports whether a folder is skipped. Some systems ignore case in names,
// characters without a shape, or dots, spaces and a stream (.git::$INDEX_ALLOCATION) at
// the end.
func isSkipped(base string) bool {
	if base == "" || base[0] < utf8.RuneSelf && !strings.Contains(".gGnN", base[:1]) {
		return false // as nearly all: a walk asks about each name
	}
	base, _, _ = strings.Cut(base, ":")
	base = strings.TrimRight(base, ". ")
	base = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, base)
	if strings.HasPrefix(base, stagePrefix) {
		return true
	}
	return slices.ContainsFunc(skipped, func(s string) bool { return strings.EqualFold(s, base) })
}

// cleanName returns the clean path of a skill's file, see skill.CleanPath. It refuses
// what is not part of a skill.
func cleanName(name string) (string, error) {
	clean, err := skill.CleanPath(name)
	for part := range strings.SplitSeq(clean, "/") {
		if isSkipped(part) {
			err = &skill.PathError{Reason: part + " is not part of a skill"}
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return clean, nil
}

// badName says why a file that a folder has is not served by its name; "" if it is.
func badName(name string) string {
	var bad *skill.PathError
	if _, err := cleanName(name); errors.As(err, &bad) {
		return bad.Reason
	}
	return ""
}

package skill

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// excluded are the names of what is never part of a skill: version control and package
// managers keep it in the folder. It is large, may hold credentials (the URL in .git/config),
// and says which programs run when a person uses the tool (hooks).
var excluded = []string{".git", ".hg", ".svn", ".bzr", ".jj", "node_modules"}

// histories are the names of folders in which version control keeps its own files.
var histories = []string{".git", ".hg", ".svn", ".bzr", ".jj"}

// IsHistory reports whether a file lies where version control keeps its own files.
func IsHistory(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if slices.Contains(histories, asSystemsSee(part)) {
			return true
		}
	}
	return false
}

// The names of the folders in which this program puts skills together, and of its temporary
// files.
const (
	StagingPrefix = ".staging-"
	StagingSuffix = ".repertoire.tmp"
)

// IsExcluded reports whether a file or folder is never part of a skill, or lies in a folder
// that is not. The path is slash-separated; the name of one entry is one, too.
func IsExcluded(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if isExcluded(part) {
			return true
		}
	}
	return false
}

func isExcluded(name string) bool {
	if !mayBeExcluded(name) {
		return false
	}
	name = asSystemsSee(name)
	if strings.HasPrefix(name, StagingPrefix) || strings.HasSuffix(name, StagingSuffix) {
		return true
	}
	base, number, ok := strings.Cut(name, "~")
	isShort := ok && number != "" && strings.Trim(number, "0123456789") == ""
	return slices.ContainsFunc(excluded, func(s string) bool { return name == s || isShort && base == shortName(s) })
}

// mayBeExcluded is false for nearly all names: a walk asks about each one.
func mayBeExcluded(name string) bool {
	return name != "" && (name[0] >= utf8.RuneSelf || strings.IndexByte(".nN", name[0]) >= 0 ||
		strings.IndexByte(name, '~') >= 0 || strings.HasSuffix(name, StagingSuffix))
}

// shortName returns what stands before the ~1 of the second name that Windows gives to a
// folder: git~1 is .git, and node_m~1 is node_modules.
func shortName(name string) string {
	name = strings.TrimLeft(name, ".")
	return name[:min(6, len(name))]
}

// asSystemsSee returns the one form of all names that some system takes for the same: systems
// ignore case, characters without a shape, or dots, spaces and a stream
// (.git::$INDEX_ALLOCATION) at the end.
func asSystemsSee(name string) string {
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, name)
	return words.NameKey(strings.TrimRight(name, ". "))
}

// secrets are the names of files and folders in which programs keep passwords and keys.
var secrets = []string{
	".env", ".netrc", ".pgpass", ".git-credentials", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519",
	".ssh", ".aws", ".gnupg",
}

// IsSecret reports whether programs keep passwords and keys in files of this name, or in a folder
// that the file lies in. Such a file is part of a skill, so digests and trust cover it, but it
// lies there by mistake: nobody may propose to write it, and it goes to no other machine.
func IsSecret(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if slices.Contains(secrets, asSystemsSee(part)) {
			return true
		}
	}
	return false
}

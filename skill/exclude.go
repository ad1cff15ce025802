package skill

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/repertoire-skills/repertoire/internal/words"
)

// excluded are the names of what is never part of a skill, as asSystemsSee returns them. Nobody
// wrote these files as a part of the skill: they come and go while it is used, and a repository
// could change what is in them after somebody has trusted the skill.
var excluded = []string{
	// What package managers, interpreters and other tools make anew.
	".worktrees", "node_modules", "__pycache__", ".venv", ".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".ipynb_checkpoints",
	// What systems leave in folders that somebody has looked at, and in archives.
	".ds_store", ".appledouble", "__macosx", "thumbs.db", "desktop.ini",
}

// histories are the names of folders in which version control keeps its own files, which are never
// part of a skill either. They are large, may hold credentials (the URL in .git/config), and say
// which programs run when a person uses the tool (hooks).
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

// excludedStarts and excludedEnds are how such names start and end: also compiled Python, which
// Python takes for the source that is missing, and the swap, lock and backup files of editors
// and of network file systems.
var (
	excludedStarts = []string{StagingPrefix, "._", ".#", "~$", ".~lock.", ".nfs0"}
	excludedEnds   = []string{StagingSuffix, ".pyc", ".pyo", "~", ".swp", ".swo", ".swn", ".swx", ".kate-swp"}
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
	if slices.ContainsFunc(excludedStarts, func(s string) bool { return strings.HasPrefix(name, s) }) ||
		slices.ContainsFunc(excludedEnds, func(s string) bool { return strings.HasSuffix(name, s) && name != "~" }) ||
		len(name) > 2 && name[0] == '#' && name[len(name)-1] == '#' {
		return true
	}
	base, number, ok := strings.Cut(name, "~")
	isShort := ok && number != "" && strings.Trim(number, "0123456789") == ""
	is := func(s string) bool { return name == s || isShort && base == shortName(s) }
	return slices.ContainsFunc(histories, is) || slices.ContainsFunc(excluded, is)
}

// mayBeExcluded is false for most names: a walk asks about each one.
func mayBeExcluded(name string) bool {
	if name == "" {
		return false
	}
	first, last := name[0], name[len(name)-1]
	return first >= utf8.RuneSelf || last >= utf8.RuneSelf || strings.IndexByte(".nN_tTdD~#", first) >= 0 ||
		strings.IndexByte("cCoOpPnNxX~. ", last) >= 0 || strings.ContainsAny(name, "~:")
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
		if r >= utf8.RuneSelf && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
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

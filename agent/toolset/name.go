package toolset

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
)

// maxName is how many characters all providers allow in the name of a tool: letters, digits,
// "_" and "-", of which the first is a letter or "_".
const maxName = 64

// Name returns the name of the tool of a script: the skill and the script without folder
// and extension, with two underscores between. Where characters had to be replaced, or the
// name is too long, or several of the skill's scripts would have it, a hash of the skill's
// ID and the path follows. So the name depends on nothing but the skill.
func Name(id, file string, scripts []string) string {
	name, exact := plain(id, file)
	for _, other := range scripts {
		if n, _ := plain(id, other); n == name && other != file {
			exact = false
		}
	}
	if exact && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(id + "\x00" + file))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}

// Prefix returns the start that the names of all tools of a skill have.
func Prefix(id string) string {
	name, _ := letters(id)
	return name[:min(len(name), maxPrefix)] + separator
}

const (
	separator = "__"
	maxPrefix = 40 // so that the script's own name shows
)

func plain(id, file string) (name string, exact bool) {
	base := path.Base(file)
	script, same := letters(strings.TrimSuffix(base, path.Ext(base)))
	own, exact := letters(id)
	exact = exact && same && !strings.Contains(own+"_", separator) && len(own) <= maxPrefix
	return Prefix(id) + script, exact
}

// letters replaces what no name may have.
func letters(s string) (name string, same bool) {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	if name == "" || name[0] == '-' || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name, name == s
}

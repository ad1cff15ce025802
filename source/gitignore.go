package source

import (
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// ignoreFiles are the names of the files in a skill's folder that say what there is not part of the
// skill, in the form of .gitignore. Of two patterns that match, the later one holds.
var ignoreFiles = []string{".gitignore", ".skillignore"}

// Bounds of what the ignore files of a skill may hold.
const (
	maxIgnore      = 64 << 10 // bytes of one file; a longer one is not read
	maxIgnoreLines = 1000     // further ones do not hold
)

// An ignore holds the patterns of the ignore files of one skill; nil has none.
type ignore []pattern

// A pattern is one line of an ignore file.
type pattern struct {
	parts  []string // of the path; "**" means any number of folders
	keep   bool     // with "!": what matches is part of the skill after all
	folder bool     // with a final "/": only folders match
}

// parseIgnore reads the text of an ignore file as git does. A malformed pattern matches nothing.
func parseIgnore(text string) ignore {
	var list ignore
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimRight(line, "\r\n")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		if line == "" || line[0] == '#' || len(list) == maxIgnoreLines {
			continue
		}
		var p pattern
		line, p.keep = strings.CutPrefix(line, "!")
		line, p.folder = strings.CutSuffix(line, "/")
		if !strings.Contains(line, "/") {
			for strings.Contains(line, "**") {
				line = strings.ReplaceAll(line, "**", "*")
			}
			line = "**/" + line
		}
		p.parts = strings.Split(strings.ReplaceAll(strings.TrimPrefix(line, "/"), "[!", "[^"), "/")
		list = append(list, p)
	}
	return list
}

// has reports whether a file or folder of a skill's folder is not part of the skill, or lies
// in a folder that is not. The path is slash-separated. The instructions and the ignore files are
// always part of it.
func (list ignore) has(name string, folder bool) bool {
	if len(list) == 0 || slices.Contains(skill.FileNames, name) || slices.Contains(ignoreFiles, name) {
		return false
	}
	parts := strings.Split(name, "/")
	for n := range parts {
		if list.hasExactly(parts[:n+1], folder || n+1 < len(parts)) {
			return true // git does not look into a folder that is ignored either
		}
	}
	return false
}

func (list ignore) hasExactly(parts []string, folder bool) bool {
	for _, p := range slices.Backward(list) {
		if (folder || !p.folder) && matchParts(p.parts, parts) {
			return !p.keep
		}
	}
	return false
}

// matchParts matches a path with a pattern. It goes back to the last "**" only, so that its time
// is bounded by the product of the lengths. A final "**" matches what is inside of a folder only.
func matchParts(pattern, parts []string) bool {
	p, back, from := 0, -1, 0
	for i := 0; i < len(parts); {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			back, from = p, i
			if p++; p == len(pattern) {
				return i > 0 || len(pattern) == 1
			}
		case p < len(pattern) && matchPart(pattern[p], parts[i]):
			p, i = p+1, i+1
		case back >= 0:
			from++
			p, i = back+1, from
		default:
			return false
		}
	}
	return p == len(pattern)
}

func matchPart(pattern, part string) bool {
	ok, err := path.Match(pattern, part)
	return err == nil && ok
}

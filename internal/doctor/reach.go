package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A namesake finds files by what a text calls them. All keys are lower-case.
type namesakes struct {
	base, stem, folder map[string][]string
	odd                []string // names with characters that end a word in a text
}

func newNamesakes(names []string) *namesakes {
	n := &namesakes{make(map[string][]string), make(map[string][]string), make(map[string][]string), nil}
	for _, name := range names {
		lower := strings.ToLower(name)
		base := strings.Trim(path.Base(lower), ".-")
		n.base[base] = append(n.base[base], name)
		stem := strings.TrimSuffix(base, path.Ext(base))
		if isCode(name) || strings.ContainsAny(stem, "-_") {
			n.stem[stem] = append(n.stem[stem], name)
		}
		if strings.ContainsFunc(base, func(r rune) bool { return !inPath(r) }) {
			n.odd = append(n.odd, name)
		}
		for dir := path.Dir(lower); dir != "."; dir = path.Dir(dir) {
			for tail := dir; ; { // "assets/icons" is also called "icons/"
				n.folder[tail] = append(n.folder[tail], name)
				_, rest, more := strings.Cut(tail, "/")
				if !more {
					break
				}
				tail = rest
			}
		}
	}
	return n
}

// inPath reports whether a character may be a part of a path in a text.
func inPath(r rune) bool { return words.IsLetter(r) || strings.ContainsRune("._-/", r) }

// mentioned calls use with each file that a text mentions: by its name, by a folder
// that it is in, or, where that is how code names a module, without its extension. It
// rather finds too much: what nothing mentions is reported.
func (n *namesakes) mentioned(text string, use func(name string)) {
	lower := strings.ReplaceAll(strings.ToLower(text), `\`, "/")
	for start := 0; start < len(lower); {
		word := lower[start:]
		if skip := strings.IndexFunc(word, inPath); skip > 0 {
			start += skip
			continue
		} else if skip < 0 {
			break
		}
		if end := strings.IndexFunc(word, func(r rune) bool { return !inPath(r) }); end >= 0 {
			word = word[:end]
		}
		start += len(word)
		n.find(word, use)
	}
	for _, name := range n.odd {
		if strings.Contains(lower, strings.ToLower(path.Base(name))) {
			use(name)
		}
	}
}

// find calls use with each file that a word of a text means.
func (n *namesakes) find(word string, use func(name string)) {
	isFolder := strings.HasSuffix(word, "/")
	word = strings.TrimLeft(strings.TrimRight(word, "./-"), "./-")
	if word == "" {
		return
	}
	if isFolder || strings.Contains(word, "/") {
		for tail := word; tail != ""; _, tail, _ = strings.Cut(tail, "/") {
			if found := n.folder[tail]; found != nil {
				each(found, use)
				break
			}
		}
	}
	base := path.Base(word)
	each(n.base[base], use)
	each(n.stem[base], use)
	if parts := strings.Split(base, "."); len(parts) > 1 { // a module: scripts.lib.tables
		for _, part := range parts {
			each(n.stem[part], use)
		}
	}
}

func each(names []string, use func(string)) {
	for _, name := range names {
		use(name)
	}
}

// reached returns the files that the instructions mention, and those that these mention,
// and so on. It holds the instructions too.
func (c *contents) reached() map[string]bool {
	reached := map[string]bool{c.file: true}
	if len(c.names) == 1 {
		return reached
	}
	n := newNamesakes(c.names)
	queue := []string{c.file}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		n.mentioned(c.text[next], func(name string) {
			if !reached[name] {
				reached[name] = true
				queue = append(queue, name)
			}
		})
	}
	return reached
}

// isCode reports whether a file is a program or a part of one.
func isCode(name string) bool {
	const code = " .py .sh .bash .zsh .js .mjs .cjs .ts .tsx .jsx .rb .pl .php .go .rs .java .kt .swift .lua .r .jl .ps1 .scss .css .html .jinja .j2 .tmpl "
	ext := path.Ext(name)
	return ext != "" && strings.Contains(code, " "+strings.ToLower(ext)+" ")
}

// unused returns a note about the files that nothing mentions.
func (c *contents) unused(reached map[string]bool) []skill.Problem {
	nested := c.nested()
	var names []string
	for _, name := range c.names {
		if !reached[name] && !isHousekeeping(name) && !slices.ContainsFunc(nested, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 || len(c.unread) > 0 { // what was not read may mention it
		return nil
	}
	message := fmt.Sprintf("neither the instructions nor any file that they lead to mentions %s", listed(names))
	return []skill.Problem{{Rule: "unused-file", Severity: skill.Note, Path: c.path(c.file), Message: message,
		Hint: "say in the instructions what the files are for, or remove them"}}
}

// nested returns the folders with skills of their own, which end in a slash.
func (c *contents) nested() []string {
	var dirs []string
	for _, name := range c.names {
		if dir := path.Dir(name); dir != "." && slices.ContainsFunc(skill.FileNames, func(s string) bool { return strings.EqualFold(s, path.Base(name)) }) {
			dirs = append(dirs, dir+"/")
		}
	}
	return dirs
}

// isHousekeeping reports whether a file is there for people, tools or tests, so that no
// instructions need mention it.
func isHousekeeping(name string) bool {
	const (
		folders = " test tests __tests__ testing fixtures evals eval evaluations agents __pycache__ spec "
		names   = " license licence copying notice readme changelog changes history contributing authors codeowners security version todo makefile dockerfile package package-lock pnpm-lock yarn go requirements requirements-dev pyproject setup cargo gemfile composer tsconfig conftest __init__ metadata _meta meta skill plugin marketplace manifest index "
	)
	lower := strings.ToLower(name)
	parts := strings.Split(lower, "/")
	for _, dir := range parts[:len(parts)-1] {
		if strings.HasPrefix(dir, ".") || strings.Contains(folders, " "+dir+" ") {
			return true
		}
	}
	base := parts[len(parts)-1]
	stem, _, _ := strings.Cut(base, ".")
	return stem == "" || strings.Contains(names, " "+stem+" ") || strings.HasPrefix(stem, "license") || strings.HasPrefix(stem, "readme") ||
		strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || strings.Contains(base, ".test.") || strings.HasSuffix(base, ".lock")
}

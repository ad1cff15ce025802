package proposal

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/skill"
)

// A change is what a diff does to one file.
type change struct {
	path    string
	created bool // the file is new
	removed bool // the file goes away
	script  bool // a new file may be executed
	hunks   []hunk
}

// A hunk is one piece of a change: the lines that it expects, and what it makes of them.
type hunk struct {
	line  int // of the diff, for messages
	start int // line of the file at which the header puts it; 0 means unknown
	lines []hunkLine

	// The file has no line feed after the last line, before and after the change.
	oldBare, newBare bool
}

// A hunkLine is one line of a hunk.
type hunkLine struct {
	op   byte // ' ', '-' or '+'
	text string
}

// side returns the lines of a hunk without those of the operation that is left out: the
// lines before the change without '+', the lines after the change without '-'.
func (h *hunk) side(without byte) []string {
	var list []string
	for _, l := range h.lines {
		if l.op != without {
			list = append(list, l.text)
		}
	}
	return list
}

// A DiffError says what is wrong with a diff.
type DiffError struct {
	Line   int // of the diff, from 1; 0 means the whole diff
	Reason string
}

func (e *DiffError) Error() string {
	if e.Line == 0 {
		return "the diff " + e.Reason
	}
	return fmt.Sprintf("line %d of the diff %s", e.Line, e.Reason)
}

// parseDiff reads a unified diff as models write them: between fences and prose, with wrong
// line numbers and counts, with and without prefixes such as a/, or as bare hunks, which
// change SKILL.md. It refuses renames, copies and binary patches. exact means that this
// package wrote the diff: all numbers in it are right.
func parseDiff(text string, exact bool) ([]change, error) {
	if !exact {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	p := &parser{lines: strings.Split(text, "\n"), exact: exact}
	for p.at = 0; p.at < len(p.lines); p.at++ {
		if err := p.step(p.lines[p.at]); err != nil {
			return nil, err
		}
	}
	p.endHunk()
	if err := p.check(); err != nil {
		return nil, err
	}
	return p.changes, nil
}

// A parser reads a diff line by line.
type parser struct {
	lines   []string
	exact   bool
	at      int // index of the current line
	changes []change
	open    bool   // the last change has a header: hunks belong to it
	inHunk  bool   // the last hunk goes on
	left    [2]int // lines before and after the change that the last hunk still has, if exact

	// What git writes above the header of a file.
	created, removed, script bool
}

func (p *parser) fail(format string, args ...any) error {
	return &DiffError{p.at + 1, fmt.Sprintf(format, args...)}
}

// refused are the starts of lines with which git announces what is not taken.
var refused = [...][2]string{
	{"rename from ", "renames a file; remove the old file and add the new one"},
	{"rename to ", "renames a file; remove the old file and add the new one"},
	{"copy from ", "copies a file; add a new one"},
	{"GIT binary patch", "changes a binary file; only text can be proposed"},
	{"Binary files ", "changes a binary file; only text can be proposed"},
}

func (p *parser) step(line string) error {
	switch {
	case p.exact && p.inHunk && max(p.left[0], p.left[1]) > 0 && p.hunkLine(line):
		return nil
	case p.isHeader(line):
		return p.header(line)
	case strings.HasPrefix(line, "diff --git "):
		p.endHunk()
		p.open, p.created, p.removed, p.script = false, false, false, false
		return nil
	case strings.HasPrefix(line, "@@"):
		p.beginHunk(line)
		return nil
	case p.inHunk && p.hunkLine(line):
		return nil
	}
	p.endHunk()
	return p.between(line)
}

// between reads a line that is in no hunk: what git tells of a file, the first line of a
// hunk without a header, or prose.
func (p *parser) between(line string) error {
	for _, r := range refused {
		if strings.HasPrefix(line, r[0]) {
			return p.fail("%s", r[1])
		}
	}
	switch mode, _ := strings.CutPrefix(line, "new file mode "); {
	case mode == "120000":
		return p.fail("makes a link; only regular files can be proposed")
	case mode != line:
		p.created, p.script = true, mode == "100755"
	case strings.HasPrefix(line, "deleted file mode "):
		p.removed = true
	case p.open && len(line) > 0 && strings.ContainsRune(" +-", rune(line[0])) && len(p.last().hunks) == 0:
		p.beginHunk("")
		p.hunkLine(line)
	}
	return nil
}

func (p *parser) last() *change { return &p.changes[len(p.changes)-1] }

// isHeader reports whether a line is the first of the two that name a file. A removed line
// may look like it, so the second one must follow, and then a hunk or nothing.
func (p *parser) isHeader(line string) bool {
	if !strings.HasPrefix(line, "--- ") || p.at+1 >= len(p.lines) || !strings.HasPrefix(p.lines[p.at+1], "+++ ") {
		return false
	}
	return !p.inHunk || p.at+2 < len(p.lines) && strings.HasPrefix(p.lines[p.at+2], "@@")
}

// header reads the two lines that name a file.
func (p *parser) header(line string) error {
	p.endHunk()
	from, to := headerPath(line), headerPath(p.lines[p.at+1])
	if strings.HasPrefix(from, "a/") && strings.HasPrefix(to, "b/") || from == devNull && strings.HasPrefix(to, "b/") || to == devNull && strings.HasPrefix(from, "a/") {
		from, to = strings.TrimPrefix(from, "a/"), strings.TrimPrefix(to, "b/")
	}
	c := change{created: from == devNull || p.created, removed: to == devNull || p.removed, script: p.script}
	name := to
	switch {
	case from == devNull && to == devNull:
		return p.fail("names no file")
	case to == devNull:
		name = from
	case from != devNull && from != to:
		return p.fail("renames %q to %q; remove the old file and add the new one", from, to)
	}
	clean, err := skill.CleanPath(name)
	if err != nil {
		return p.fail("names the file %q: %v", name, err)
	}
	c.path = clean
	if c.created && c.removed {
		return p.fail("both adds and removes %s", c.path)
	}
	p.changes = append(p.changes, c)
	p.at++ // the second line
	p.open, p.created, p.removed, p.script = true, false, false, false
	return nil
}

const devNull = "/dev/null"

// headerPath returns the path of a line such as "--- a/SKILL.md	2026-01-02".
func headerPath(line string) string {
	name, _, _ := strings.Cut(line[len("--- "):], "\t")
	name = strings.TrimSpace(name)
	if unquoted, err := strconv.Unquote(name); err == nil {
		return unquoted
	}
	return name
}

// beginHunk begins a hunk. Without a header above, it changes SKILL.md.
func (p *parser) beginHunk(line string) {
	p.endHunk()
	if !p.open {
		p.changes = append(p.changes, change{path: skill.FileNames[0]})
		p.open = true
	}
	h := hunk{line: p.at + 1}
	p.left = [2]int{}
	if f := strings.Fields(line); len(f) > 2 { // a malformed header is as good as none
		h.start, p.left[0] = rangeOf(f[1])
		_, p.left[1] = rangeOf(f[2])
	}
	p.last().hunks = append(p.last().hunks, h)
	p.inHunk = true
}

// rangeOf reads a range of a header, such as "-12,7".
func rangeOf(s string) (start, count int) {
	first, second, ok := strings.Cut(strings.TrimLeft(s, "-+"), ",")
	start, _ = strconv.Atoi(first)
	if !ok {
		return start, 1
	}
	count, _ = strconv.Atoi(second)
	return start, count
}

// hunkLine adds a line to the last hunk; false means that the line does not belong to it.
func (p *parser) hunkLine(line string) bool {
	hunks := p.last().hunks
	h := &hunks[len(hunks)-1]
	switch {
	case line == "": // editors and models remove the space of an empty line
		h.lines = append(h.lines, hunkLine{0, ""})
	case line[0] == ' ' || line[0] == '+' || line[0] == '-':
		h.lines = append(h.lines, hunkLine{line[0], line[1:]})
	case line[0] == '\\' && len(h.lines) > 0:
		op := h.lines[len(h.lines)-1].op
		h.oldBare = h.oldBare || op != '+'
		h.newBare = h.newBare || op != '-'
	default:
		return false
	}
	if line == "" || line[0] != '+' && line[0] != '\\' {
		p.left[0]--
	}
	if line == "" || line[0] != '-' && line[0] != '\\' {
		p.left[1]--
	}
	return true
}

// endHunk ends the last hunk. Empty lines at its end are not of it.
func (p *parser) endHunk() {
	if !p.inHunk {
		return
	}
	p.inHunk = false
	hunks := p.last().hunks
	h := &hunks[len(hunks)-1]
	for len(h.lines) > 0 && h.lines[len(h.lines)-1].op == 0 {
		h.lines = h.lines[:len(h.lines)-1]
	}
	for i := range h.lines {
		if h.lines[i].op == 0 {
			h.lines[i].op = ' '
		}
	}
}

// maxHunks bounds the hunks of a diff, each of which is looked for in a whole file.
const maxHunks = 500

// check checks what only the whole diff shows.
func (p *parser) check() error {
	if len(p.changes) == 0 {
		return &DiffError{0, `has no hunk; write a unified diff with lines "--- SKILL.md", "+++ SKILL.md" and "@@"`}
	}
	seen, hunks := make(map[string]bool), 0
	for i := range p.changes {
		c := &p.changes[i]
		if hunks += len(c.hunks); hunks > maxHunks && !p.exact {
			return &DiffError{0, fmt.Sprintf("has more than %d hunks; propose a smaller change", maxHunks)}
		}
		if seen[c.path] {
			return &DiffError{0, "changes " + c.path + " twice; put all hunks of a file below one header"}
		}
		seen[c.path] = true
		if !c.removed && !c.created && len(c.hunks) == 0 {
			return &DiffError{0, "has no hunk for " + c.path}
		}
		for _, h := range c.hunks {
			if len(h.lines) == 0 {
				return &DiffError{h.line, "begins a hunk without lines"}
			}
		}
	}
	return nil
}

// within returns the path of a change in a skill. Models begin paths with the name of the
// skill's folder, or with the folders above it.
func within(files Files, name, folder string) string {
	if _, ok := files[name]; ok || folder == "" {
		return name
	}
	if _, ok := files[path.Join(folder, "SKILL.md")]; ok {
		return name
	}
	if i := strings.LastIndex("/"+name, "/"+folder+"/"); i >= 0 {
		return name[i+len(folder)+1:]
	}
	return name
}

package proposal

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/source"
)

// Files are the files of a skill in memory, by path.
type Files map[string]File

// A File is one file of a skill in memory.
type File struct {
	Data []byte
	Mode fs.FileMode // its permissions
}

// The permissions of new files.
const (
	plainMode  fs.FileMode = 0o644
	scriptMode fs.FileMode = 0o755
)

// apply returns the files of a skill after the changes of a diff. folder is the name of the
// skill's folder. numbered means that the line numbers of the diff are right, because this
// package wrote it; else each hunk must fit in exactly one place. Errors are *DiffError.
func apply(files Files, changes []change, folder string, numbered bool) (Files, error) {
	out := merged(files, nil)
	seen := make(map[string]bool)
	for _, c := range changes {
		c.path = within(files, c.path, folder)
		if seen[c.path] {
			return nil, &DiffError{0, "changes " + c.path + " twice; put all hunks of a file below one header"}
		}
		seen[c.path] = true
		old, exists := files[c.path]
		if len(c.hunks) > 0 && source.IsBinary(old.Data) {
			return nil, &DiffError{c.hunks[0].line, "changes " + c.path + ", which is not text"}
		}
		switch {
		case c.removed && !exists, !c.created && !exists:
			return nil, &DiffError{0, fmt.Sprintf("changes %s, but the skill has no such file%s", c.path, words.Suggest(c.path, slices.Sorted(maps.Keys(files))))}
		case c.created && exists && len(old.Data) > 0:
			return nil, &DiffError{0, fmt.Sprintf("adds %s, but the skill has that file; change it instead", c.path)}
		case c.removed:
			delete(out, c.path)
			continue
		case !exists:
			if old.Mode = plainMode; c.script {
				old.Mode = scriptMode
			}
		}
		data, err := applyHunks(string(old.Data), &c, numbered)
		if err != nil {
			return nil, err
		}
		if source.IsBinary([]byte(data)) {
			return nil, &DiffError{0, "makes " + c.path + " a file that is not text"}
		}
		out[c.path] = File{[]byte(data), old.Mode}
	}
	return out, nil
}

// A text is a file as lines.
type text struct {
	lines []string // without their ends
	crlf  bool     // most lines end in CR LF
	bare  bool     // the last line has no end
}

func newText(s string) text {
	t := text{bare: s != "" && !strings.HasSuffix(s, "\n")}
	if t.lines = strings.Split(s, "\n"); !t.bare {
		t.lines = t.lines[:len(t.lines)-1]
	}
	t.crlf = 2*strings.Count(s, "\r\n") > len(t.lines)
	return t
}

// applyHunks applies the hunks of one file to its content.
func applyHunks(content string, c *change, numbered bool) (string, error) {
	t := newText(content)
	var out []string
	done, bare := 0, t.bare // done: lines of t that are in out
	for i := range c.hunks {
		h := &c.hunks[i]
		at, err := t.find(c, i, done, numbered)
		if err != nil {
			return "", err
		}
		out = append(out, t.lines[done:at]...)
		for _, l := range h.lines {
			switch {
			case l.op == '+' && t.crlf && !numbered && !strings.HasSuffix(l.text, "\r"):
				out = append(out, l.text+"\r")
			case l.op == '+':
				out = append(out, l.text)
			case l.op == ' ': // as the file has it: the hunk may lack spaces at its end
				out = append(out, t.lines[at])
				at++
			default:
				at++
			}
		}
		if done = at; done == len(t.lines) && (h.oldBare || h.newBare) {
			bare = h.newBare
		}
	}
	out = append(out, t.lines[done:]...)
	if len(out) == 0 {
		return "", nil
	}
	s := strings.Join(out, "\n")
	if !bare {
		s += "\n"
	}
	return s, nil
}

// find returns where hunk i of a change fits, at line from or later, counted from 0.
func (t *text) find(c *change, i, from int, numbered bool) (int, error) {
	h := &c.hunks[i]
	want := h.side('+')
	if len(want) == 0 {
		switch {
		case len(t.lines) == 0:
			return 0, nil
		case numbered && h.start >= from && h.start <= len(t.lines):
			return h.start, nil
		}
		return 0, h.unfit(c, i, "has no line of the file; add the lines before and after")
	}
	if at := h.start - 1; numbered && at >= from && at+len(want) <= len(t.lines) && slices.Equal(t.lines[at:at+len(want)], want) {
		return at, nil
	}
	for _, trim := range []bool{false, true} {
		switch places := t.places(from, want, trim); len(places) {
		case 0:
		case 1:
			return places[0], nil
		default:
			return 0, h.unfit(c, i, fmt.Sprintf("fits in several places, at lines %s; add lines before and after that tell which", numbers(places)))
		}
	}
	return 0, h.unfit(c, i, t.nearest(from, want))
}

// unfit returns the error for hunk i of a change.
func (h *hunk) unfit(c *change, i int, reason string) error {
	return &DiffError{h.line, fmt.Sprintf("begins hunk %d of %s, which %s", i+1, c.path, reason)}
}

// maxPlaces bounds how many places are looked for at which a hunk fits.
const maxPlaces = 5

// numbers lists places as line numbers.
func numbers(places []int) string {
	var list []string
	for _, p := range places {
		list = append(list, strconv.Itoa(p+1))
	}
	if len(places) == maxPlaces {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// trimmed returns a line without white space at its end.
func trimmed(line string) string { return strings.TrimRight(line, " \t\r") }

// places returns the first lines from which on the wanted lines stand, at line from or later.
// trim means without regard to white space at the ends of lines. It searches bytes, because
// comparing line by line takes minutes where a large file repeats one line.
func (t *text) places(from int, want []string, trim bool) (list []int) {
	joined := func(lines []string) string {
		var b strings.Builder
		b.WriteByte('\n')
		for _, l := range lines {
			if trim {
				l = trimmed(l)
			}
			b.WriteString(l)
			b.WriteByte('\n')
		}
		return b.String()
	}
	file, hunk := joined(t.lines[from:]), joined(want)
	for line := from; len(list) < maxPlaces; line++ {
		i := strings.Index(file, hunk)
		if i < 0 {
			break
		}
		line += strings.Count(file[:i], "\n")
		list = append(list, line)
		file = file[i+1:]
	}
	return list
}

// maxCompared bounds how many lines are compared to say what is wrong with a hunk.
const maxCompared = 10_000_000

// nearest says where most of the lines of a hunk are, and the first line that differs.
func (t *text) nearest(from int, want []string) string {
	want = want[:min(len(want), 1+maxCompared/(1+len(t.lines)))]
	best, most, differs := -1, 0, 0
	for at := from; at < len(t.lines); at++ {
		n, first := 0, -1
		for i, w := range want {
			switch {
			case at+i < len(t.lines) && trimmed(t.lines[at+i]) == trimmed(w):
				n++
			case first < 0:
				first = i
			}
		}
		if n > most {
			best, most, differs = at, n, first
		}
	}
	if best < 0 {
		return fmt.Sprintf("does not fit: the file has no line %s", excerpt(want[0]))
	}
	if differs < 0 { // only the first lines of the hunk were compared
		return fmt.Sprintf("does not fit: it begins like line %d of the file, and one of its later lines differs", best+1)
	}
	if best+differs >= len(t.lines) {
		return fmt.Sprintf("does not fit: the file ends after line %d, where the hunk has %s", len(t.lines), excerpt(want[differs]))
	}
	return fmt.Sprintf("does not fit: line %d of the file is %s, and the hunk has %s", best+differs+1, excerpt(t.lines[best+differs]), excerpt(want[differs]))
}

// excerpt quotes the start of a line.
func excerpt(line string) string { return strconv.Quote(tidy.Shorten(tidy.Line(line), 100)) }

// unified returns the diff between the files of a skill before and after a change, as this
// package keeps it: every line number is right. Paths begin with dir, such as in a repository.
func unified(dir string, before, after Files) string {
	var b strings.Builder
	for _, name := range changed(before, after) {
		old, was := before[name]
		now, is := after[name]
		from, to := "a/"+path.Join(dir, name), "b/"+path.Join(dir, name)
		fmt.Fprintf(&b, "diff --git %s %s\n", from, to)
		if !was {
			from = devNull
			fmt.Fprintf(&b, "new file mode 100%o\n", shared(now))
		}
		if !is {
			to = devNull
			fmt.Fprintf(&b, "deleted file mode 100%o\n", shared(old))
		}
		switch body := udiff.Unified(from, to, string(old.Data), string(now.Data)); {
		case is && (source.IsBinary(old.Data) || source.IsBinary(now.Data)):
			fmt.Fprintf(&b, "Binary files %s and %s differ\n", from, to)
		case body == "", source.IsBinary(old.Data): // an empty file comes or goes, or another one goes
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
		default:
			b.WriteString(body)
		}
	}
	return b.String()
}

// changed returns the names of files that differ, sorted.
func changed(before, after Files) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(merged(before, after))) {
		old, was := before[name]
		now, is := after[name]
		if was != is || string(old.Data) != string(now.Data) {
			list = append(list, name)
		}
	}
	return list
}

func merged(a, b Files) Files {
	all := maps.Clone(a)
	if all == nil {
		all = make(Files)
	}
	maps.Copy(all, b)
	return all
}

package virtual

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A grepper is one call of grep.
type grepper struct {
	*command
	patterns []*pattern
	most     int // matches in a file; 0 means no limit
	before   int
	after    int
	titles   bool
	found    bool
}

func grep(c *command) int {
	c.args = longOptions(c.args, map[string]string{"--include": "-Z", "--recursive": "-r", "--ignore-case": "-i", "--count": "-c", "--quiet": "-q", "--only-matching": "-o",
		"--line-number": "-n", "--invert-match": "-v", "--extended-regexp": "-E", "--fixed-strings": "-F", "--files-with-matches": "-l", "--word-regexp": "-w"})
	if err := c.parse("EFGivnclLqoswxrRhHe:f:m:A:B:C:Z:a"); err != nil {
		return c.usage(err)
	}
	g := &grepper{command: c}
	if err := g.prepare(); err != nil {
		return c.usage(err)
	}
	recursive := c.has('r') || c.has('R')
	names := c.args
	if len(names) == 0 {
		names = []string{"-"}
		if recursive {
			names = []string{"."}
		}
	}
	g.titles = (len(names) > 1 || recursive || c.has('H')) && !c.has('h')
	status := 0
	for _, name := range names {
		if g.file(name, recursive) != nil {
			status = 2
		}
	}
	switch {
	case c.run.m.why.Load() != nil:
		return 2
	case g.found && (status == 0 || c.has('q')):
		return 0
	case status != 0:
		return status
	}
	return 1
}

// longOptions replaces options such as --count and --include=x by short ones.
func longOptions(args []string, known map[string]string) []string {
	var out []string
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		name, value, valued := strings.Cut(a, "=")
		short, ok := known[name]
		switch {
		case ok && valued:
			out = append(out, short+value)
		case ok && !valued:
			out = append(out, short)
		case name == "--color" || name == "--colour": // nothing is a terminal
		default:
			out = append(out, a)
		}
	}
	return out
}

// prepare compiles the patterns.
func (g *grepper) prepare() error {
	var texts []string
	for _, f := range g.flags {
		switch f.letter {
		case 'e':
			texts = append(texts, strings.Split(f.value, "\n")...)
		case 'f':
			data, err := g.read(f.value)
			if err != nil {
				return fmt.Errorf("%s: %s", f.value, reason(err))
			}
			texts = append(texts, lines(data)...)
		case 'm', 'A', 'B', 'C':
			n, err := strconv.Atoi(f.value)
			if err != nil || n < 0 {
				return fmt.Errorf("-%c needs a number, not %q", f.letter, f.value)
			}
			switch f.letter {
			case 'm':
				g.most = n
			case 'A':
				g.after = n
			case 'B':
				g.before = n
			case 'C':
				g.after, g.before = n, n
			}
		}
	}
	if !g.has('e') && !g.has('f') {
		if len(g.args) == 0 {
			return errors.New("usage: grep [OPTIONS] PATTERN [FILE...]")
		}
		texts = strings.Split(g.args[0], "\n")
		g.args = g.args[1:]
	}
	if len(texts) > 200 {
		return errors.New("more than 200 patterns")
	}
	for _, text := range texts {
		p, err := compile(text, g.has('E'), g.has('F'), g.has('i'))
		if err != nil {
			return err
		}
		g.patterns = append(g.patterns, p)
	}
	return nil
}

// file searches a file, or the files of a folder.
func (g *grepper) file(name string, recursive bool) error {
	if n, err := g.node(name); err == nil && n.isDir() && name != "-" {
		if !recursive {
			g.errorf("%s: Is a directory", name)
			return nil
		}
		for _, e := range n.list() {
			if err := g.run.m.Err(); err != nil {
				return err
			}
			below := strings.TrimSuffix(name, "/") + "/" + e.name
			if name == "." && len(g.args) == 0 { // no folder was named
				below = e.name
			}
			_ = g.file(below, true) // said already
		}
		return nil
	}
	if include, ok := g.value('Z'); ok && recursive {
		if ok, err := path.Match(include, path.Base(name)); err != nil || !ok {
			return nil
		}
	}
	data, err := g.read(name)
	if err != nil {
		if !g.has('s') {
			g.failed(name, err)
		}
		return err
	}
	if name == "-" {
		name = "(standard input)"
	}
	return g.search(name, lines(data))
}

// search prints the lines that match, as the options say.
func (g *grepper) search(name string, all []string) error {
	count, printed := 0, -1
	until := -1 // the last line of the context
	quiet := g.has('q') || g.has('l') || g.has('L') || g.has('c')
	for i, line := range all {
		ok, err := g.match(line)
		if err != nil {
			return err
		}
		if ok != g.has('v') {
			count++
			g.found = g.found || !g.has('L')
			if quiet && !g.has('c') {
				break
			}
			if !quiet {
				from := max(printed+1, i-g.before)
				if printed >= 0 && from > printed+1 && g.before+g.after > 0 {
					fmt.Fprintln(g.out, "--")
				}
				for ; from < i; from++ {
					g.print(name, from, '-', all[from])
				}
				g.show(name, i, line)
				printed, until = i, i+g.after
			}
			if g.most > 0 && count == g.most {
				break
			}
		} else if i <= until && !quiet {
			g.print(name, i, '-', line)
			printed = i
		}
	}
	switch {
	case g.has('q'):
	case g.has('l') && count > 0 || g.has('L') && count == 0:
		g.found = true
		fmt.Fprintln(g.out, name)
	case g.has('c'):
		if g.titles {
			fmt.Fprintf(g.out, "%s:", name)
		}
		fmt.Fprintln(g.out, count)
	}
	return nil
}

func (g *grepper) print(name string, i int, sep rune, text string) {
	var b strings.Builder
	if g.titles {
		fmt.Fprintf(&b, "%s%c", name, sep)
	}
	if g.has('n') {
		fmt.Fprintf(&b, "%d%c", i+1, sep)
	}
	io.WriteString(g.out, b.String()+text+"\n")
}

// show prints a line that matches, or with -o its parts that match.
func (g *grepper) show(name string, i int, line string) {
	if !g.has('o') {
		g.print(name, i, ':', line)
		return
	}
	if g.has('v') {
		return
	}
	for _, loc := range g.places(line) {
		g.print(name, i, ':', line[loc[0]:loc[1]])
	}
}

// places returns where the patterns match in a line, in order, none in another.
func (g *grepper) places(line string) [][]int {
	var all [][]int
	for _, p := range g.patterns {
		for _, loc := range p.FindAllStringIndex(line, -1) {
			if loc[1] > loc[0] && g.fits(line, loc) {
				all = append(all, loc)
			}
		}
	}
	slices.SortFunc(all, func(a, b []int) int {
		if a[0] != b[0] {
			return a[0] - b[0]
		}
		return b[1] - a[1]
	})
	end := 0
	return slices.DeleteFunc(all, func(loc []int) bool {
		if loc[0] < end {
			return true
		}
		end = loc[1]
		return false
	})
}

// fits reports whether a match is a whole line or word, if that is asked for.
func (g *grepper) fits(line string, loc []int) bool {
	isWord := func(i int) bool {
		return i >= 0 && i < len(line) && (line[i] == '_' || line[i] >= '0' && line[i] <= '9' || line[i]|0x20 >= 'a' && line[i]|0x20 <= 'z')
	}
	switch {
	case g.has('x'):
		return loc[0] == 0 && loc[1] == len(line)
	case g.has('w'):
		return !isWord(loc[0]-1) && !isWord(loc[1])
	}
	return true
}

func (g *grepper) match(line string) (bool, error) {
	for _, p := range g.patterns {
		if err := g.run.m.charge((len(line) + 16) * p.cost / 8); err != nil {
			return false, err
		}
		if !g.has('x') && !g.has('w') {
			if p.MatchString(line) {
				return true, nil
			}
			continue
		}
		for _, loc := range p.FindAllStringIndex(line, -1) {
			if g.fits(line, loc) {
				return true, nil
			}
		}
	}
	return false, nil
}

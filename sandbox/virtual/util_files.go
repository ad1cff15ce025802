package virtual

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

var errOperand = errors.New("an operand is missing")

func cat(c *command) int {
	n := 0
	return c.inputs(func(_ string, data []byte) {
		if !c.has('n') {
			c.out.Write(data)
			return
		}
		for _, line := range lines(data) {
			n++
			fmt.Fprintf(c.out, "%6d\t%s\n", n, line)
		}
	})
}

func ls(c *command) int {
	names := c.args
	if len(names) == 0 {
		names = []string{"."}
	}
	var files, dirs []info
	status := 0
	for _, name := range names {
		n, err := c.node(name)
		switch {
		case err != nil:
			fmt.Fprintf(c.err, "ls: cannot access '%s': %s\n", name, reason(err))
			status = 2
		case n.isDir() && !c.has('d'):
			dirs = append(dirs, info{name, n})
		default:
			files = append(files, info{name, n})
		}
	}
	c.list(files)
	for i, d := range dirs {
		if i > 0 || len(files) > 0 {
			fmt.Fprintln(c.out)
		}
		c.listDir(d, len(names) > 1 || c.has('R'))
	}
	return status
}

func (c *command) listDir(d info, title bool) {
	if title {
		fmt.Fprintf(c.out, "%s:\n", d.name)
	}
	entries := d.n.list()
	if c.has('a') {
		entries = append([]info{{".", d.n}, {"..", d.n}}, entries...)
	} else if !c.has('A') {
		entries = slices.DeleteFunc(entries, func(i info) bool { return strings.HasPrefix(i.name, ".") })
	}
	c.list(entries)
	if !c.has('R') {
		return
	}
	for _, e := range entries {
		if e.n.isDir() && e.name != "." && e.name != ".." && c.run.m.Err() == nil {
			fmt.Fprintln(c.out)
			c.listDir(info{path.Join(d.name, e.name), e.n}, true)
		}
	}
}

// list prints files, one a line: nothing here is a terminal.
func (c *command) list(entries []info) {
	less := func(a, b info) int { return strings.Compare(a.name, b.name) }
	switch {
	case c.has('t'):
		less = func(a, b info) int { return int(b.n.changed - a.n.changed) }
	case c.has('S'):
		less = func(a, b info) int { return len(b.n.data) - len(a.n.data) }
	}
	slices.SortStableFunc(entries, less)
	if c.has('r') {
		slices.Reverse(entries)
	}
	for _, e := range entries {
		end := ""
		switch {
		case e.n.isDir() && (c.has('F') || c.has('p')):
			end = "/"
		case c.has('F') && e.n.mode&0o111 != 0 && !e.n.isDir():
			end = "*"
		}
		if c.has('l') {
			fmt.Fprintf(c.out, "%s 1 user user %7d %s %s%s\n", e.n.mode, len(e.n.data), e.ModTime().Format("Jan _2  2006"), e.name, end)
		} else {
			fmt.Fprintln(c.out, e.name+end)
		}
	}
}

// toLast calls f with each operand but the last and where the last says that it goes to.
func (c *command) toLast(f func(name, to string) (done string, err error)) int {
	if len(c.args) < 2 {
		return c.usage(errOperand)
	}
	last := c.args[len(c.args)-1]
	c.args = c.args[:len(c.args)-1]
	n, err := c.node(last)
	isDir := err == nil && n.isDir()
	if !isDir && (len(c.args) > 1 || strings.HasSuffix(last, "/")) {
		return c.usage(fmt.Errorf("%s: is not a directory", last))
	}
	return c.each(func(name string) (string, error) {
		to := c.abs(last)
		if isDir {
			to = path.Join(to, path.Base(c.abs(name)))
		}
		return f(name, to)
	})
}

func cp(c *command) int {
	return c.toLast(func(name, to string) (string, error) {
		n, err := c.node(name)
		switch {
		case err != nil:
		case n.isDir() && !c.has('r') && !c.has('R') && !c.has('a'):
			err = errors.New("is a directory; -r copies it")
		case to == c.abs(name) || strings.HasPrefix(to, c.abs(name)+"/"):
			err = errors.New("cannot be copied to itself")
		default:
			err = c.copyNode(n, to)
		}
		return fmt.Sprintf("'%s' -> '%s'", name, to), err
	})
}

func (c *command) copyNode(n *node, to string) error {
	if err := c.run.m.charge(len(n.data) + 64); err != nil {
		return err
	}
	if !n.isDir() {
		if _, _, err := c.run.t.lookup("open", to); err == nil && c.has('n') {
			return nil
		}
		return c.run.t.put(to, n.data, n.mode)
	}
	if err := c.run.t.mkdir(to, n.mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, e := range n.list() {
		if err := c.copyNode(e.n, path.Join(to, e.name)); err != nil {
			return err
		}
	}
	return nil
}

func mv(c *command) int {
	return c.toLast(func(name, to string) (string, error) {
		if _, _, err := c.run.t.lookup("open", to); err == nil && c.has('n') {
			return "", nil
		}
		return fmt.Sprintf("renamed '%s' -> '%s'", name, to), c.run.t.rename(c.abs(name), to)
	})
}

func rm(c *command) int {
	if len(c.args) == 0 && !c.has('f') {
		return c.usage(errOperand)
	}
	return c.each(func(name string) (string, error) {
		n, err := c.node(name)
		switch full := c.abs(name); {
		case errors.Is(err, fs.ErrNotExist) && c.has('f'):
			return "", nil
		case err != nil:
		case n.isDir() && !c.has('r') && !c.has('R') && (!c.has('d') || len(n.entries) > 0):
			err = errors.New("is a directory; -r removes it")
		case full == "/" || full == c.hc.Dir || strings.HasPrefix(c.hc.Dir, full+"/") || strings.HasPrefix(c.run.s.skillDir(""), full):
			err = errors.New("the working folder and the folders of the sandbox stay")
		default:
			err = c.run.t.remove(full)
		}
		return fmt.Sprintf("removed '%s'", name), err
	})
}

func mkdir(c *command) int {
	if len(c.args) == 0 {
		return c.usage(errOperand)
	}
	return c.each(func(name string) (done string, err error) {
		if c.has('p') {
			err = c.run.t.mkdirAll(c.abs(name))
		} else {
			err = c.run.t.mkdir(c.abs(name), 0o755)
		}
		return fmt.Sprintf("created directory '%s'", name), err
	})
}

func touch(c *command) int {
	if c.has('t') || c.has('d') || c.has('r') {
		return c.usage(errors.New("times cannot be set: each change is a second later than the one before"))
	}
	return c.each(func(name string) (string, error) {
		n, readOnly, err := c.run.t.lookup("open", c.abs(name))
		switch {
		case err == nil && readOnly:
			err = pathError("touch", name, syscall.EROFS)
		case err == nil:
			n.changed = c.run.t.tick()
		case c.has('c') && errors.Is(err, fs.ErrNotExist):
			err = nil
		default:
			_, err = c.run.t.create(c.abs(name), 0o644, false)
		}
		return "", err
	})
}

func tee(c *command) int {
	data, err := c.read("-")
	if err != nil {
		return c.failed("standard input", err)
	}
	c.out.Write(data)
	return c.each(func(name string) (string, error) {
		full := c.abs(name)
		if device(full) {
			return "", nil
		}
		n, err := c.run.t.create(full, 0o644, !c.has('a'))
		if err == nil {
			_, err = c.run.t.write(full, n, data)
		}
		return "", err
	})
}

func basename(c *command) int {
	suffix, many := c.value('s')
	if many = many || c.has('a'); !many && len(c.args) == 2 {
		suffix, c.args = c.args[1], c.args[:1]
	}
	if len(c.args) == 0 || !many && len(c.args) > 1 {
		return c.usage(errors.New("usage: basename NAME [SUFFIX]"))
	}
	for _, name := range c.args {
		base := path.Base(name)
		if name == "" {
			base = ""
		}
		if base != suffix {
			base = strings.TrimSuffix(base, suffix)
		}
		fmt.Fprintln(c.out, base)
	}
	return 0
}

func dirname(c *command) int {
	if len(c.args) == 0 {
		return c.usage(errOperand)
	}
	for _, name := range c.args {
		trimmed := strings.TrimRight(name, "/")
		switch i := strings.LastIndexByte(trimmed, '/'); {
		case trimmed == "" && name != "":
			fmt.Fprintln(c.out, "/")
		case i < 0:
			fmt.Fprintln(c.out, ".")
		default:
			fmt.Fprintln(c.out, cmp.Or(strings.TrimRight(trimmed[:i], "/"), "/"))
		}
	}
	return 0
}

// mktemp gives out names in order, so that each run has the same.
func mktemp(c *command) int {
	dir, template := c.run.s.tempDir(), "tmp.XXXXXXXXXX"
	if len(c.args) > 0 {
		template = c.args[0]
		if !c.has('p') && !c.has('t') {
			dir = c.hc.Dir
		}
	}
	if d, ok := c.value('p'); ok {
		dir = c.abs(d)
	}
	trimmed := strings.TrimRight(template, "X")
	if len(template)-len(trimmed) < 3 {
		return c.errorf("too few X's at the end of template '%s'", template)
	}
	for {
		c.run.temps++
		name := absolute(dir, fmt.Sprintf("%s%0*d", trimmed, len(template)-len(trimmed), c.run.temps))
		if _, _, err := c.run.t.lookup("open", name); err == nil {
			if c.run.m.Err() != nil {
				return 1
			}
			continue
		}
		var err error
		switch {
		case c.has('u'):
		case c.has('d'):
			err = c.run.t.mkdir(name, 0o700)
		default:
			_, err = c.run.t.create(name, 0o600, false)
		}
		if err != nil {
			return c.failed(name, err)
		}
		fmt.Fprintln(c.out, name)
		return 0
	}
}

package virtual

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// An address of sed: a line, the last line, or lines that match.
type address struct {
	line  int
	last  bool
	match *pattern
}

// A sedCommand is s, p or d with its addresses.
type sedCommand struct {
	from, to *address // nil means none
	not      bool
	verb     byte

	// Of s.
	pattern *pattern
	with    []replacement
	every   bool
	print   bool
	nth     int // 0 means the first

	inRange bool // from has matched and to has not yet
}

// A replacement is text, or a group of the match.
type replacement struct {
	text  string
	group int // -1 means text
}

// A sedParser reads a script of sed.
type sedParser struct {
	in       string
	extended bool
}

// parseSed parses commands that are divided by ";" and ends of lines.
func parseSed(script string, extended bool) ([]*sedCommand, error) {
	p := &sedParser{in: script, extended: extended}
	var all []*sedCommand
	for {
		p.in = strings.TrimLeft(p.in, " \t\n;")
		switch {
		case p.in == "":
			return all, nil
		case p.in[0] == '#':
			_, p.in, _ = strings.Cut(p.in, "\n")
			continue
		case len(all) == 500:
			return nil, errors.New("a script has more than 500 commands")
		}
		cmd, err := p.command()
		if err != nil {
			return nil, err
		}
		all = append(all, cmd)
	}
}

func (p *sedParser) skip() { p.in = strings.TrimLeft(p.in, " \t") }

func (p *sedParser) command() (*sedCommand, error) {
	cmd := &sedCommand{}
	var err error
	if cmd.from, err = p.address(); err != nil {
		return nil, err
	}
	if p.skip(); cmd.from != nil && strings.HasPrefix(p.in, ",") {
		p.in = p.in[1:]
		p.skip()
		if cmd.to, err = p.address(); err != nil || cmd.to == nil {
			return nil, errors.Join(errors.New("an address is missing after the comma"), err)
		}
		p.skip()
	}
	for strings.HasPrefix(p.in, "!") {
		cmd.not = true
		p.in = p.in[1:]
		p.skip()
	}
	if p.in == "" {
		return nil, errors.New("a command is missing")
	}
	cmd.verb, p.in = p.in[0], p.in[1:]
	switch cmd.verb {
	case 's':
		if err := p.substitute(cmd); err != nil {
			return nil, err
		}
	case 'p', 'd':
	default:
		return nil, fmt.Errorf("the command %q is not available; sed has s, p and d here", string(cmd.verb))
	}
	if p.skip(); p.in != "" && strings.IndexByte(";\n#", p.in[0]) < 0 {
		return nil, fmt.Errorf("unknown text after the command: %.20q", p.in)
	}
	return cmd, nil
}

func (p *sedParser) address() (*address, error) {
	switch {
	case p.in == "":
		return nil, nil
	case p.in[0] == '$':
		p.in = p.in[1:]
		return &address{last: true}, nil
	case p.in[0] >= '0' && p.in[0] <= '9':
		digits := len(p.in) - len(strings.TrimLeft(p.in, "0123456789"))
		n, err := strconv.Atoi(p.in[:digits])
		p.in = p.in[digits:]
		if err != nil || n == 0 {
			return nil, errors.New("lines are counted from 1")
		}
		return &address{line: n}, nil
	case p.in[0] == '/' || p.in[0] == '\\' && len(p.in) > 1:
		if p.in[0] == '\\' {
			p.in = p.in[1:]
		}
		text, err := p.delimited(p.in[0], 1)
		if err != nil {
			return nil, err
		}
		fold := strings.HasPrefix(p.in, "I")
		p.in = strings.TrimPrefix(p.in, "I")
		re, err := compile(text, p.extended, false, fold)
		return &address{match: re}, err
	}
	return nil, nil
}

// delimited returns the text up to the next delim, from the byte at from on, and goes
// behind it. A delimiter with a backslash is part of the text.
func (p *sedParser) delimited(delim byte, from int) (string, error) {
	if delim == '\n' || delim == '\\' {
		return "", errors.New("a backslash or the end of a line cannot delimit")
	}
	var b strings.Builder
	inBracket := false
	for i := from; i < len(p.in); i++ {
		switch ch := p.in[i]; {
		case ch == '\\' && i+1 < len(p.in):
			if i++; p.in[i] != delim {
				b.WriteByte('\\')
			}
			b.WriteByte(p.in[i])
			continue
		case ch == '[':
			inBracket = from == 1 && strings.IndexByte(p.in[i:], ']') > 0
		case ch == ']':
			inBracket = false
		case ch == delim && !inBracket:
			p.in = p.in[i+1:]
			return b.String(), nil
		}
		b.WriteByte(p.in[i])
	}
	return "", fmt.Errorf("a %q is missing", string(delim))
}

// substitute parses what follows an s.
func (p *sedParser) substitute(cmd *sedCommand) error {
	if p.in == "" {
		return errors.New("s needs /PATTERN/TEXT/")
	}
	delim := p.in[0]
	pattern, err := p.delimited(delim, 1)
	if err != nil {
		return err
	}
	with, err := p.delimited(delim, 0)
	if err != nil {
		return err
	}
	fold := false
	for p.in != "" && strings.IndexByte("gpiI123456789", p.in[0]) >= 0 {
		switch ch := p.in[0]; ch {
		case 'g':
			cmd.every = true
		case 'p':
			cmd.print = true
		case 'i', 'I':
			fold = true
		default:
			cmd.nth = cmd.nth*10 + int(ch-'0')
		}
		if p.in = p.in[1:]; cmd.nth > 1000 {
			return errors.New("the number after s is too large")
		}
	}
	if cmd.pattern, err = compile(pattern, p.extended, false, fold); err != nil {
		return err
	}
	cmd.with, err = parseReplacement(with, cmd.pattern.NumSubexp())
	return err
}

func parseReplacement(text string, groups int) ([]replacement, error) {
	var out []replacement
	var b strings.Builder
	group := func(n int) error {
		if n > groups {
			return fmt.Errorf("the pattern has no group \\%d", n)
		}
		out = append(out, replacement{b.String(), -1}, replacement{"", n})
		b.Reset()
		return nil
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '&':
			if err := group(0); err != nil {
				return nil, err
			}
		case text[i] == '\\' && i+1 < len(text):
			i++
			switch ch := text[i]; {
			case ch >= '0' && ch <= '9':
				if err := group(int(ch - '0')); err != nil {
					return nil, err
				}
			case ch == 'n':
				b.WriteByte('\n')
			case ch == 't':
				b.WriteByte('\t')
			default:
				b.WriteByte(ch)
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return append(out, replacement{b.String(), -1}), nil
}

func sed(c *command) int {
	c.args = longOptions(c.args, map[string]string{"--quiet": "-n", "--silent": "-n", "--expression": "-e", "--in-place": "-i", "--regexp-extended": "-E"})
	if err := c.parse("nEre:f:is"); err != nil {
		return c.usage(err)
	}
	var scripts []string
	for _, f := range c.flags {
		switch f.letter {
		case 'e':
			scripts = append(scripts, f.value)
		case 'f':
			data, err := c.read(f.value)
			if err != nil {
				return c.failed(f.value, err)
			}
			scripts = append(scripts, string(data))
		}
	}
	if scripts == nil {
		if len(c.args) == 0 {
			return c.usage(errors.New("usage: sed [-nEi] SCRIPT [FILE...]"))
		}
		scripts, c.args = c.args[:1], c.args[1:]
	}
	cmds, err := parseSed(strings.Join(scripts, "\n"), c.has('E') || c.has('r'))
	if err != nil {
		return c.usage(err)
	}
	if c.has('i') || c.has('s') {
		return c.sedEach(cmds)
	}
	var all []byte
	status := c.inputs(func(_ string, data []byte) {
		if len(all) > 0 && all[len(all)-1] != '\n' {
			all = append(all, '\n')
		}
		all = append(all, data...)
	})
	if c.sedText(cmds, all, c.out) != nil {
		return 1
	}
	return status
}

// sedEach edits each file by itself: in place, or to standard output.
func (c *command) sedEach(cmds []*sedCommand) int {
	failed := 0
	status := c.inputs(func(name string, data []byte) {
		for _, cmd := range cmds {
			cmd.inRange = false
		}
		if !c.has('i') {
			_ = c.sedText(cmds, data, c.out) // a full output ends the run
			return
		}
		var b strings.Builder
		err := c.sedText(cmds, data, &b)
		if err == nil {
			var n *node
			if n, err = c.node(name); err == nil {
				err = c.run.t.put(c.abs(name), []byte(b.String()), n.mode)
			}
		}
		if err != nil {
			failed = c.failed(name, err)
		}
	})
	return max(status, failed)
}

func (c *command) sedText(cmds []*sedCommand, data []byte, out io.Writer) error {
	all := lines(data)
	noEnd := len(data) > 0 && data[len(data)-1] != '\n'
	for i, line := range all {
		end := "\n"
		if noEnd && i == len(all)-1 {
			end = ""
		}
		if err := c.sedLine(cmds, line, i+1, i == len(all)-1, end, out); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) sedLine(cmds []*sedCommand, line string, n int, last bool, end string, out io.Writer) error {
	for _, cmd := range cmds {
		cost := 16
		for _, p := range []*pattern{cmd.pattern, addressPattern(cmd.from), addressPattern(cmd.to)} {
			if p != nil {
				cost += (len(line) + 16) * p.cost / 8
			}
		}
		if err := c.run.m.charge(cost); err != nil {
			return err
		}
		if cmd.selects(line, n, last) == cmd.not {
			continue
		}
		switch cmd.verb {
		case 'd':
			return nil
		case 'p':
			if _, err := io.WriteString(out, line+"\n"); err != nil {
				return err
			}
		case 's':
			changed, ok := cmd.replace(line)
			if len(changed) > maxValue {
				return c.run.m.stop("sed makes a line longer than 1 MiB")
			}
			if err := c.run.m.charge(len(changed)); err != nil {
				return err
			}
			if line = changed; ok && cmd.print {
				if _, err := io.WriteString(out, line+"\n"); err != nil {
					return err
				}
			}
		}
	}
	if c.has('n') {
		return nil
	}
	_, err := io.WriteString(out, line+end)
	return err
}

func addressPattern(a *address) *pattern {
	if a == nil {
		return nil
	}
	return a.match
}

func (a *address) matches(line string, n int, last bool) bool {
	switch {
	case a.match != nil:
		return a.match.MatchString(line)
	case a.last:
		return last
	}
	return a.line == n
}

// selects reports whether a command is for a line.
func (cmd *sedCommand) selects(line string, n int, last bool) bool {
	switch {
	case cmd.from == nil:
		return true
	case cmd.to == nil:
		return cmd.from.matches(line, n, last)
	case cmd.inRange:
		cmd.inRange = !cmd.to.matches(line, n, last) && (cmd.to.line == 0 || n < cmd.to.line)
		return true
	case cmd.from.matches(line, n, last):
		cmd.inRange = cmd.to.line == 0 || n < cmd.to.line
		return true
	}
	return false
}

// replace returns the line after an s, at most a little longer than maxValue.
func (cmd *sedCommand) replace(line string) (string, bool) {
	most := cmd.nth
	if !cmd.every {
		most = max(most, 1)
	} else {
		most = -1
	}
	places := cmd.pattern.FindAllStringSubmatchIndex(line, most)
	if cmd.nth > 1 {
		places = slices.Clone(places[min(cmd.nth-1, len(places)):])
	}
	if len(places) == 0 {
		return line, false
	}
	var b strings.Builder
	at := 0
	for _, loc := range places {
		b.WriteString(line[at:loc[0]])
		for _, r := range cmd.with {
			switch {
			case r.group < 0:
				b.WriteString(r.text)
			case loc[2*r.group] >= 0:
				b.WriteString(line[loc[2*r.group]:loc[2*r.group+1]])
			}
		}
		if at = loc[1]; b.Len() > maxValue {
			break
		}
	}
	b.WriteString(line[at:])
	return b.String(), true
}

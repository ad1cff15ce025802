package virtual

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
)

// printf is the command printf. The interpreter's own has no precision and no %f.
func printf(c *command) int {
	if len(c.args) > 0 && c.args[0] == "--" {
		c.args = c.args[1:]
	}
	if len(c.args) == 0 {
		return c.usage(errors.New("usage: printf FORMAT [ARGUMENT...]"))
	}
	p := &printer{format: c.args[0], args: c.args[1:]}
	for first := true; first || len(p.args) > 0; first = false {
		left := len(p.args)
		if err := p.round(); err != nil {
			return c.usage(err)
		}
		if p.out.Len() > maxValue {
			return c.usage(errors.New("the format makes more than 1 MiB"))
		}
		if len(p.args) == left || p.ended { // nothing takes an argument, or \c
			break
		}
	}
	io.WriteString(c.out, p.out.String())
	if p.bad != "" {
		return c.errorf("%s: this is not a number", p.bad)
	}
	return 0
}

// A printer goes through a format.
type printer struct {
	format string
	args   []string
	out    strings.Builder
	bad    string // an argument that is not a number
	ended  bool
}

func (p *printer) next() string {
	if len(p.args) == 0 {
		return ""
	}
	arg := p.args[0]
	p.args = p.args[1:]
	return arg
}

// round writes the format once.
func (p *printer) round() error {
	for rest := p.format; rest != "" && !p.ended && p.out.Len() <= maxValue; {
		text, after, found := strings.Cut(rest, "%")
		p.escapes(text)
		if rest = after; !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			p.out.WriteByte('%')
			rest = rest[1:]
			continue
		}
		flags := len(rest) - len(strings.TrimLeft(rest, "-+ 0#"))
		digits := flags + len(rest[flags:]) - len(strings.TrimLeft(rest[flags:], "0123456789."))
		if digits == len(rest) {
			return errors.New("the format ends in a directive")
		}
		width, precision, _ := strings.Cut(rest[flags:digits], ".")
		for _, n := range []string{width, precision} {
			if v, err := strconv.Atoi("0" + n); err != nil || v > 4096 {
				return errors.New("a width is larger than 4096")
			}
		}
		if err := p.directive(rest[:digits], rest[digits]); err != nil {
			return err
		}
		rest = rest[digits+1:]
	}
	return nil
}

// escapes writes text in which backslashes escape.
func (p *printer) escapes(text string) {
	if before, _, ok := strings.Cut(text, `\c`); ok {
		text, p.ended = before, true
	}
	if text != "" {
		ready, _, _ := expand.Format(nil, text, nil) // without arguments there is no error
		p.out.WriteString(ready)
	}
}

func (p *printer) directive(options string, verb byte) error {
	switch verb {
	case 's':
		fmt.Fprintf(&p.out, "%"+options+"s", p.next())
	case 'b':
		p.escapes(p.next())
	case 'c':
		arg := p.next()
		_, size := utf8.DecodeRuneInString(arg)
		fmt.Fprintf(&p.out, "%"+options+"s", arg[:size])
	case 'd', 'i':
		fmt.Fprintf(&p.out, "%"+options+"d", p.integer())
	case 'u':
		fmt.Fprintf(&p.out, "%"+options+"d", uint64(p.integer()))
	case 'o', 'x', 'X':
		fmt.Fprintf(&p.out, "%"+options+string(verb), uint64(p.integer()))
	case 'f', 'e', 'E', 'g', 'G':
		arg := strings.TrimSpace(p.next())
		f, err := strconv.ParseFloat(arg, 64)
		if err != nil && arg != "" {
			p.bad = arg
		}
		fmt.Fprintf(&p.out, "%"+options+string(verb), f)
	default:
		return fmt.Errorf("unknown directive %%%s%c", options, verb)
	}
	return nil
}

// integer takes a number: decimal, octal, hexadecimal, or a quote and a character.
func (p *printer) integer() int64 {
	arg := strings.TrimSpace(p.next())
	if len(arg) > 1 && (arg[0] == '\'' || arg[0] == '"') {
		r, _ := utf8.DecodeRuneInString(arg[1:])
		return int64(r)
	}
	n, err := strconv.ParseInt(arg, 0, 64)
	if err != nil && arg != "" {
		p.bad = arg
	}
	return n
}

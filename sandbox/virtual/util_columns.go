package virtual

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A span is a range of columns; to 0 means the end.
type span struct{ from, to int }

func parseSpans(list string) ([]span, error) {
	var spans []span
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(part, "-")
		s := span{from: 1}
		var err1, err2 error
		if from != "" || !ranged {
			s.from, err1 = strconv.Atoi(from)
		}
		switch {
		case !ranged:
			s.to = s.from
		case to != "":
			s.to, err2 = strconv.Atoi(to)
		}
		if err1 != nil || err2 != nil || s.from < 1 || s.to != 0 && s.to < s.from || part == "-" {
			return nil, fmt.Errorf("unknown range %q; ranges are such as 1, 2-4 and 3-", part)
		}
		spans = append(spans, s)
	}
	return spans, nil
}

func picked(spans []span, n int) bool {
	return slices.ContainsFunc(spans, func(s span) bool { return n >= s.from && (s.to == 0 || n <= s.to) })
}

func cut(c *command) int {
	var list string
	kinds := 0
	for _, l := range "fcb" {
		if v, ok := c.value(byte(l)); ok {
			list = v
			kinds++
		}
	}
	if kinds != 1 {
		return c.usage(errors.New("exactly one of -f, -c and -b is needed"))
	}
	spans, err := parseSpans(list)
	if err != nil {
		return c.usage(err)
	}
	delim := "\t"
	if d, ok := c.value('d'); ok {
		delim = d
	}
	if utf8.RuneCountInString(delim) != 1 {
		return c.usage(errors.New("the delimiter must be one character"))
	}
	return c.inputs(func(_ string, data []byte) {
		for _, line := range lines(data) {
			sep := delim
			switch {
			case !c.has('f'):
				sep = ""
			case !strings.Contains(line, delim):
				if !c.has('s') {
					fmt.Fprintln(c.out, line)
				}
				continue
			}
			var kept []string
			for i, field := range strings.Split(line, sep) {
				if picked(spans, i+1) {
					kept = append(kept, field)
				}
			}
			if _, err := fmt.Fprintln(c.out, strings.Join(kept, sep)); err != nil {
				return
			}
		}
	})
}

// trSet returns the characters of a set of tr: ranges, escapes and classes.
func trSet(text string) ([]rune, error) {
	var set []rune
	rs := []rune(text)
	for i := 0; i < len(rs); i++ {
		r := rs[i]
		if r == '[' && i+1 < len(rs) && rs[i+1] == ':' {
			name, _, ok := strings.Cut(string(rs[i+2:]), ":]")
			class := class(name)
			if !ok || class == "" {
				return nil, fmt.Errorf("unknown class in %q", text)
			}
			set = append(set, []rune(class)...)
			i += len([]rune(name)) + 3
			continue
		}
		if r == '\\' && i+1 < len(rs) {
			i++
			r = rs[i]
			if at := strings.IndexRune("nrt\\abfv", r); at >= 0 {
				r = rune("\n\r\t\\\a\b\f\v"[at])
			} else if r >= '0' && r <= '7' {
				n := 0
				for k := 0; k < 3 && i < len(rs) && rs[i] >= '0' && rs[i] <= '7'; k++ {
					n = n*8 + int(rs[i]-'0')
					i++
				}
				i--
				r = rune(n)
			}
		}
		if i+2 < len(rs) && rs[i+1] == '-' {
			last := rs[i+2]
			if last < r || last-r > 0x1000 {
				return nil, fmt.Errorf("the range %c-%c is in the wrong order, or too large", r, last)
			}
			for ; r <= last; r++ {
				set = append(set, r)
			}
			i += 2
			continue
		}
		set = append(set, r)
	}
	return set, nil
}

// class returns the characters of a class of POSIX, in ASCII.
func class(name string) string {
	upper, lower, digits := "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789"
	punct := "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	switch name {
	case "alpha":
		return upper + lower
	case "upper":
		return upper
	case "lower":
		return lower
	case "digit":
		return digits
	case "alnum":
		return upper + lower + digits
	case "space":
		return " \t\n\v\f\r"
	case "blank":
		return " \t"
	case "punct":
		return punct
	case "xdigit":
		return digits + "ABCDEFabcdef"
	}
	return ""
}

func tr(c *command) int {
	deletes, squeezes := c.has('d'), c.has('s')
	if len(c.args) == 0 || len(c.args) > 2 || len(c.args) == 1 && !deletes && !squeezes {
		return c.usage(errors.New("usage: tr [-cds] SET1 [SET2]"))
	}
	from, err := trSet(c.args[0])
	var to []rune
	if err == nil && len(c.args) == 2 {
		to, err = trSet(c.args[1])
	}
	if err != nil {
		return c.usage(err)
	}
	complement := c.has('c') || c.has('C')
	index := map[rune]int{}
	for i, r := range from {
		if _, ok := index[r]; !ok {
			index[r] = i
		}
	}
	find := func(r rune) (int, bool) {
		i, ok := index[r]
		if complement {
			return len(to) - 1, !ok
		}
		return i, ok
	}
	squeezed := from // of "tr -s SET"; else the second set
	if len(c.args) == 2 {
		squeezed, complement = to, complement && !squeezes
	}
	c.args = nil
	return c.inputs(func(_ string, data []byte) {
		c.out.Write(translate(data, find, deletes, squeezes, to, squeezed))
	})
}

func translate(data []byte, find func(rune) (int, bool), deletes, squeezes bool, to, squeezed []rune) []byte {
	out := make([]byte, 0, len(data))
	last := rune(-1)
	for _, r := range string(data) {
		i, ok := find(r)
		switch {
		case ok && deletes:
			continue
		case ok && len(to) > 0:
			r = to[max(0, min(i, len(to)-1))]
		}
		if squeezes && r == last && (slices.Contains(squeezed, r) || len(to) == 0 && ok) {
			continue
		}
		last = r
		out = utf8.AppendRune(out, r)
	}
	return out
}

package virtual

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// oldStyle turns -5 and +5 into options of head and tail.
func (c *command) oldStyle() {
	for i, a := range c.args {
		if a == "-n" || a == "-c" || a == "--" {
			return
		}
		if len(a) > 1 && a[0] == '-' && a[1] >= '0' && a[1] <= '9' {
			c.args[i] = "-n" + a[1:]
		}
	}
}

// count returns the number of an option of head and tail, and its sign.
func (c *command) count(letter byte) (n int, sign byte, err error) {
	v, ok := c.value(letter)
	if !ok {
		return 10, 0, nil
	}
	if v != "" && (v[0] == '+' || v[0] == '-') {
		sign, v = v[0], v[1:]
	}
	n, err = strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, 0, fmt.Errorf("this is not a number: %q", v)
	}
	return n, sign, nil
}

// ends is head and tail: cut gets the units of a file, which are lines or bytes.
func (c *command) ends(cut func(units []string, n int, sign byte) []string) int {
	c.oldStyle()
	if err := c.parse("n:c:qv"); err != nil {
		return c.usage(err)
	}
	letter := byte('n')
	if c.has('c') {
		letter = 'c'
	}
	n, sign, err := c.count(letter)
	if err != nil {
		return c.usage(err)
	}
	titles := len(c.args) > 1 && !c.has('q') || c.has('v')
	first := true
	return c.inputs(func(name string, data []byte) {
		if titles {
			if !first {
				fmt.Fprintln(c.out)
			}
			fmt.Fprintf(c.out, "==> %s <==\n", name)
		}
		first = false
		if letter == 'c' {
			all := string(data)
			for _, part := range cut([]string{all}, n, sign) {
				io.WriteString(c.out, part)
			}
			return
		}
		units := strings.SplitAfter(string(data), "\n")
		if units[len(units)-1] == "" {
			units = units[:len(units)-1]
		}
		for _, line := range cut(units, n, sign) {
			io.WriteString(c.out, line)
		}
	})
}

func head(c *command) int {
	return c.ends(func(units []string, n int, sign byte) []string {
		if c.has('c') {
			all := units[0]
			if sign == '-' {
				n = max(len(all)-n, 0)
			}
			return []string{all[:min(n, len(all))]}
		}
		if sign == '-' {
			n = max(len(units)-n, 0)
		}
		return units[:min(n, len(units))]
	})
}

func tail(c *command) int {
	return c.ends(func(units []string, n int, sign byte) []string {
		if c.has('c') {
			all := units[0]
			if sign == '+' {
				return []string{all[min(max(n-1, 0), len(all)):]}
			}
			return []string{all[max(len(all)-n, 0):]}
		}
		if sign == '+' {
			return units[min(max(n-1, 0), len(units)):]
		}
		return units[max(len(units)-n, 0):]
	})
}

// A sortKey is a field range of "sort -k".
type sortKey struct {
	from, to         int
	numeric, reverse bool
}

func parseSortKey(text string) (sortKey, error) {
	k := sortKey{}
	from, to, ranged := strings.Cut(text, ",")
	number := func(s string) (int, error) {
		digits := strings.TrimRight(s, "nrb")
		for _, r := range s[len(digits):] {
			k.numeric = k.numeric || r == 'n'
			k.reverse = k.reverse || r == 'r'
		}
		n, err := strconv.Atoi(strings.TrimSuffix(digits, ".1"))
		if err != nil || n < 1 {
			return 0, fmt.Errorf("unknown key %q; keys are such as 2, 2,3 and 2,2n", text)
		}
		return n, nil
	}
	var err error
	if k.from, err = number(from); err == nil && ranged {
		k.to, err = number(to)
	}
	return k, err
}

// text returns the part of a line that a key names.
func (k sortKey) text(line, sep string) string {
	var fields []string
	if sep != "" {
		fields = strings.Split(line, sep)
	} else {
		fields = strings.Fields(line)
	}
	to := len(fields)
	if k.to > 0 {
		to = min(k.to, to)
	}
	if k.from > to {
		return ""
	}
	return strings.Join(fields[k.from-1:to], or(sep, " "))
}

// number returns the number that a text begins with.
func number(text string) float64 {
	text = strings.TrimLeft(text, " \t")
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.' || end == 0 && text[end] == '-') {
		end++
	}
	f, _ := strconv.ParseFloat(text[:end], 64)
	return f
}

// A sorter orders lines as the options of sort say.
type sorter struct {
	*command
	keys []sortKey
	sep  string
}

func (s *sorter) compare(a, b string, numeric bool) int {
	if numeric || s.has('n') {
		return cmp.Compare(number(a), number(b))
	}
	if s.has('b') {
		a, b = strings.TrimLeft(a, " \t"), strings.TrimLeft(b, " \t")
	}
	if s.has('f') {
		a, b = strings.ToUpper(a), strings.ToUpper(b)
	}
	return strings.Compare(a, b)
}

// order compares two lines by their keys.
func (s *sorter) order(a, b string) int {
	keys := s.keys
	if len(keys) == 0 {
		d := s.compare(a, b, false)
		if s.has('r') {
			d = -d
		}
		return d
	}
	for _, k := range keys {
		d := s.compare(k.text(a, s.sep), k.text(b, s.sep), k.numeric)
		if k.reverse != s.has('r') {
			d = -d
		}
		if d != 0 {
			return d
		}
	}
	return 0
}

// total compares two lines; what the keys leave open is ordered by the whole line.
func (s *sorter) total(a, b string) int {
	d := s.order(a, b)
	if d != 0 || s.has('s') || s.has('u') {
		return d
	}
	if d = strings.Compare(a, b); s.has('r') {
		d = -d
	}
	return d
}

func sortLines(c *command) int {
	if err := c.parse("nrufbsco:k:t:"); err != nil {
		return c.usage(err)
	}
	s := &sorter{command: c}
	s.sep, _ = c.value('t')
	for _, f := range c.flags {
		if f.letter == 'k' {
			k, err := parseSortKey(f.value)
			if err != nil {
				return c.usage(err)
			}
			s.keys = append(s.keys, k)
		}
	}
	var all []string
	status := c.inputs(func(_ string, data []byte) { all = append(all, lines(data)...) })
	size := 0
	for _, l := range all {
		size += len(l) + 16
	}
	if c.run.m.charge(size*8) != nil {
		return 2
	}
	if c.has('c') {
		if slices.IsSortedFunc(all, s.total) {
			return status
		}
		return c.errorf("the input is not sorted")
	}
	slices.SortStableFunc(all, s.total)
	if c.has('u') {
		all = slices.CompactFunc(all, func(a, b string) bool { return s.order(a, b) == 0 })
	}
	text := []byte(strings.Join(append(all, ""), "\n"))
	if name, ok := c.value('o'); ok {
		if err := c.run.t.put(c.abs(name), text, 0o644); err != nil {
			return c.failed(name, err)
		}
		return status
	}
	c.out.Write(text)
	return status
}

func uniq(c *command) int {
	if err := c.parse("cdui"); err != nil {
		return c.usage(err)
	}
	if len(c.args) > 1 {
		return c.usage(errors.New("only one file can be given"))
	}
	return c.inputs(func(_ string, data []byte) {
		all := lines(data)
		for i := 0; i < len(all); {
			j := i + 1
			for j < len(all) && (all[j] == all[i] || c.has('i') && strings.EqualFold(all[j], all[i])) {
				j++
			}
			if n := j - i; !(c.has('d') && n == 1) && !(c.has('u') && n > 1) {
				if c.has('c') {
					fmt.Fprintf(c.out, "%7d ", n)
				}
				fmt.Fprintln(c.out, all[i])
			}
			i = j
		}
	})
}

func wc(c *command) int {
	if err := c.parse("lwcm"); err != nil {
		return c.usage(err)
	}
	letters := ""
	for _, l := range "lwmc" {
		if c.has(byte(l)) {
			letters += string(l)
		}
	}
	letters = or(letters, "lwc")
	var total [4]int
	show := func(counts [4]int, name string) {
		var cols []string
		for _, l := range letters {
			cols = append(cols, strconv.Itoa(counts[strings.IndexRune("lwmc", l)]))
		}
		if name != "-" {
			cols = append(cols, name)
		}
		fmt.Fprintln(c.out, strings.Join(cols, " "))
	}
	files := 0
	status := c.inputs(func(name string, data []byte) {
		files++
		counts := [4]int{strings.Count(string(data), "\n"), len(strings.Fields(string(data))), utf8.RuneCount(data), len(data)}
		for i := range counts {
			total[i] += counts[i]
		}
		show(counts, name)
	})
	if len(c.args) > 1 && files > 0 {
		show(total, "total")
	}
	return status
}

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
	if err := c.parse("d:f:c:b:s"); err != nil {
		return c.usage(err)
	}
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
	if err := c.parse("dsccC"); err != nil {
		return c.usage(err)
	}
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

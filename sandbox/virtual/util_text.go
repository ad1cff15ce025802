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

// ends is head and tail: part returns which of all units of a file, lines or bytes, are printed.
func (c *command) ends(part func(all, n int, sign byte) (from, to int)) int {
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
			from, to := part(len(data), n, sign)
			c.out.Write(data[from:to])
			return
		}
		all := parts(data, "\n")
		from, to := part(len(all), n, sign)
		for _, line := range all[from:to] {
			io.WriteString(c.out, line)
		}
	})
}

// parts splits a text after each delimiter.
func parts(data []byte, delim string) []string {
	all := strings.SplitAfter(string(data), delim)
	if last := len(all) - 1; all[last] == "" {
		all = all[:last]
	}
	return all
}

func head(c *command) int {
	return c.ends(func(all, n int, sign byte) (from, to int) {
		if sign == '-' {
			n = max(all-n, 0)
		}
		return 0, min(n, all)
	})
}

func tail(c *command) int {
	return c.ends(func(all, n int, sign byte) (from, to int) {
		if sign == '+' {
			return min(max(n-1, 0), all), all
		}
		return max(all-n, 0), all
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
	return strings.Join(fields[k.from-1:to], cmp.Or(sep, " "))
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
	if c.run.m.charge(sizeOf(all)*8) != nil {
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
	letters := ""
	for _, l := range "lwmc" {
		if c.has(byte(l)) {
			letters += string(l)
		}
	}
	letters = cmp.Or(letters, "lwc")
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

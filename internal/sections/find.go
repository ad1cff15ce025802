package sections

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/memo"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Cache keeps files by their content, and cuts each once for all who ask at a time. It may be used
// from several goroutines.
type Cache struct{ files *memo.Cache[string, File] }

// maxCached bounds what a cache keeps, in bytes: the files of some hundred long skills.
const maxCached = 32 << 20

// NewCache returns a cache.
func NewCache() Cache { return Cache{memo.New[string, File](maxCached)} }

// File returns the sections of a text. digest is what the text is known by.
func (c *Cache) File(ctx context.Context, path, digest, text string) (*File, error) {
	return c.files.Get(ctx, fmt.Sprint(digest, formatOf(path)), func() (*File, error) { return New(ctx, path, text) })
}

// Excerpt returns the lines of a section around those with most words of a question, and the
// number of the first of them. It has at most about length bytes.
func Excerpt(s *Section, question string, length int) (text string, first int) {
	wanted := make(map[string]bool)
	for _, t := range words.Terms(question) {
		wanted[t] = true
	}
	lines := slices.Collect(strings.Lines(s.Text))
	best, most := 0, 0
	for i, line := range lines {
		found := make(map[string]bool)
		for _, t := range words.Terms(line) {
			if wanted[t] {
				found[t] = true
			}
		}
		if len(found) > most {
			best, most = i, len(found)
		}
	}
	if len(lines) == 0 {
		return "", s.First
	}
	from, to, size := best, best+1, len(lines[best])
	for from > 0 || to < len(lines) {
		switch before := from > 0 && (best-from <= to-best || to == len(lines)); {
		case before && size+len(lines[from-1]) <= length:
			from--
			size += len(lines[from])
		case to < len(lines) && size+len(lines[to]) <= length:
			size += len(lines[to])
			to++
		default:
			return tidy.Cut(strings.Join(lines[from:to], ""), length), s.First + from
		}
	}
	return tidy.Cut(strings.Join(lines[from:to], ""), length), s.First + from
}

// Bounds of what Grep shows of a section.
const (
	maxMatches = 10  // lines
	maxLine    = 300 // bytes
)

// Grep returns the lines of a section that match, each after its number, and how many match.
func Grep(s *Section, pattern *regexp.Regexp) (text string, matches int) {
	var b strings.Builder
	n := s.First
	for line := range strings.Lines(s.Text) {
		line = strings.TrimRight(line, "\r\n")
		if pattern.MatchString(line) {
			if matches++; matches <= maxMatches {
				fmt.Fprintf(&b, "%d: %s\n", n, tidy.Cut(line, maxLine))
			}
		}
		n++
	}
	if matches > maxMatches {
		fmt.Fprintf(&b, "%d more lines match\n", matches-maxMatches)
	}
	return b.String(), matches
}

// Separator stands between the headings of a trail.
const Separator = " > "

// Named returns the headings that a person means by a title, or by a trail of titles of which
// some may be left out: the ones with exactly this trail if there are any.
func Named(heads []Head, trail string) (list []Head) {
	var wanted []string
	for title := range strings.SplitSeq(trail, strings.TrimSpace(Separator)) {
		wanted = append(wanted, titleKey(title))
	}
	for _, h := range heads {
		keys := make([]string, len(h.Trail))
		for i, title := range h.Trail {
			keys[i] = titleKey(title)
		}
		at := 0
		for _, key := range keys {
			if at < len(wanted) && key == wanted[at] {
				at++
			}
		}
		if at == len(wanted) && keys[len(keys)-1] == wanted[at-1] {
			list = append(list, h)
		}
	}
	if exact := slices.IndexFunc(list, func(h Head) bool { return len(h.Trail) == len(wanted) }); exact >= 0 && len(wanted) > 1 {
		return list[exact : exact+1]
	}
	return list
}

// titleKey returns what titles have in common that are written a little differently.
func titleKey(title string) string {
	return words.NameKey(strings.Trim(strings.TrimSpace(title), "#*`_: "))
}

// Outline lists the headings with their sizes, those of the inner levels only as far as there is
// room for rows of them. rest is how many it leaves out.
func Outline(heads []Head, rows int) (list []Head, rest int) {
	deepest := 0
	for _, h := range heads {
		deepest = max(deepest, len(h.Trail))
	}
	for depth := 1; depth <= deepest; depth++ {
		var all []Head
		for _, h := range heads {
			if len(h.Trail) <= depth {
				all = append(all, h)
			}
		}
		if len(all) > rows && list != nil {
			break
		}
		list = all
	}
	list = list[:min(len(list), rows)]
	return list, len(heads) - len(list)
}

// Opening returns the first sections of a text that together have at most so many tokens, or
// the first alone, and the number of their last line.
func Opening(path, text string, tokens int) (opening string, last int) {
	size := 0
	for _, s := range Split(path, text) {
		if size += s.Tokens; size > tokens && last > 0 {
			break
		}
		opening, last = opening+s.Text, s.Last
	}
	return opening, cmp.Or(last, 1)
}

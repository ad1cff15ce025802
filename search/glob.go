package search

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A glob is a pattern for the key of a whole name, whatever characters the name has:
// * stands for any characters, ? for one, [a-z] for one of some, [^a-z] for one of all
// others, and \ takes the next character literally.
type glob []globPart

// A globPart is a run of literal characters, a star, or a choice of one character.
type globPart struct {
	literal string
	star    bool
	ranges  [][2]rune // of a choice
	except  bool      // the choice is of all characters outside of ranges
}

// parseGlob reads a pattern, ignoring case like words.NameKey. Only characters that are
// special as they stand are special: a full-width star is a star in a name.
func parseGlob(pattern string) (g glob, err error) {
	malformed := fmt.Errorf("%q is not a pattern (* ? [a-z] and \\ are special)", pattern)
	rest, literal := strings.TrimSpace(pattern), ""
	end := func(next ...globPart) {
		if literal != "" {
			g = append(g, globPart{literal: nameKeyOf(literal)})
		}
		g, literal = append(g, next...), ""
	}
	for rest != "" {
		c, size := utf8.DecodeRuneInString(rest)
		char := rest[:size] // not string(c): a name may have bytes that are no character
		rest = rest[size:]
		switch c {
		case '*':
			end(globPart{star: true})
		case '?':
			end(globPart{except: true})
		case '[':
			choice, after, ok := parseChoice(rest)
			if !ok {
				return nil, malformed
			}
			end(choice)
			rest = after
		case '\\':
			if rest == "" {
				return nil, malformed
			}
			_, size := utf8.DecodeRuneInString(rest)
			literal, rest = literal+rest[:size], rest[size:]
		default:
			literal += char
		}
	}
	end()
	return g, nil
}

// parseChoice reads what follows a [, up to and including the ].
func parseChoice(s string) (p globPart, rest string, ok bool) {
	s, p.except = strings.CutPrefix(s, "^")
	for {
		if len(p.ranges) > 0 && strings.HasPrefix(s, "]") {
			return p, s[1:], true
		}
		var low, high rune
		if low, s, ok = choiceChar(s); !ok {
			return p, "", false
		}
		high = low
		if after, found := strings.CutPrefix(s, "-"); found {
			if high, s, ok = choiceChar(after); !ok || high < low {
				return p, "", false
			}
		}
		p.ranges = append(p.ranges, [2]rune{low, high})
	}
}

// choiceChar reads one character of a choice.
func choiceChar(s string) (c rune, rest string, ok bool) {
	escaped := false
	if s, escaped = strings.CutPrefix(s, `\`); s == "" || !escaped && (s[0] == ']' || s[0] == '-') {
		return 0, "", false
	}
	c, size := utf8.DecodeRuneInString(s)
	if key := nameKeyOf(s[:size]); utf8.RuneCountInString(key) == 1 {
		c, _ = utf8.DecodeRuneInString(key)
	}
	return c, s[size:], true
}

// nameKeyOf is words.NameKey for a part of a name, whose blanks count.
func nameKeyOf(part string) string { return strings.ToLower(norm.NFKC.String(part)) }

// prefix returns what all matching keys begin with.
func (g glob) prefix() string {
	if len(g) == 0 {
		return ""
	}
	return g[0].literal
}

// match reports whether a key matches as a whole. It goes back to the last star only: an
// earlier one could not make a difference.
func (g glob) match(key string) bool {
	at, rest := 0, key
	star, tried := -1, "" // the part after the last star, and where its match was tried
	for at < len(g) || rest != "" {
		if at < len(g) && g[at].star {
			at++
			star, tried = at, rest
			continue
		}
		if at < len(g) {
			if after, ok := g[at].cut(rest); ok {
				at, rest = at+1, after
				continue
			}
		}
		if star < 0 || tried == "" {
			return false
		}
		_, size := utf8.DecodeRuneInString(tried)
		tried = tried[size:]
		at, rest = star, tried
	}
	return true
}

// cut removes what the part matches from the start of s.
func (p *globPart) cut(s string) (rest string, ok bool) {
	if p.literal != "" {
		return strings.CutPrefix(s, p.literal)
	}
	if s == "" {
		return "", false
	}
	c, size := utf8.DecodeRuneInString(s)
	found := false
	for _, r := range p.ranges {
		found = found || r[0] <= c && c <= r[1]
	}
	return s[size:], found != p.except
}

package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/snapshot"
)

// A glob is a pattern for a whole name, whatever characters the name has: * stands for any
// characters, ? for one, [a-z] for one of some, [^a-z] for one of all others, and \ takes the
// next character literally. It matches a name whose key it matches. One that chooses characters
// matches a name as it is spelt, too: stra?e is a pattern for Straße, whose key is strasse.
type glob struct {
	globParts
	spelt globParts // for names as they are spelt, in lower case; nil if that makes no difference
}

type globParts []globPart

// A globPart is a run of literal characters, a star, or a choice of one character.
type globPart struct {
	literal string
	star    bool
	ranges  [][2]rune // of a choice
	except  bool      // the choice is of all characters outside of ranges
}

// parseGlob reads a pattern, ignoring case and spelling like words.NameKey. Only characters
// that are special as they stand are special: a full-width star is a star in a name.
func parseGlob(pattern string) (g glob, err error) {
	if g.globParts, err = parseGlobParts(pattern, words.PartKey); err == nil && slices.ContainsFunc(g.globParts, globPart.chooses) {
		g.spelt, err = parseGlobParts(pattern, inCase)
	}
	return g, err
}

// inCase returns a part of a name in lower case, as it is spelt.
func inCase(part string) string { return strings.ToLower(norm.NFKC.String(part)) }

// parseGlobParts reads a pattern. key makes letters alike.
func parseGlobParts(pattern string, key func(string) string) (g globParts, err error) {
	malformed := fmt.Errorf("%q is not a pattern (* ? [a-z] and \\ are special)", pattern)
	rest, literal := strings.TrimSpace(pattern), ""
	end := func(next ...globPart) {
		if literal != "" {
			g = append(g, globPart{literal: key(literal)})
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
			choice, after, ok := parseChoice(rest, key)
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
func parseChoice(s string, key func(string) string) (p globPart, rest string, ok bool) {
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
		if c, ok := only(key(string(low))); ok && low == high {
			low, high = c, c // a range keeps its ends: [а-ё] has more letters than [а-е]
		}
		p.ranges = append(p.ranges, [2]rune{low, high})
	}
}

// choiceChar reads one character of a choice, in lower case.
func choiceChar(s string) (c rune, rest string, ok bool) {
	escaped := false
	if s, escaped = strings.CutPrefix(s, `\`); s == "" || !escaped && (s[0] == ']' || s[0] == '-') {
		return 0, "", false
	}
	c, size := utf8.DecodeRuneInString(s)
	if k, ok := only(inCase(s[:size])); ok {
		c = k
	}
	return c, s[size:], true
}

// only returns the only character of a text.
func only(s string) (c rune, ok bool) {
	c, size := utf8.DecodeRuneInString(s)
	return c, s != "" && size == len(s)
}

// prefix returns what all matching keys begin with.
func (g globParts) prefix() string {
	if len(g) == 0 {
		return ""
	}
	return g[0].literal
}

// matchName reports whether the pattern matches a name.
func (g glob) matchName(name string) bool {
	return g.match(words.NameKey(name)) || g.spelt != nil && g.spelt.match(inCase(strings.TrimSpace(name)))
}

// skills returns the skills whose names match, whatever the scope.
func (g glob) skills(v *snapshot.View) snapshot.Skills {
	found := v.Names().Matching(g.prefix(), g.match)
	if g.spelt != nil {
		found = found.Or(filter(v, v.Names().Matching("", words.MaySpell), func(d *snapshot.Document) bool { return g.matchName(d.Name) }))
	}
	return found
}

// match reports whether a key matches as a whole. It goes back to the last star only: an
// earlier one could not make a difference.
func (g globParts) match(key string) bool {
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

// chooses reports whether the part is a choice of one character.
func (p globPart) chooses() bool { return p.literal == "" && !p.star }

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

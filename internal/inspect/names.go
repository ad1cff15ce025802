package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/internal/words"
	"github.com/repertoire-skills/repertoire/skill"
)

// A Named is a skill whose name is compared with others.
type Named struct {
	Name   string
	Source string // label of the source
	Path   string // of the SKILL.md, as findings have it
	About  string // the description
}

// Names compares the names of the skills of a catalog, which come in the order of
// precedence. Of two names that look alike, it reports the one with the foreign letter; of
// two that may be a misspelling of each other, the later one. Within one source, names are
// the owner's choice: there it reports foreign letters only.
func Names(list []Named) []skill.Problem {
	c := comparison{list: list, looks: make(map[string][]int), near: make(map[uint64][]int), imitate: make(map[string]bool)}
	var found []skill.Problem
	for i, n := range list {
		key := words.NameKey(n.Name)
		p, ok := c.lookalike(n, key)
		if !ok {
			p, ok = mixed(n, key)
		}
		if !ok {
			p, ok = c.misspelled(n, key)
		}
		if ok {
			found = append(found, p)
		}
		c.add(i, key)
	}
	// A name that looks like another one may have been reported before as mixed.
	return slices.DeleteFunc(found, func(p skill.Problem) bool { return p.Rule == "mixed-scripts" && c.imitate[p.Path] })
}

// A comparison holds the names before the one that is compared.
type comparison struct {
	list  []Named
	looks map[string][]int // skeleton → names with it
	near  map[uint64][]int // hash of a name, or of it without one character → names

	imitate map[string]bool // paths of the names that look like another one
}

func (c *comparison) add(i int, key string) {
	skeleton := skeletonOf(key)
	c.looks[skeleton] = append(c.looks[skeleton], i)
	for _, form := range shortened(key) {
		c.near[form] = append(c.near[form], i)
	}
}

// lookalike compares a name with those that look the same.
func (c *comparison) lookalike(n Named, key string) (skill.Problem, bool) {
	for _, i := range c.looks[skeletonOf(key)] {
		one, other := n, c.list[i]
		otherKey := words.NameKey(other.Name)
		letter := foreign(key)
		if letter == "" {
			one, other, letter = other, one, foreign(otherKey)
		}
		switch {
		case otherKey == key:
		case letter != "":
			c.imitate[one.Path] = true
			return skill.Problem{Rule: "lookalike-name", Severity: skill.Error, Path: one.Path,
				Message: fmt.Sprintf("the name %s looks like %s of %s (%s), but has %s", tidy.Visible(one.Name), tidy.Visible(other.Name), other.Source, other.Path, letter),
				Hint:    "do not use it before you know why; rename or remove it"}, true
		case n.Source != c.list[i].Source:
			return similar(n, c.list[i], "looks like"), true
		}
	}
	return skill.Problem{}, false
}

// mixed reports a word of a name in two scripts whose letters look alike.
func mixed(n Named, key string) (skill.Problem, bool) {
	scripts := scriptsOf(key)
	return skill.Problem{Rule: "mixed-scripts", Severity: skill.Warning, Path: n.Path,
		Message: fmt.Sprintf("the name %s mixes letters of %s in one word", tidy.Visible(n.Name), strings.Join(scripts, " and ")),
		Hint:    "write the name in one script"}, scripts != nil
}

// Bounds on names that may be misspellings of each other.
const (
	minName  = 5   // characters
	maxBytes = 128 // of longer names, only the start is compared
)

// misspelled compares a name with names of other sources that differ by one edit.
func (c *comparison) misspelled(n Named, key string) (skill.Problem, bool) {
	if utf8.RuneCountInString(key) < minName {
		return skill.Problem{}, false
	}
	for _, form := range shortened(key) {
		for _, i := range c.near[form] {
			other := c.list[i]
			otherKey := words.NameKey(other.Name)
			if other.Source == n.Source || !oneEdit(key, otherKey) {
				continue
			}
			for _, pair := range [][2]Named{{n, other}, {other, n}} {
				if means(pair[0], pair[1]) {
					return similar(pair[0], pair[1], "differs by one letter from"), true
				}
			}
		}
	}
	return skill.Problem{}, false
}

// means reports whether one name seems to be a misspelling of another: its own description
// has the word of the other name, not its own. Most names that differ by one letter are
// different words, such as learn and earn, and the descriptions have them. A word with
// another letter at its end is another word too, such as image and imagen, unless the
// letter is doubled.
func means(one, other Named) bool {
	mine, its := different(words.NameKey(one.Name), words.NameKey(other.Name))
	if end, longer := strings.CutPrefix(mine, its); longer && !strings.HasSuffix(its, end) {
		return false
	}
	about := strings.ToLower(one.About)
	return !strings.Contains(about, mine) && strings.Contains(about, its)
}

// different returns the word in which two names differ, of each of them.
func different(a, b string) (one, other string) {
	x, y := strings.Split(a, "-"), strings.Split(b, "-")
	if len(x) != len(y) {
		return a, b
	}
	for i := range x {
		if x[i] != y[i] {
			return x[i], y[i]
		}
	}
	return a, b
}

// similar returns the finding for a name that may be a misspelling of another one.
func similar(n, other Named, how string) skill.Problem {
	return skill.Problem{Rule: "similar-name", Severity: skill.Warning, Path: n.Path,
		Message: fmt.Sprintf("the name %s %s %s of %s (%s)", tidy.Visible(n.Name), how, tidy.Visible(other.Name), other.Source, other.Path),
		Hint:    "make sure that you mean this one; rename or remove the other"}
}

// shortened returns the hashes of a name, and of it without each of its characters:
// names that differ by one edit share one of these.
func shortened(name string) []uint64 {
	name = tidy.Cut(name, maxBytes)
	forms := []uint64{words.Hash(name)}
	for i, r := range name {
		forms = append(forms, words.Hash(name[:i]+name[i+utf8.RuneLen(r):]))
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// oneEdit reports whether two names differ by one letter that was left out, added,
// replaced, or swapped with its neighbour, as in a misspelling. A digit tells versions
// apart, an s at the end of a word the plural, and a hyphen words: these are honest.
func oneEdit(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	x, y := []rune(a), []rune(b)
	before := rune(0)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		before, x, y = x[0], x[1:], y[1:]
	}
	plural := len(x) > 0 && x[0] == 's' && before != 's' && (len(x) == 1 || x[1] == '-')
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	switch {
	case len(x) == 1 && len(y) == 0:
		return unicode.IsLetter(x[0]) && !plural
	case len(x) == 1 && len(y) == 1:
		return unicode.IsLetter(x[0]) && unicode.IsLetter(y[0])
	case len(x) == 2 && len(y) == 2:
		return x[0] == y[1] && x[1] == y[0] && unicode.IsLetter(x[0]) && unicode.IsLetter(x[1])
	}
	return false
}

// foreign names the first character of a name that is drawn like an ASCII letter; "" if
// there is none.
func foreign(key string) string {
	for _, r := range key {
		if r >= utf8.RuneSelf && drawn()[r] != 0 {
			return fmt.Sprintf("the %s %q (%U)", cmp.Or(scriptOf(r), "character"), r, r)
		}
	}
	return ""
}

// scriptsOf returns the scripts of the first word of a name that mixes those whose
// letters are mistaken for each other.
func scriptsOf(name string) []string {
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		var scripts []string
		for _, r := range word {
			if s := scriptOf(r); s != "" && !slices.Contains(scripts, s) {
				scripts = append(scripts, s)
			}
		}
		if len(scripts) > 1 {
			return scripts
		}
	}
	return nil
}

// scriptOf returns the script of a letter, if its letters look like those of others.
func scriptOf(r rune) string {
	for _, name := range []string{"Latin", "Cyrillic", "Greek", "Armenian", "Cherokee"} {
		if unicode.Is(unicode.Scripts[name], r) {
			return name
		}
	}
	return ""
}

// skeletonOf returns how a name looks: names that look the same have the same skeleton.
func skeletonOf(key string) string {
	var out strings.Builder
	for _, r := range norm.NFKD.String(key) {
		if unicode.Is(unicode.Mn, r) {
			continue // accents are small
		}
		out.WriteRune(cmp.Or(drawn()[r], r))
	}
	return pairs().Replace(out.String())
}

// drawn holds characters that are drawn like an ASCII letter or sign. The table was made
// by looking at the small letters of the Cyrillic, Greek and Armenian alphabets, at Latin
// letters of other shapes, at dashes and at digits, in common fonts. It holds only those
// that hardly anybody can tell apart at a glance.
var drawn = sync.OnceValue(func() map[rune]rune {
	m := make(map[rune]rune)
	for pair := range strings.FieldsSeq(`
		аa сc ԁd еe һh іi јj кk ӏl оo рp ԛq ѕs тt уy ѵv ԝw хx ҽe ոn
		γy οo ρp νv ιi κk τt υu χx αa ϲc ϳj
		յj սu օo ցg հh ɑa ɡg ıi ɩi ʟl ɴn ʀr ʏy ꞵb ƅb ꜱs ƽs
		‐- ‑- –- —- −- ⁃- 0o 1l 3e 5s`) {
		r := []rune(pair)
		m[r[0]] = r[1]
	}
	return m
})

// pairs are drawn like one letter.
var pairs = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer("rn", "m", "vv", "w") })

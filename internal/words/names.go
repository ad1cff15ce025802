package words

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// spellings are letters that people write in two ways, in lower case: the first is taken for the
// second in names and in full text. Whoever changes them changes the terms and the keys of names
// that catalogs keep, see longForms.
var spellings = [...][2]string{{"ß", "ss"}, {"ё", "е"}, {"ς", "σ"}}

// Lower returns s in lower case and in one spelling: Straße is strasse.
func Lower(s string) string {
	s = strings.ToLower(s)
	if beyondASCII(s) < 0 {
		return s
	}
	for _, two := range spellings {
		s = strings.ReplaceAll(s, two[0], two[1])
	}
	return s
}

// NameKey returns the key of a name. Names with the same key are the same name: case, Unicode
// forms, the two spellings of a letter and surrounding blanks make no difference.
func NameKey(name string) string { return PartKey(strings.TrimSpace(name)) }

// PartKey is NameKey for a part of a name, whose blanks count.
func PartKey(part string) string {
	if beyondASCII(part) < 0 {
		return strings.ToLower(part)
	}
	for {
		key := norm.NFKC.String(Lower(norm.NFKC.String(part)))
		if key == part {
			return key // stable: no mark that was left makes another letter
		}
		part = key
	}
}

// SameName reports whether two names are the same name.
func SameName(a, b string) bool { return NameKey(a) == NameKey(b) }

// MaySpell reports whether the name with a key may have another spelling than the key.
func MaySpell(key string) bool {
	return slices.ContainsFunc(spellings[:], func(two [2]string) bool { return strings.Contains(key, two[1]) })
}

// Suggest returns the end of a message about an unknown name: "; did you mean a, b?" if
// there are similar known names, else a list of the known names; "" if there are none.
func Suggest(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	return "; " + cmp.Or(DidYouMean(Similar(name, known)), ThereAre(known))
}

// DidYouMean returns "did you mean a, b?"; "" if similar is empty.
func DidYouMean(similar []string) string {
	if len(similar) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(similar, ", ") + "?"
}

// ThereAre returns "there are: a, b" in the given order, "there are 30, such as …" for a
// long list. There must be known names.
func ThereAre(known []string) string {
	const most = 20
	if n := len(known); n > most {
		return fmt.Sprintf("there are %d, such as %s", n, strings.Join(known[:most/2], ", "))
	}
	return "there are: " + strings.Join(known, ", ")
}

// Similar returns up to three known names of which name may be a misspelling, nearest
// first: names that differ by at most a third of name's length in edits, and names that
// contain it. It ignores names of more than 256 bytes, because a comparison costs the
// product of the lengths.
func Similar(name string, known []string) []string {
	const (
		most    = 3
		longest = 256 // bytes
	)
	if len(name) > longest {
		return nil
	}
	distances := make(map[string]int)
	want := []rune(Lower(name))
	for _, candidate := range known {
		if len(candidate) > longest {
			continue
		}
		lower := Lower(candidate)
		runes, limit := []rune(lower), max(1, len(want)/3)
		longer := len(runes) - len(want)
		switch {
		case len(want) > 1 && strings.Contains(lower, string(want)):
			distances[candidate] = min(longer, 1)
		case max(longer, -longer) <= limit: // else the distance is more, too
			if far := distance(want, runes); far <= limit {
				distances[candidate] = far
			}
		}
	}
	found := slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
	return found[:min(most, len(found))]
}

// distance returns the number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		before, last, row = last, row, before
		row[0] = i + 1
		for j, y := range b {
			if x == y {
				row[j+1] = last[j]
				continue
			}
			row[j+1] = 1 + min(last[j+1], row[j], last[j])
			if i > 0 && j > 0 && x == b[j-1] && a[i-1] == y {
				row[j+1] = min(row[j+1], 1+before[j-1])
			}
		}
	}
	return row[len(b)]
}

package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// NameKey returns the key of a name. Two names with the same key are the same
// name: case, compatibility forms and blanks around a name do not count.
func NameKey(name string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(name)))
}

// Suggest returns what a message about an unknown name ends with: "; did you
// mean a, b?" when known has similar names, otherwise the names that there are,
// or "" when known is empty.
func Suggest(name string, known []string) string {
	text := DidYouMean(Similar(name, known))
	if text == "" {
		text = ThereAre(known)
	}
	if text == "" {
		return ""
	}
	return "; " + text
}

// DidYouMean returns "did you mean a, b?", or "" for no names.
func DidYouMean(similar []string) string {
	if len(similar) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(similar, ", ") + "?"
}

// ThereAre returns "there are: a, b" in the order of known, "there are 30, such
// as …" for a long list, or "" for no names.
func ThereAre(known []string) string {
	const most = 20
	switch n := len(known); {
	case n == 0:
		return ""
	case n > most:
		return fmt.Sprintf("there are %d, such as %s", n, strings.Join(known[:most/2], ", "))
	}
	return "there are: " + strings.Join(known, ", ")
}

// Similar returns up to three of the known names that name may be a misspelling
// of, nearest first: names within a third of its length in edits, and names that
// contain it. No name is similar to a very long one, because comparing costs
// the product of the lengths.
func Similar(name string, known []string) []string {
	const (
		most    = 3
		longest = 256 // bytes
	)
	if len(name) > longest {
		return nil
	}
	type near struct {
		name string
		far  int
	}
	var found []near
	want := []rune(strings.ToLower(name))
	for _, candidate := range known {
		if len(candidate) > longest {
			continue
		}
		lower := strings.ToLower(candidate)
		far := distance(want, []rune(lower))
		switch {
		case len(want) > 1 && strings.Contains(lower, string(want)):
			far = min(far, 1)
		case far > max(1, len(want)/3):
			continue
		}
		found = append(found, near{candidate, far})
	}
	slices.SortFunc(found, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found[:min(most, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// distance is the number of insertions, deletions and substitutions between a
// and b (Levenshtein), computed row by row.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := 1
			if x == y {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

package skill

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// ErrNotFound says that there is no such skill, or none in the scope of who
// asks.
var ErrNotFound = errors.New("no such skill")

// Similar returns up to n of names that name may be a misspelling of, nearest
// first: those within a third of its length in edits, and those that start
// with it or contain it. A very long name is like nothing: comparing costs the
// product of the lengths.
func Similar(name string, names []string, n int) []string {
	const most = 256 // bytes
	if len(name) > most {
		return nil
	}
	type near struct {
		name string
		far  int
	}
	var found []near
	want := []rune(strings.ToLower(name))
	for _, candidate := range names {
		if len(candidate) > most {
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
	for _, f := range found[:min(n, len(found))] {
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

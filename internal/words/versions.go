package words

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// CompareVersions compares the numbers in two versions in turn. A version without a number, such
// as "local", is newer than all others.
func CompareVersions(a, b string) int {
	numbers := func(version string) (list []int) {
		for _, part := range strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(part)
			list = append(list, n)
		}
		return list
	}
	one, other := numbers(a), numbers(b)
	if len(one) == 0 || len(other) == 0 {
		return cmp.Or(cmp.Compare(len(other), len(one)), strings.Compare(a, b))
	}
	return cmp.Or(slices.Compare(one, other), strings.Compare(a, b))
}

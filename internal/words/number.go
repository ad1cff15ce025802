package words

import "strconv"

// Number writes a number as people read it: 20101 is 20,101.
func Number(n int) string {
	s := strconv.Itoa(n)
	least := 0 // where a sign ends
	if n < 0 {
		least = 1
	}
	for i := len(s) - 3; i > least; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

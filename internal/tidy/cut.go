package tidy

import "unicode/utf8"

// Cut returns the first n bytes of s, or up to three fewer so as not to split a
// character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n] // not UTF-8
}

// cutStart returns the last n bytes of s, or up to three fewer so as not to split a
// character.
func cutStart(s string, n int) string {
	if len(s) <= n {
		return s
	}
	start := len(s) - n
	for i := start; i < start+utf8.UTFMax; i++ {
		if i == len(s) || utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s[start:] // not UTF-8
}

// CutMiddle shortens s to at most n bytes: its start, a blank and its end, which gets a
// quarter. A text that is short enough stays as it is. n must be at least 4.
func CutMiddle(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Cut(s, n-n/4) + " " + cutStart(s, n/4-1)
}

// First returns the first n characters of s.
func First(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Shorten returns the first n characters of s, followed by "…" if there are
// more.
func Shorten(s string, n int) string {
	if short := First(s, n); short != s {
		return short + "…"
	}
	return s
}

package words

import "unicode/utf8"

// Tokens returns an upper estimate of the number of tokens in s: one for each Chinese,
// Japanese or Korean character, and one for every 4.56 bytes of other text, as measured
// on English and code.
func Tokens(s string) int {
	var c TokenCount
	c.Add(s)
	return c.Tokens()
}

// A TokenCount estimates the tokens of a text that comes in parts. The sum of separate
// estimates would be too high, because each is rounded up.
type TokenCount struct {
	wide   int // Chinese, Japanese and Korean characters
	narrow int // bytes of all others
}

// Add adds a part of the text, which must not end inside a character.
func (c *TokenCount) Add(s string) {
	wide, wideBytes := 0, 0
	for i := 0; i < len(s); {
		if len(s)-i >= 8 && isASCII8(s[i:i+8]) {
			i += 8
			continue
		}
		if s[i] < 0xE1 { // everything below U+1000
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if isCJK(r) {
			wide++
			wideBytes += size
		}
		i += size
	}
	c.wide += wide
	c.narrow += len(s) - wideBytes
}

// Tokens returns the estimate.
func (c TokenCount) Tokens() int { return c.wide + (c.narrow*100+455)/456 }

// isASCII8 reports whether 8 bytes are ASCII; it compiles to a single load.
func isASCII8(s string) bool {
	_ = s[7]
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	return x&0x8080808080808080 == 0
}

func isCJK(r rune) bool {
	return r >= 0x1100 && r <= 0x11FF || r >= 0x2E80 && r <= 0x9FFF || r >= 0xA960 && r <= 0xA97F ||
		r >= 0xAC00 && r <= 0xD7FF || r >= 0xF900 && r <= 0xFAFF || r >= 0xFF00 && r <= 0xFFEF ||
		r >= 0x20000 && r <= 0x3FFFF
}

package mcpserver

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// A start is what the server has to know of a message before the protocol library reads it. Of
// anything but a single request it is zero.
type start struct {
	Method string
	Params struct {
		Name string                     // of the tool that is called
		Meta map[string]json.RawMessage `json:"_meta"`
	}
}

func startOf(body []byte) (s start) {
	if json.Unmarshal(body, &s) != nil {
		return start{}
	}
	return s
}

// cutStrings shortens each string of a JSON text to n bytes, as words.CutMiddle does. It reuses
// the text. What is valid JSON stays so.
func cutStrings(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	short := text[:0]
	for {
		start := bytes.IndexByte(text, '"')
		if start < 0 {
			return append(short, text...)
		}
		inside := text[start+1:]
		end := endOfString(inside)
		short = append(short, text[:start+1]...)
		short = appendCut(short, inside[:end], n)
		text = inside[end:]
		if len(text) > 0 { // the quotation mark that ends it
			short, text = append(short, text[0]), text[1:]
		}
	}
}

// endOfString returns where a JSON string ends whose first quotation mark is left out.
func endOfString(s []byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(s)
}

// appendCut appends the inside of a JSON string, shortened to n bytes.
func appendCut(short, s []byte, n int) []byte {
	if len(s) <= n {
		return append(short, s...)
	}
	all := 0
	for i := 0; i < len(s); {
		raw, size := character(s[i:])
		i, all = i+raw, all+size
	}
	if all <= n {
		return append(short, s...)
	}
	headEnd, tail := 0, 0
	for at := 0; all-at > n/4-1; {
		raw, size := character(s[tail:])
		if tail, at = tail+raw, at+size; at <= n-n/4 {
			headEnd = tail
		}
	}
	return append(append(append(short, s[:headEnd]...), ' '), s[tail:]...)
}

// character returns the length of the first character of the inside of a JSON string, and how
// many bytes it is read as.
func character(s []byte) (raw, size int) {
	if s[0] != '\\' {
		_, size = utf8.DecodeRune(s)
		return size, size
	}
	if len(s) < 6 || s[1] != 'u' {
		return min(2, len(s)), 1
	}
	r := hexRune(s[2:6])
	if utf16.IsSurrogate(r) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' && utf16.DecodeRune(r, hexRune(s[8:12])) != utf8.RuneError {
		return 12, 4
	}
	if size = utf8.RuneLen(r); size < 0 { // half of a pair is read as an unknown character
		size = utf8.RuneLen(utf8.RuneError)
	}
	return 6, size
}

// hexRune returns the number of four hexadecimal digits, or what no character has.
func hexRune(digits []byte) rune {
	var b [2]byte
	if _, err := hex.Decode(b[:], digits); err != nil {
		return utf8.RuneError
	}
	return rune(b[0])<<8 | rune(b[1])
}

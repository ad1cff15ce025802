package client

import (
	"bytes"
	"errors"
)

// maxDepth is how deeply the values of settings may be nested.
const maxDepth = 1000

// CheckDepth returns an error if the arrays and objects of a text in JSON, which may have
// comments, are nested too deeply. The parser of JSON with comments has no bound of its own,
// and no program survives when its stack overflows.
func CheckDepth(data []byte) error {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '[', '{':
			if depth++; depth > maxDepth {
				return errors.New("nested too deeply")
			}
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			i = commentEnd(data, i)
		}
	}
	return nil
}

// commentEnd returns the last place of the comment that begins at a slash.
func commentEnd(data []byte, at int) int {
	end := ""
	switch {
	case bytes.HasPrefix(data[at:], []byte("//")):
		end = "\n"
	case bytes.HasPrefix(data[at:], []byte("/*")):
		end = "*/"
	default:
		return at // the parser refuses it
	}
	n := bytes.Index(data[at+2:], []byte(end))
	if n < 0 {
		return len(data)
	}
	return at + 1 + n + len(end)
}

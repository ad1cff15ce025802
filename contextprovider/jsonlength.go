package contextprovider

// JSONLength returns how many UTF-16 code units a text has as a JSON string, without the
// quotation marks: what clients count that are written in JavaScript.
func JSONLength(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r > 0xffff:
			n += 2
		case r < ' ' || r == '\u2028' || r == '\u2029':
			n += 6
		default:
			n++
		}
	}
	return n
}

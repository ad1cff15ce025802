package trust

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const header = `# Skills of projects that you trust, each by the digest of all its files.
# "skills trust" adds lines, "skills trust --forget" removes some; you may, too.
`

// format returns the content of a file.
func format(list []Skill) string {
	var b strings.Builder
	b.WriteString(header)
	for _, s := range list {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", s.Digest, s.Date.UTC().Format(time.RFC3339), field(s.Name), field(s.Folder))
	}
	return b.String()
}

// parse reads the content of a file. Malformed lines are left out; the error is about the
// first.
func parse(file, content string) (list []Skill, first error) {
	n := 0
	for text := range strings.Lines(content) {
		n++
		text = strings.TrimRight(text, "\r\n")
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		s, err := parseLine(text)
		switch {
		case err == nil:
			list = append(list, s)
		case first == nil:
			first = fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	return list, first
}

func parseLine(text string) (s Skill, err error) {
	parts := strings.Split(text, "\t")
	if len(parts) != 4 {
		return s, fmt.Errorf("%d fields, separated by tabs; there must be 4: digest, date, name and folder", len(parts))
	}
	if s.Digest = parts[0]; !isDigest(s.Digest) {
		return s, fmt.Errorf("%q is no digest; one is sha256: and 64 of 0-9a-f", s.Digest)
	}
	if s.Date, err = time.Parse(time.RFC3339, parts[1]); err != nil {
		return s, fmt.Errorf("%q is no date like 2006-01-02T15:04:05Z", parts[1])
	}
	if s.Name, err = unquoted(parts[2]); err == nil {
		s.Folder, err = unquoted(parts[3])
	}
	return s, err
}

// isDigest reports whether s is a digest as skill.Meta has it.
func isDigest(s string) bool {
	sum, err := hex.DecodeString(strings.TrimPrefix(s, "sha256:"))
	return err == nil && s == "sha256:"+hex.EncodeToString(sum) && len(sum) == 32
}

// field returns a text as it stands in a line: in quotes if it could be misread.
func field(s string) string {
	odd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	if s == "" || s[0] == '"' || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}

func unquoted(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	text, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf("%s is not a text in quotes", s)
	}
	return text, nil
}

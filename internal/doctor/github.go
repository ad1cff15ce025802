package doctor

import (
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/regular"
	"github.com/repertoire-skills/repertoire/internal/tidy"
)

// GitHub writes each finding as a command of GitHub Actions, which shows it beside the
// line of the file. Paths below the folder base are relative to it.
func (r *Report) GitHub(w io.Writer, base string) error {
	var out strings.Builder
	for _, f := range r.Findings {
		out.WriteString([...]string{"::error ", "::warning ", "::notice "}[weight(f.Severity)])
		message := f.text()
		if filepath.IsAbs(f.Path) {
			path := f.Path
			if rel, ok := regular.Rel(base, path); ok {
				path = filepath.ToSlash(rel)
			}
			out.WriteString("file=" + escapeProperty.Replace(path) + ",")
			if f.Line > 0 {
				out.WriteString("line=" + strconv.Itoa(f.Line) + ",")
			}
		} else {
			message = tidy.Line(f.Path) + ": " + message
		}
		out.WriteString("title=" + escapeProperty.Replace(f.Rule) + "::" + escapeMessage.Replace(message) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

var (
	escapeMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

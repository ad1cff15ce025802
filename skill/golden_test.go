package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/repertoire-skills/repertoire/internal/must"
)

var update = flag.Bool("update", false, "write what the code gives into testdata/*.txtar")

// TestGolden reads each input of testdata and compares the result with the golden file;
// the README there explains the format.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 50 {
		t.Fatalf("found %d golden files, error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, name, input := readGolden(t, file)
			got := dump(Parse(bytes.NewReader(input), name))
			if *update {
				archive.Files = []txtar.File{archive.Files[0], {Name: "want", Data: []byte(got)}}
				must.Do(t, os.WriteFile(file, txtar.Format(archive), 0o644))
				return
			}
			if len(archive.Files) != 2 {
				t.Fatalf("%d sections; run with -update and review the result", len(archive.Files))
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// readGolden returns a golden file, the name of its input and the bytes of the input.
func readGolden(tb testing.TB, file string) (archive *txtar.Archive, name string, input []byte) {
	tb.Helper()
	archive, err := txtar.ParseFile(file)
	must.Do(tb, err)
	if len(archive.Files) == 0 {
		tb.Fatalf("%s: no input", file)
	}
	input = archive.Files[0].Data
	comment := string(archive.Comment)
	if strings.Contains(comment, "#escaped") {
		input = unescape(tb, input)
	}
	if strings.Contains(comment, "#unended") {
		input = bytes.TrimSuffix(input, []byte("\n"))
	}
	return archive, archive.Files[0].Name, input
}

// unescape replaces the escapes of a Go string literal in each line. A line
// that ends in \r\ is joined to the next, so that a lone \r can be written.
func unescape(tb testing.TB, input []byte) []byte {
	tb.Helper()
	var out []byte
	for line := range strings.Lines(string(input)) {
		body, end := strings.TrimSuffix(line, "\n"), "\n"
		if strings.HasSuffix(body, `\r\`) {
			body, end = strings.TrimSuffix(body, `\`), ""
		}
		s, err := strconv.Unquote(`"` + strings.ReplaceAll(body, `"`, `\"`) + `"`)
		if err != nil {
			tb.Fatalf("line %q: %v", body, err)
		}
		out = append(out, s+end...)
	}
	return out
}

// needsText formats what a skill needs; "" for nothing.
func needsText(s *Skill) string {
	data, err := json.Marshal(s.Needs)
	if err != nil || s.Needs.Empty() {
		return ""
	}
	return string(data)
}

// triggersText formats the triggers of a skill; "" for none.
func triggersText(s *Skill) string {
	data, err := json.Marshal(s.Triggers)
	if err != nil || s.Triggers.Empty() {
		return ""
	}
	return ascii(string(data))
}

// dump formats a skill, or the reason why there is none, for readable diffs.
func dump(s *Skill, err error) string {
	var out strings.Builder
	var refused *ParseError
	if errors.As(err, &refused) {
		fmt.Fprintf(&out, "refused: %s\n   hint: %s\n", refused.Problem, refused.Problem.Hint)
		return out.String()
	}
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	for _, f := range []struct{ key, value string }{
		{"name", s.Name}, {"description", s.Description}, {"when", s.WhenToUse}, {"license", s.License},
		{"compatibility", s.Compatibility}, {"author", s.Author}, {"version", s.Version},
		{"tags", strings.Join(s.Tags, " | ")}, {"needs", needsText(s)}, {"triggers", triggersText(s)},
		{"examples", strings.Join(s.Examples, " | ")},
		{"tools", strings.Join(s.AllowedTools, " | ")},
	} {
		switch {
		case (f.key == "needs" || f.key == "triggers") && f.value != "":
			fmt.Fprintf(&out, "%s: %s\n", f.key, f.value)
		case f.value != "":
			fmt.Fprintf(&out, "%s: %+q\n", f.key, f.value)
		}
	}
	var doc strings.Builder
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s.Frontmatter); err != nil {
		fmt.Fprintf(&out, "frontmatter: %v\n", err)
	} else {
		fmt.Fprintf(&out, "frontmatter: %s\n", ascii(strings.TrimSuffix(doc.String(), "\n")))
	}
	fmt.Fprintf(&out, "body: line %d %+q\n", s.BodyLine, s.Body)
	for _, p := range s.Problems {
		fmt.Fprintf(&out, "load: %s\n", p)
	}
	for _, p := range Check(s) {
		fmt.Fprintf(&out, "check: %s\n", p)
	}
	return out.String()
}

// ascii escapes all characters beyond ASCII.
func ascii(s string) string {
	quoted := strconv.QuoteToASCII(s)
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1 : len(quoted)-1])
}

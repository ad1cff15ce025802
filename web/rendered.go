package web

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/repertoire-skills/repertoire/internal/markdown"
)

// A document is a Markdown text, rendered or as it is.
type document struct {
	Front string        // its frontmatter, as it is
	HTML  template.HTML // the rest, rendered; "" if it is shown as it is
	Plain string        // the rest, as it is; "" with HTML
	Left  int           // pictures in the text, of which only the descriptions are shown
	Both  bool          // it can be shown in either way
	Why   string        // it can only be shown as it is; "" if it can be rendered
}

// maxRendered is how many bytes are rendered: a browser needs far more for their elements.
const maxRendered = 128_000

// documentOf returns a Markdown text, rendered unless raw is wanted. above is the level of the heading of
// the page above it.
func documentOf(source string, above int, raw bool) document {
	var d document
	d.Front, d.Plain = splitFront(source)
	if len(d.Plain) > maxRendered {
		d.Why = "longer than " + bytesOf(maxRendered)
		return d
	}
	page, ok := markdown.Render(d.Plain, above)
	if d.Both = ok; !ok {
		d.Why = fmt.Sprintf("its lists and quotes are nested more than %d deep", markdown.MaxNesting)
	}
	if ok && !raw {
		d.HTML, d.Left, d.Plain = template.HTML(page.HTML), page.Pictures, ""
	}
	return d
}

// splitFront cuts a text behind its frontmatter; without an end, that is all of it.
func splitFront(text string) (front, rest string) {
	at := 0
	for line := range strings.Lines(text) {
		mark := strings.TrimRight(line, " \t\r\n") == "---"
		if at == 0 && !mark {
			return "", text
		}
		if at += len(line); mark && at > len(line) {
			break
		}
	}
	return text[:at], text[at:]
}

package web

import (
	"bytes"
	"html/template"
	"regexp"
	"strings"
	"sync"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// A document is a Markdown text, rendered or as it is.
type document struct {
	HTML   template.HTML // rendered; "" if it is shown as it is
	Left   int           // pictures and pieces of HTML in the text, which are not rendered
	Blocks []block       // as it is; with HTML, the frontmatter alone
	Both   bool          // it can be shown in either way
}

// Bounds of what is rendered: the parser takes quadratic time for some hostile texts, .3 s for these bounds, and
// cannot be stopped. What is larger is shown as it is.
const (
	maxRendered = 32 << 10 // bytes
	maxColumns  = 64       // of a table
)

// documentOf returns a Markdown text, rendered unless raw is wanted. above is the level of the heading of
// the page above it.
func documentOf(source string, above int, raw bool) document {
	d := document{Blocks: blocksOf(source, above)}
	var front []block
	body := source
	if len(d.Blocks) > 0 && d.Blocks[0].Kind == frontmatter {
		front, body = d.Blocks[:1], source[len(d.Blocks[0].Text):]
	}
	d.Both = len(body) <= maxRendered && !hasColumns(body, maxColumns+1)
	if raw || !d.Both {
		return d
	}
	html, left, err := render(body, above)
	if err != nil {
		return document{Blocks: d.Blocks}
	}
	return document{html, left, front, true}
}

// hasColumns reports whether a line may be a row of a table with so many columns.
func hasColumns(source string, n int) bool {
	for line := range strings.Lines(source) {
		if strings.Count(line, "|") >= n {
			return true
		}
	}
	return false
}

// render renders Markdown, and counts the pictures and pieces of HTML in it, which are left out.
func render(source string, above int) (html template.HTML, left int, err error) {
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
	data := []byte(source)
	tree := md.Parser().Parse(text.NewReader(data))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // f returns no error
		switch n := n.(type) {
		case *ast.Heading:
			if entering {
				n.Level = min(n.Level+above, 6)
			}
		case *ast.HTMLBlock, *ast.RawHTML, *ast.Image:
			if entering {
				left++
			}
		}
		return ast.WalkContinue, nil
	})
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, data, tree); err != nil {
		return "", 0, err
	}
	return template.HTML(policy().SanitizeBytes(b.Bytes())), left, nil
}

// policy is what rendered Markdown may have: no picture, style or script, and only links that lead elsewhere
// openly.
var policy = sync.OnceValue(func() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6")
	p.AllowElements("table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("https", "http", "mailto")
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
})

package web

import (
	"bytes"
	"errors"
	"html/template"
	"net/url"
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
	maxRendered = 32 << 10 // bytes, also of all addresses and titles of links: each use of a reference repeats them
	maxCells    = 64 << 10 // of a table that has all lines: short lines get the cells of its first one
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
	if len(body) > maxRendered || cells(body) > maxCells {
		return d
	}
	html, left, err := render(body, above)
	if d.Both = err == nil; raw || err != nil {
		return d
	}
	return document{html, left, front, true}
}

// cells returns how many cells a table in a text may have at most.
func cells(source string) int {
	columns, lines := 0, 0
	for line := range strings.Lines(source) {
		columns, lines = max(columns, strings.Count(line, "|")+1), lines+1
	}
	return columns * lines
}

// errLinks says that a text repeats long addresses or titles.
var errLinks = errors.New("the links are too long")

// render renders Markdown, and counts the pictures and pieces of HTML in it, which are left out.
func render(source string, above int) (html template.HTML, left int, err error) {
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
	data := []byte(source)
	tree := md.Parser().Parse(text.NewReader(data))
	links := 0
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			n.Level = min(n.Level+above, 6)
		case *ast.Link:
			links += len(n.Destination) + len(n.Title)
		case *ast.Image:
			links += len(n.Destination) + len(n.Title)
			left++
		case *ast.HTMLBlock, *ast.RawHTML:
			left++
		}
		if links > maxRendered {
			return ast.WalkStop, errLinks
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", 0, err
	}
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
	openly := func(u *url.URL) bool { return u.Host != "" && u.User == nil } // http:x leads to this server
	p.AllowURLSchemeWithCustomPolicy("https", openly)
	p.AllowURLSchemeWithCustomPolicy("http", openly)
	p.AllowURLSchemes("mailto")
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
})

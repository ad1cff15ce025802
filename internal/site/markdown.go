package site

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// rendered is a page as HTML, with what it links to and what can be linked to.
type rendered struct {
	name, title string
	html        []byte
	anchors     []string
	links       []link
	sections    []section
}

// A link of a page to a file of the repository, "docs/team.md#sizing".
type link struct {
	to    string
	image bool
}

// A section of a page is what the search finds.
type section struct {
	Link  string `json:"link"`  // "team.html#sizing"
	Page  string `json:"page"`  // title of the page
	Title string `json:"title"` // heading of the section
	Text  string `json:"text"`
}

// render turns a page into HTML, with links to pages of the site instead of files.
func (b *builder) render(p Page) *rendered {
	r := &rendered{name: p.Name}
	md := goldmark.New(
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithExtensions(extension.Strikethrough, extension.NewTable(
			// The pages forbid styles in attributes.
			extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))))
	doc := md.Parser().Parse(text.NewReader(p.Markdown), parser.WithContext(parser.NewContext(parser.WithIDs((*anchors)(r)))))
	var spans []*ast.CodeSpan
	walk(doc, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = r.follow(n.Destination, false)
		case *ast.Image:
			n.Destination = r.follow(n.Destination, true)
		case *ast.CodeSpan:
			if n.Parent().Kind() != ast.KindLink {
				spans = append(spans, n)
			}
		}
	})
	if p.Name == "docs/commands.md" {
		for _, n := range spans {
			b.linkCommand(n, p.Markdown)
		}
	}
	r.divide(doc, p.Markdown)
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, p.Markdown, doc); err != nil {
		b.errs = append(b.errs, fmt.Errorf("%s: %w", p.Name, err))
	}
	// What scrolls can be reached by the keyboard. A tag in the text of a page is escaped.
	r.html = out.Bytes()
	for _, tag := range []string{"pre", "table"} {
		r.html = bytes.ReplaceAll(r.html, []byte("<"+tag+">"), []byte("<"+tag+` tabindex="0">`))
	}
	return r
}

// walk calls visit for each node below n, parents first.
func walk(n ast.Node, visit func(ast.Node)) {
	visit(n)
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		walk(c, visit)
	}
}

// follow notes where a link leads, and returns its address on the site.
func (r *rendered) follow(destination []byte, image bool) []byte {
	to := string(destination)
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return destination
	}
	file, heading, hasHeading := strings.Cut(to, "#")
	name := r.name
	if file != "" {
		name = path.Join(path.Dir(r.name), file)
	}
	r.links = append(r.links, link{strings.TrimSuffix(name+"#"+heading, "#"), image})
	address := Repository + name
	switch {
	case image:
		address = path.Base(name)
	case name == "README.md" || path.Dir(name) == "docs" && path.Ext(name) == ".md":
		address = htmlName(name)
	}
	if hasHeading {
		address += "#" + heading
	}
	return []byte(address)
}

// linkCommand makes `skills root add` a link to the help of that command.
func (b *builder) linkCommand(n *ast.CodeSpan, source []byte) {
	words := strings.Fields(plain(n, source))
	for ; len(words) > 1; words = words[:len(words)-1] {
		if name := strings.Join(words, "_"); slices.Contains(b.commands, name) {
			to := ast.NewLink()
			to.Destination = []byte(name + ".html")
			n.Parent().ReplaceChild(n.Parent(), n, to)
			to.AppendChild(to, n)
			return
		}
	}
}

// divide cuts a page into sections by its headings. The first heading is the title of the page.
func (r *rendered) divide(doc ast.Node, source []byte) {
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			if len(r.sections) > 0 {
				r.sections[len(r.sections)-1].Text += plain(n, source) + " "
			}
			continue
		}
		title := strings.TrimSpace(plain(h, source))
		if r.title == "" {
			r.title = title
		}
		s := section{Link: htmlName(r.name), Page: r.title, Title: title}
		if id, ok := h.AttributeString("id"); ok && len(r.sections) > 0 {
			s.Link += "#" + string(id.([]byte))
		}
		r.sections = append(r.sections, s)
	}
	if r.title == "" {
		r.title = r.name
	}
}

// plain returns the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var out strings.Builder
	walk(n, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			out.Write(n.Lines().Value(source))
		default:
			if n.Type() == ast.TypeBlock {
				out.WriteByte(' ')
			}
		}
	})
	return strings.Join(strings.Fields(out.String()), " ")
}

// anchors gives headings the names that GitHub gives them, so that the links of the pages hold
// there and here.
type anchors rendered

var noAnchor = regexp.MustCompile(`[^\p{L}\p{N}_-]`)

// Generate returns the name of a heading; a second one of the same words ends in -1.
func (a *anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	words := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(string(heading))), " ", "-")
	base := noAnchor.ReplaceAllString(words, "")
	name := base
	for n := 1; slices.Contains(a.anchors, name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	a.anchors = append(a.anchors, name)
	return []byte(name)
}

// Put notes a name that a page gives itself.
func (a *anchors) Put(name []byte) { a.anchors = append(a.anchors, string(name)) }

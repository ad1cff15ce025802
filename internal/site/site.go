// Package site makes a web site of the Markdown in docs/: pages with links and headings that are
// checked, and an index that a script in the page searches. Only cmd/skills-docs needs it.
package site

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Page is a text in Markdown.
type Page struct {
	Name     string // path in the repository, such as "docs/team.md"
	Markdown []byte
}

// Repository is where links to files lead that are no pages.
const Repository = "https://github.com/repertoire-skills/repertoire/blob/main/"

//go:embed assets
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "assets/page.html"))

// Build returns the files of the site by name: README.md of root as index.html, each page of
// its folder docs, and the given pages of commands, which lie in docs, too. A link or an image
// that leads nowhere is an error that names the page; all of them are returned, joined.
func Build(root fs.FS, commands []Page) (map[string][]byte, error) {
	b := &builder{root: root, pages: make(map[string]*rendered), files: make(map[string][]byte)}
	for _, c := range commands {
		b.commands = append(b.commands, strings.TrimSuffix(path.Base(c.Name), ".md"))
	}
	pages, err := readPages(root)
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Concat(pages, commands) {
		b.pages[p.Name] = b.render(p)
	}
	for _, p := range pages {
		b.menu = append(b.menu, entry{htmlName(p.Name), b.pages[p.Name].title})
	}
	if len(commands) > 0 {
		b.menu = append(b.menu, entry{htmlName(commands[0].Name), "Help of each command"})
	}
	for _, p := range slices.Concat(pages, commands) {
		b.errs = append(b.errs, b.checkLinks(b.pages[p.Name]), b.write(p.Name))
	}
	b.errs = append(b.errs, b.writeAssets(slices.Concat(pages, commands)))
	return b.files, errors.Join(b.errs...)
}

// A builder holds what is made so far.
type builder struct {
	root     fs.FS
	commands []string // names of their pages without .md, such as "skills_root_add"
	pages    map[string]*rendered
	menu     []entry
	files    map[string][]byte
	errs     []error
}

// An entry of the menu.
type entry struct{ Link, Title string }

// readPages returns the README and the pages of docs, in the order in which the README first
// links to them; a page that it does not link to comes last.
func readPages(root fs.FS) ([]Page, error) {
	readme, err := fs.ReadFile(root, "README.md")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(root, "docs/*.md")
	if err != nil {
		return nil, err
	}
	at := func(name string) int {
		_, table, _ := strings.Cut(string(readme), "## Read on")
		if i := strings.Index(table, "("+name+")"); i >= 0 {
			return i
		}
		return len(readme)
	}
	slices.SortStableFunc(names, func(a, b string) int { return at(a) - at(b) })
	pages := []Page{{"README.md", readme}}
	for _, name := range names {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		pages = append(pages, Page{name, text})
	}
	return pages, nil
}

// htmlName returns the file that a page becomes.
func htmlName(page string) string {
	if page == "README.md" {
		return "index.html"
	}
	return strings.TrimSuffix(path.Base(page), ".md") + ".html"
}

// write puts a page into the layout.
func (b *builder) write(name string) error {
	p := b.pages[name]
	var out bytes.Buffer
	err := layout.Execute(&out, struct {
		Title, Link string
		Menu        []entry
		Body        template.HTML // made by goldmark, which lets no HTML of a page through
	}{p.title, htmlName(name), b.menu, template.HTML(p.html)})
	b.files[htmlName(name)] = out.Bytes()
	return err
}

// writeAssets adds the icon, the style, the script, and what the script searches: the sections of all
// pages in their order.
func (b *builder) writeAssets(pages []Page) error {
	var sections []section
	for _, p := range pages {
		sections = append(sections, b.pages[p.Name].sections...)
	}
	index, err := json.Marshal(sections)
	b.files["search.json"] = index
	for _, name := range []string{"icon.svg", "search.js", "style.css"} {
		data, readErr := assets.ReadFile("assets/" + name)
		b.files[name], err = data, errors.Join(err, readErr)
	}
	return err
}

// checkLinks checks the links of a page to other pages, and copies the images that it shows.
func (b *builder) checkLinks(p *rendered) error {
	var errs []error
	for _, l := range p.links {
		name, heading, _ := strings.Cut(l.to, "#")
		target, isPage := b.pages[name]
		switch _, err := fs.Stat(b.root, name); {
		case isPage && heading != "" && !slices.Contains(target.anchors, heading):
			errs = append(errs, fmt.Errorf("%s links to %s, which has no such heading", p.name, l.to))
		case !isPage && err != nil:
			errs = append(errs, fmt.Errorf("%s links to %s: %w", p.name, l.to, err))
		case l.image:
			data, err := fs.ReadFile(b.root, name)
			b.files[path.Base(name)] = data
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

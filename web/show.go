package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/internal/figures"
	"github.com/repertoire-skills/repertoire/internal/tidy"
	"github.com/repertoire-skills/repertoire/search"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

type (
	templates map[string]*template.Template // by the names of the pages
	assets    map[string]asset              // by file name
)

// An asset is a file that pages refer to: a style, a script or a picture.
type asset struct {
	data    []byte
	version string // changes with data
}

// load reads the assets, and parses the template of each page together with the layout.
func (s *Site) load() error {
	s.assets, s.templates = make(assets), make(templates)
	list, err := fs.ReadDir(staticFiles, "static")
	for _, f := range list {
		data, err := staticFiles.ReadFile("static/" + f.Name())
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		s.assets[f.Name()] = asset{data, hex.EncodeToString(sum[:8])}
	}
	if err != nil {
		return err
	}
	layout, err := template.New("layout.html").Funcs(s.functions()).ParseFS(templateFiles, "templates/layout.html")
	if err != nil {
		return err
	}
	names := []string{"error", "signin"}
	for _, p := range s.pages {
		names = append(names, p.name)
	}
	for _, name := range names {
		t, err := layout.Clone()
		if err == nil {
			t, err = t.ParseFS(templateFiles, "templates/"+name+".html")
		}
		if err != nil {
			return err
		}
		s.templates[name] = t
	}
	return nil
}

// functions returns what templates may call.
func (s *Site) functions() template.FuncMap {
	return template.FuncMap{
		"link":      s.opts.link,
		"asset":     s.asset,
		"count":     figures.Count,
		"thousands": figures.Thousands,
		"percent":   figures.Percent,
		"ago":       func(t time.Time) string { return figures.Ago(time.Since(t)) },
		"visible":   tidy.Visible,
		"bytes":     bytesOf,
		"sub":       func(data ...any) []any { return data }, // several values for one template
	}
}

// link returns the address of a page of the site, with the keys and values of its query.
func (o *Options) link(page string, query ...string) string {
	q := make(url.Values)
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			q.Set(query[i], query[i+1])
		}
	}
	address := o.Prefix + page
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

// asset returns the address of an asset, which changes with its content.
func (s *Site) asset(name string) (string, error) {
	a, ok := s.assets[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return s.opts.link("static/"+name, "v", a.version), nil
}

func (s *Site) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.URL.Query().Get("v") == a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(r.PathValue("name"))])
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.data))
}

// A frame is what the layout shows.
type frame struct {
	Title string
	Nav   []entry
	Out   bool               // the visitor can sign out
	Who   string             // that it is signed in as; "" means that nobody knows
	In    bool               // the visitor is in: there is a navigation
	Old   *repertoire.Shared // how the catalog stands to the shared one that it cannot ask now; nil otherwise
	Part  string             // that some folders have not been read yet; "" if all have
	Data  any                // of the page
}

// An entry is one entry of the navigation.
type entry struct {
	Path, Title string
	Here        bool
}

// partHeader is in requests of our script that want only the part of a page that changes:
// the template "results".
const partHeader = "X-Part"

// write shows a page with a status.
func (s *Site) write(w http.ResponseWriter, v *visit, p *page, a answer, status int) {
	f := frame{Title: cmp.Or(a.title, p.title), Data: a.data, In: p.name != "signin"}
	if f.Out = f.In && v.signedIn; f.Out {
		f.Who = v.name
	}
	if now := s.catalog.Shared(); f.In && (now.State == repertoire.Stale || now.State == repertoire.Starting) {
		f.Old = &now
	}
	if n, err := s.catalog.Unread(v.Context()); f.In && err == nil { // whatever is wrong, the page says it
		f.Part = search.PartOf(n).Caveat()
	}
	for i := range s.pages {
		if q := &s.pages[i]; q.in == "" && v.may(q) {
			f.Nav = append(f.Nav, entry{q.path, q.title, q.name == cmp.Or(p.in, p.name)})
		}
	}
	name := "layout.html"
	if v.Header.Get(partHeader) != "" {
		name = "part"
	}
	var b bytes.Buffer
	if err := s.templates[p.name].ExecuteTemplate(&b, name, f); err != nil {
		s.opts.Logger.Error("showing a page", "page", p.name, "error", err)
		http.Error(w, "this page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a visitor who has left misses nothing
}

// download sends a file that the browser saves and never shows.
func download(w http.ResponseWriter, f *file) {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`"\/`, r) || r > '~' {
			return '_'
		}
		return r
	}, path.Base(f.name))
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	_, _ = w.Write(f.data) // a visitor who has left misses nothing
}

// bytesOf writes a size as people say it: "512 bytes", "1.4 KB".
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return figures.Count(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

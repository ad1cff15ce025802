package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire"
	"github.com/repertoire-skills/repertoire/embed"
	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/source"
	"github.com/repertoire-skills/repertoire/web"
)

func TestMain(m *testing.M) { testsize.Main(m) }

// doc is a SKILL.md; fields are further lines of its frontmatter.
func doc(name, description, body string, fields ...string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n%s---\n%s\n", name, description, strings.Join(append(fields, ""), "\n"), body)
}

// few is a small catalog.
func few() map[string]string {
	files := map[string]string{
		"pdf-forms/SKILL.md": doc("pdf-forms", "Fills in the fields of PDF forms. Use when a PDF form is to be filled in.",
			"# Fill in a form\n\nList the fields of the PDF first.", "license: MIT", "tags: [pdf, office]"),
		"pdf-forms/references/fields.md": "# Fields\none\ntwo\n",
		"pdf-forms/scripts/fill.py":      "print('fill')\n",
		"pdf-forms/logo.png":             "\x89PNG\r\n\x1a\n\x00\x01\x02",
		"secret-plan/SKILL.md":           doc("secret-plan", "Plans the surprise party. Use when a party is planned.", "Invite everybody.", "tags: [private]"),
	}
	for _, noun := range []string{"invoices", "recipes", "slides", "letters", "charts", "songs"} {
		files["sort-"+noun+"/SKILL.md"] = doc("sort-"+noun, "Sorts "+noun+" by date and by sender.", "Look at the date.")
	}
	return files
}

// A kit is a site over a real catalog of folders, and a browser that is signed in.
type kit struct {
	t       testing.TB
	site    *web.Site
	catalog *repertoire.Catalog
	dir     string // of the skills
	prefix  string
	cookies []*http.Cookie
}

// testKey is the key of the owner.
const testKey = "a-key-for-tests-only"

// open makes a site of skills, which files holds by path below their source, and signs the
// browser in as the owner. complete may change the configuration.
func open(t testing.TB, files map[string]string, complete ...func(*repertoire.Config, *web.Options)) *kit {
	t.Helper()
	k := &kit{t: t, dir: t.TempDir()}
	for name, text := range files {
		k.write(name, text)
	}
	src, err := source.Dir(k.dir, &source.Options{Label: "team", Priority: 1})
	must.Do(t, err)
	cfg := repertoire.Config{
		Sources: []source.Source{src}, DB: filepath.Join(t.TempDir(), "catalog.db"), Embedder: embed.None{}, Schedule: repertoire.Never,
		Agents: []*repertoire.Agent{{Name: "clerk", Include: repertoire.Rules{Names: []string{"pdf-*", "sort-*"}}}},
	}
	o := &web.Options{Key: testKey}
	for _, f := range complete {
		f(&cfg, o)
	}
	k.prefix = o.Prefix
	if k.prefix == "" {
		k.prefix = "/"
	}
	k.catalog, err = repertoire.Open(t.Context(), cfg)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, k.catalog.Close()) })
	if cfg.Schedule == repertoire.Never {
		_, err = k.catalog.Owner().Rescan(context.WithoutCancel(t.Context()), nil)
	}
	must.Do(t, err)
	k.site, err = web.New(k.catalog, o)
	must.Do(t, err)
	if o.Key != "" {
		k.get("", "key", o.Key)
	}
	return k
}

// write writes a file below the folder of the skills.
func (k *kit) write(name, text string) {
	k.t.Helper()
	name = filepath.Join(k.dir, filepath.FromSlash(name))
	must.Write(k.t, name, text)
}

// A reply is what the browser got.
type reply struct {
	*httptest.ResponseRecorder
	t    testing.TB
	text string
}

// get opens a page, with the keys and values of its query.
func (k *kit) get(page string, query ...string) reply {
	k.t.Helper()
	address := k.prefix + page
	if len(query) > 0 {
		address += "?" + values(query).Encode()
	}
	return k.do(httptest.NewRequest("GET", address, nil))
}

// post sends a form of the page, with the keys and values of its fields.
func (k *kit) post(page string, fields ...string) reply {
	k.t.Helper()
	r := httptest.NewRequest("POST", k.prefix+page, strings.NewReader(values(fields).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return k.do(r)
}

func values(pairs []string) url.Values {
	v := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

// do sends a request as the browser does, and keeps the cookies of the answer.
func (k *kit) do(r *http.Request) reply {
	k.t.Helper()
	if r.Host == "example.com" {
		r.Host = "127.0.0.1:8100"
	}
	for _, c := range k.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	k.site.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		k.cookies = slices.DeleteFunc(k.cookies, func(old *http.Cookie) bool { return old.Name == c.Name })
		if c.MaxAge >= 0 {
			k.cookies = append(k.cookies, c)
		}
	}
	p := reply{w, k.t, w.Body.String()}
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
		checkMarkup(k.t, p.text, k.prefix)
	}
	return p
}

// is checks the status.
func (p reply) is(status int) reply {
	p.t.Helper()
	if p.Code != status {
		p.t.Fatalf("status %d instead of %d: %s", p.Code, status, p.main())
	}
	return p
}

// follow opens the page to which the answer to a form leads.
func (k *kit) follow(p reply) reply {
	k.t.Helper()
	to := p.is(http.StatusSeeOther).Header().Get("Location")
	return k.do(httptest.NewRequest("GET", to, nil)).is(http.StatusOK)
}

// main returns the start of what the page itself shows, for messages.
func (p reply) main() string {
	text := p.text
	if _, after, ok := strings.Cut(text, "<main"); ok {
		text = after
	}
	return text[:min(len(text), 2000)]
}

// has checks that the page has each of some texts, as they stand in its source.
func (p reply) has(texts ...string) reply {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.text, text) {
			p.t.Errorf("the page lacks %q:\n%s", text, p.main())
		}
	}
	return p
}

// lacks checks that the page has none of some texts.
func (p reply) lacks(texts ...string) reply {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.text, text) {
			p.t.Errorf("the page has %q:\n%s", text, p.main())
		}
	}
	return p
}

var (
	tagPattern       = regexp.MustCompile(`(?s)<(/?)([a-zA-Z!][a-zA-Z0-9]*)((?:\s+[^\s"'>/=]+(?:="[^"]*")?)*)\s*/?>`)
	attributePattern = regexp.MustCompile(`\s([^\s"'>/=]+)(?:="([^"]*)")?`)
)

// elements are the elements that templates use.
const elements = "!DOCTYPE html head meta title link script body a header nav ul ol li main form label textarea input select option button " +
	"h1 h2 h3 p div span section article details summary table thead tbody tr th td caption dl dt dd pre code strong em bdi small time " +
	"svg g rect line path circle text img fieldset legend output mark br hr figure figcaption "

// attributes are the attributes that templates use. Addresses are checked.
const attributes = "id class for name value type rows cols placeholder autofocus autocomplete spellcheck required checked selected disabled hidden lang charset " +
	"content rel role tabindex title alt width height x y x1 x2 y1 y2 cx cy r rx d fill stroke viewBox method href src action defer open scope colspan " +
	"maxlength min max preserveAspectRatio text-anchor xmlns html datetime dir focusable enctype rowspan "

// checkMarkup checks that a page has only what our templates write: what a skill says must
// never become an element, an attribute or an address.
func checkMarkup(t testing.TB, text, prefix string) {
	t.Helper()
	rest := tagPattern.ReplaceAllStringFunc(text, func(tag string) string {
		m := tagPattern.FindStringSubmatch(tag)
		if !strings.Contains(elements, m[2]+" ") {
			t.Errorf("the page has the element %s", tag)
		}
		for _, a := range attributePattern.FindAllStringSubmatch(m[3], -1) {
			name, value := a[1], a[2]
			switch {
			case name == "href" || name == "src" || name == "action":
				if !strings.HasPrefix(value, prefix) && !strings.HasPrefix(value, "#") || strings.HasPrefix(value, "//") {
					t.Errorf("the page leads elsewhere: %s", tag)
				}
			case !strings.Contains(attributes, name+" ") && !strings.HasPrefix(name, "aria-") && !strings.HasPrefix(name, "data-"):
				t.Errorf("the page has the attribute %s: %s", name, tag)
			}
		}
		if m[2] == "script" && m[1] == "" && !strings.Contains(tag, `src="`+prefix+`static/`) {
			t.Errorf("the page has the script %s", tag)
		}
		return ""
	})
	if at := strings.IndexByte(rest, '<'); at >= 0 {
		t.Errorf("the page has a < that begins no element of ours: %q", rest[at:min(len(rest), at+80)])
	}
}
